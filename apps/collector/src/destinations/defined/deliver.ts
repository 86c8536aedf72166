import type {
  Attempt,
  BatchLimits,
  BatchResult,
  DeliversBatches,
  DeliversMessages,
  DeliveryResult,
  OpenDestination,
  OutgoingMessage as PublicMessage,
} from "@sluice/destination";
import { webhookPayload } from "@sluice/protocol";
import type { Clock } from "@sluice/resilience";
import { Batches, type GatheredBatch } from "../batches/batches.js";
import type { AttemptTrace, Destination, OutgoingMessage, Round, RoundOutcome } from "../destination.js";
import { type Attempts, type Concluded, type Ended, isResult, recorded } from "./attempts.js";

interface RunnerParts {
  readonly attempts: Attempts;
  readonly flow: Destination["flow"];
  /** Releases what the definition opened. */
  readonly release: () => Promise<void>;
}

/** A destination whose definition delivers messages one by one. */
export function deliverMessages(
  open: DeliversMessages,
  { attempts, flow, release }: RunnerParts,
): Destination {
  return {
    flow,
    async deliver(message: OutgoingMessage, round: Round): Promise<RoundOutcome> {
      const trace = round.startTrace?.();
      const { number, isLast } = round;
      const { ended, timed } = await attempts.run((signal) => {
        const attempt = { number, isLast, signal };
        return erased(open, message, attempt) ?? open.deliver(publicMessage(message, trace), attempt);
      });
      const concluded = attempts.conclude(ended);
      round.record({ ...timed, ...recorded(concluded, round) }, trace);
      return concluded.outcome;
    },
    close() {
      attempts.abort();
      return release();
    },
  };
}

/** The message as definitions get it. */
function publicMessage(outgoing: OutgoingMessage, trace?: AttemptTrace): PublicMessage {
  const { messageId: id, sourceId, timestamp, message, offset: position, receivedAtMs } = outgoing;
  const payload = webhookPayload(message, timestamp) as PublicMessage["payload"];
  const published = { id, sourceId, timestamp, position, receivedAtMs, payload };
  return trace === undefined ? published : { ...published, trace: headersOf(trace) };
}

function headersOf({ headers }: AttemptTrace): { readonly [header: string]: string } {
  const [traceparentName = "", traceparent = "", ...state] = headers;
  const [tracestateName = "", tracestate = ""] = state;
  return {
    [traceparentName]: traceparent,
    ...(state.length === 0 ? {} : { [tracestateName]: tracestate }),
  };
}

/** Whether the message erases a user at this destination. */
function erases({ erase }: OpenDestination, { message }: OutgoingMessage): boolean {
  return erase !== undefined && message.type === "delete";
}

/** Erases the user of a `delete` message. Undefined if the message is to be delivered like others. */
function erased(
  open: OpenDestination,
  outgoing: OutgoingMessage,
  attempt: Attempt,
): Promise<DeliveryResult> | undefined {
  if (!erases(open, outgoing)) return undefined;
  const { userId, anonymousId } = outgoing.message;
  return open.erase?.(
    userId === undefined ? { anonymousId: String(anonymousId) } : { userId: String(userId) },
    attempt,
  );
}

const LIMITS: Required<BatchLimits> = {
  maxMessages: 10_000,
  maxBytes: 16 * 1_024 * 1_024,
  maxAgeMs: 60_000,
};

/** A destination whose definition delivers batches. */
export function deliverBatches(
  open: DeliversBatches,
  { attempts, flow, release, clock, limits = {} }: RunnerParts & { clock: Clock; limits?: BatchLimits },
): Destination {
  const { maxMessages, maxBytes, maxAgeMs } = { ...LIMITS, ...limits };
  const batches = new Batches({
    clock,
    maxMessages,
    maxAgeMs,
    isAlone: (message) => erases(open, message),
    send: (batch) => sendBatch(open, batch, attempts),
  });
  return {
    // While one batch is sent, the next one is gathered.
    flow: { ...flow, concurrency: 2 * maxMessages, maxBytes, order: "none" },
    batches,
    deliver: (message, round) => batches.deliver(message, round),
    close() {
      batches.close();
      attempts.abort();
      return release();
    },
  };
}

async function sendBatch(
  open: DeliversBatches,
  { id, range, items }: GatheredBatch,
  attempts: Attempts,
): Promise<readonly RoundOutcome[]> {
  const number = items.reduce((most, { round }) => Math.max(most, round.number), 1);
  const isLast = items.every(({ round }) => round.isLast);
  const traces = items.map(({ round }) => round.startTrace?.());
  const { ended, timed } = await attempts.run<BatchResult>((signal) => {
    const attempt = { number, isLast, signal };
    const [first] = items;
    const erasing = first && erased(open, first.message, attempt);
    if (erasing !== undefined) return erasing;
    const messages = items.map(({ message }, index) => publicMessage(message, traces[index]));
    return open.deliverBatch({ range, id, messages }, attempt);
  });
  const results = concludeEach(ended, items.length, attempts);
  items.forEach(({ round }, index) => {
    round.record({ ...timed, ...recorded(results[index] ?? {}, round) }, traces[index]);
  });
  return results.map(({ outcome }) => outcome);
}

/** What the end of a batch means for each of its messages. Those that end alike share the result. */
function concludeEach(ended: Ended<BatchResult>, count: number, attempts: Attempts): readonly Concluded[] {
  const results = new Array<Concluded>(count).fill(attempts.conclude(ended));
  const others = "others" in ended && Array.isArray(ended.others) ? ended.others : [];
  for (const { index, result } of others)
    if (Number.isInteger(index) && index >= 0 && index < count && isResult(result))
      results[index] = attempts.conclude(result);
  return results;
}
