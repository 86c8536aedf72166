import type {
  Attempt,
  DeliversMessages,
  DeliveryResult,
  OpenDestination,
  OutgoingMessage as PublicMessage,
} from "@sluice/destination";
import { webhookPayload } from "@sluice/protocol";
import type { AttemptTrace, Destination, OutgoingMessage, Round, RoundOutcome } from "../destination.js";
import { type Attempts, recorded } from "./attempts.js";

export interface RunnerParts {
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
export function publicMessage(outgoing: OutgoingMessage, trace?: AttemptTrace): PublicMessage {
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
export function erases({ erase }: OpenDestination, { message }: OutgoingMessage): boolean {
  return erase !== undefined && message.type === "delete";
}

/** Erases the user of a `delete` message. Undefined if the message is to be delivered like others. */
export function erased(
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
