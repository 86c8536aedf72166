import { type Clock, earlyEnd } from "@sluice/resilience";
import type {
  BatchControl,
  Chain,
  Destination,
  OutgoingMessage,
  Round,
  RoundOutcome,
} from "../../destinations/destination.js";
import type { Transformations } from "../../transformations/transformations.js";
import type { Transformed } from "../../transformations/transformed.js";
import { combineOutcomes } from "./combine-outcomes.js";

export interface TransformingParts {
  readonly transformations: Pick<Transformations, "apply">;
  /** The transformations that a message of the source passes, if its round does not say so. */
  readonly chain: (sourceId: string) => readonly string[];
  readonly clock: Clock;
}

/** The error code of an attempt that ended before anything was sent, because a transformation failed. */
export const TRANSFORM_FAILED = "transform_failed";

/** Sends messages through their transformations, and what comes out to a destination. A message without one is not delayed. */
export function transforming(destination: Destination, parts: TransformingParts): Destination {
  const { chain, transformations } = parts;
  const closing = earlyEnd<typeof ABORTED>();
  const under = new UnderWay(destination.batches);
  const changed = async (
    { ids, documents }: Pick<Chain, "ids"> & Partial<Chain>,
    message: OutgoingMessage,
    round: Round,
  ): Promise<RoundOutcome> => {
    const startedAtMs = parts.clock.monotonic();
    const atMs = parts.clock.now();
    const applied = under.track(transformations.apply(ids, message, documents));
    const result = await closing.within(applied);
    // What it became belongs to settings that are gone, or to a user who is.
    if (result.kind !== "aborted" && round.isOutdated?.() === true) return { kind: "postponed" };
    if (result.kind === "messages") return sendAll(destination, result, round);
    if (result.kind === "failed") {
      const error = { code: TRANSFORM_FAILED, message: result.message };
      const latencyMs = parts.clock.monotonic() - startedAtMs;
      round.record({ atMs, url: `transformation:${result.id}`, latencyMs, error, transformation: result.by });
    }
    return outcomeOf(result);
  };
  return {
    flow: destination.flow,
    ...(destination.batches === undefined ? {} : { batches: under }),
    deliver(message, round) {
      const { sourceId } = message;
      const passes = round.settings?.chain(sourceId) ?? { ids: chain(sourceId) };
      const isUnchanged = passes.ids.length === 0 || message.message.type === "delete";
      return isUnchanged ? destination.deliver(message, round) : changed(passes, message, round);
    },
    close() {
      closing.end(ABORTED);
      return destination.close();
    },
  };
}

const ABORTED = { kind: "aborted" } as const;

/** What it means for a message that nothing is sent. */
function outcomeOf(result: Exclude<Transformed, { kind: "messages" }> | typeof ABORTED): RoundOutcome {
  switch (result.kind) {
    case "aborted":
      return result;
    case "dropped":
      return { kind: "filtered", reason: `transformed: ${result.by} dropped it` };
    case "failed":
      return {
        kind: "failed",
        reason: `${TRANSFORM_FAILED}: ${result.by}: ${result.where}`,
        countsAgainst: true,
      };
    case "unavailable":
      return {
        kind: "retry",
        reason: `transform_unavailable: ${result.id}: ${result.message}`,
        doneUrls: [],
        failedUrls: [],
        alive: false,
      };
    default:
      return result satisfies never;
  }
}

/** Delivers what a message became. A destination without batches gets it one after the other. */
async function sendAll(
  destination: Destination,
  { messages, by }: Extract<Transformed, { kind: "messages" }>,
  round: Round,
): Promise<RoundOutcome> {
  const [only] = messages;
  if (only !== undefined && messages.length === 1) return destination.deliver(only, roundOf(round, by));
  const part = (index: number): Round => roundOf(round, `${by} (${index + 1} of ${messages.length})`, index);
  if (destination.batches !== undefined)
    return combineOutcomes(
      await Promise.all(messages.map((one, index) => destination.deliver(one, part(index)))),
    );
  const outcomes: RoundOutcome[] = [];
  for (const [index, one] of messages.entries()) {
    const outcome = await destination.deliver(one, part(index));
    outcomes.push(outcome);
    if (outcome.kind === "aborted") break;
    if (outcome.kind === "retry" && outcome.alive === false) {
      const { doneUrls, failedUrls } = round;
      const isLast = index === messages.length - 1;
      if (!isLast)
        outcomes.push({ kind: "retry", reason: outcome.reason, doneUrls, failedUrls, alive: false });
      break;
    }
  }
  return combineOutcomes(outcomes);
}

type Fix = NonNullable<Round["fix"]>;

/** The round of a message that a transformation changed: its attempts say so. */
function roundOf(round: Round, transformation: string, index = 0): Round {
  return {
    get number() {
      return round.number;
    },
    ...(round.settings === undefined ? {} : { settings: round.settings }),
    isOutdated: () => round.isOutdated?.() ?? false,
    ...(round.fix === undefined ? {} : { fix: (choose) => (round.fix as Fix)(choose) }),
    isAgain: round.isAgain,
    isLast: round.isLast,
    ...(round.isTest === undefined ? {} : { isTest: round.isTest }),
    waitingUrls: round.waitingUrls,
    doneUrls: round.doneUrls,
    failedUrls: round.failedUrls,
    numberAt: (url) => round.numberAt(url),
    startTrace: () => round.startTrace?.(),
    record: (attempt, trace) => round.record({ ...attempt, transformation }, trace),
    // Messages that were one are repeated together, which is one attempt.
    repeat: () => (index === 0 ? round.repeat() : undefined),
    gone: (url) => round.gone(url),
  };
}

/** Tells a destination that gathers messages only then that no more come, when those that are being transformed have come. */
class UnderWay implements BatchControl {
  readonly #batches: BatchControl | undefined;
  #count = 0;
  #isFull = false;

  constructor(batches: BatchControl | undefined) {
    this.#batches = batches;
  }

  track<T>(work: Promise<T>): Promise<T> {
    if (this.#batches === undefined) return work;
    this.#count += 1;
    return work.finally(() => {
      this.#count -= 1;
      // After what waits for the same result.
      if (this.#count === 0 && this.#isFull) setImmediate(() => this.full());
    });
  }

  full(): void {
    this.#isFull = this.#count > 0;
    if (!this.#isFull) this.#batches?.full();
  }

  repeat(...named: Parameters<BatchControl["repeat"]>): void {
    this.#batches?.repeat(...named);
  }

  drain(): void {
    this.#batches?.drain();
  }
}
