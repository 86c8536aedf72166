import { setImmediate } from "node:timers/promises";
import type { ConsumerState, Consumers, Offset, Retry, SentRange, StoredMessage } from "@sluice/event-log";
import { resolveTime } from "@sluice/protocol";
import type { Fixed, RoundOutcome, SentTogether } from "../../destinations/destination.js";
import type { MessageLoader } from "../reading/message-loader.js";
import type { Work } from "../reading/work.js";
import { heldBytes } from "../reading/work.js";
import { applyFilters } from "../routing/apply-filters.js";
import type { Settler } from "../settling/settler.js";
import { RangeSettings } from "./range-settings.js";

export interface RangeUnderWayOptions {
  readonly consumerId: string;
  readonly consumers: Pick<Consumers, "outcomesOf">;
  readonly loader: MessageLoader;
  readonly settler: Pick<Settler, "fix" | "rangeEnded">;
  readonly stored: ConsumerState;
  /** Whether a range with these settings of the destination is kept when it fails. */
  readonly isInForce: (settings: unknown) => boolean;
}

/** A range that is to be sent again, as it was. */
export interface LeftRange {
  readonly range: SentRange;
  /** It failed in this process, so what became of its messages is in the store. If not, an earlier process was sending it. */
  readonly hasFailed: boolean;
  /** A monotonic reading. */
  readonly dueAtMs: number;
  /** A monotonic reading, until which the other side asked to wait. */
  readonly notBeforeMs: number;
  /** The retry of the message that is due first. Absent: it has not failed, or did so in an earlier process. */
  readonly first?: Retry;
}

/**
 * - `free`: nothing was fixed. `left`: the range waits to be sent again, and nothing else may be sent. Entered at the start, if an earlier
 *   process was sending one, and when one fails as a whole.
 * - `sending`: it is fixed, and the results of `open` are not known yet.
 */
type State =
  | { readonly kind: "free" }
  | ({ readonly kind: "left" } & LeftRange)
  | {
      readonly kind: "sending";
      readonly range: SentRange;
      readonly isRepeated: boolean;
      readonly open: Set<number>;
      /** It failed as a whole: nothing is known about single messages. */
      isWhole: boolean;
      isAborted: boolean;
      /** The earliest of the retries of its messages. */
      first: Retry | undefined;
      /** The same for all its messages, so that they are retried, and given up, together. */
      readonly random: number;
      readonly sinceMs: number;
    };

const AT_ONCE = { dueAtMs: Number.NEGATIVE_INFINITY, notBeforeMs: Number.NEGATIVE_INFINITY };

/** Retries that are looked up at once. */
const TOGETHER = 500;

/**
 * The messages that one destination is sending together. There is one range at a time, and the store knows it before it is sent. While it
 * fails as a whole, it is sent again with its messages and its settings, whatever was changed since, also by a later process. Only what a
 * deletion erased from the log is missing then.
 */
export class RangeUnderWay {
  readonly #options: RangeUnderWayOptions;
  #state: State = { kind: "free" };
  #changed = Promise.withResolvers<void>();

  constructor(options: RangeUnderWayOptions) {
    this.#options = options;
    const { range } = options.stored;
    if (range !== undefined) this.#state = { kind: "left", range, hasFailed: false, ...AT_ONCE };
  }

  /** Nothing else may be sent before it ended. */
  get left(): LeftRange | undefined {
    return this.#state.kind === "left" ? this.#state : undefined;
  }

  /** What was left is being sent: until its results are known, its messages must not be taken from the log. */
  get isRepeated(): boolean {
    return this.#state.kind === "sending" && this.#state.isRepeated;
  }

  /** What the messages of a range share that is being sent. */
  sharedBy(offset: number): { readonly random: number; readonly sinceMs: number } | undefined {
    return this.#state.kind === "sending" && this.#state.open.has(offset) ? this.#state : undefined;
  }

  /**
   * See `Round.fix`. Waits for the range before it: a destination that is being replaced may still send one. `isPresent`: whether the
   * caller is the destination that is used.
   */
  async fix(
    choose: () => SentTogether | undefined,
    isPresent: () => boolean,
    { monotonic, random }: { monotonic(): number; random(): number },
  ): Promise<Fixed> {
    while (this.#state.kind !== "free") {
      if (this.#state.kind === "left" && !isPresent()) return "postponed";
      await this.#changed.promise;
      // What became of its messages is handed over in this turn.
      await setImmediate();
    }
    const chosen = choose();
    if (chosen === undefined) return "nothing";
    const { id, offsets, settings } = chosen;
    const range = { id, runs: runsOf(offsets as readonly Offset[]), settings: settings.toJSON() };
    this.#send(range, offsets, false, { random: random(), sinceMs: Math.round(monotonic()) });
    await this.#options.settler.fix(range);
    return "fixed";
  }

  /** Who waits in `fix` asks again whether it is present. */
  changed(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers<void>();
  }

  /** What was left is being sent again. */
  repeat(
    { range }: LeftRange,
    offsets: readonly Offset[],
    shared: { random: number; sinceMs: number },
  ): void {
    this.#send(range, offsets, true, shared);
  }

  #send(
    range: SentRange,
    offsets: readonly number[],
    isRepeated: boolean,
    shared: { readonly random: number; readonly sinceMs: number },
  ): void {
    this.#setState({
      ...{ kind: "sending", range, isRepeated, open: new Set(offsets), isWhole: true, isAborted: false },
      ...{ first: undefined, ...shared },
    });
  }

  /**
   * How a message ended, after that was handed over. `retry`: it is sent again. Returns the messages of a range that was repeated and is
   * over now.
   */
  ended(
    { offset, message }: StoredMessage,
    outcome: RoundOutcome,
    retry: Retry | undefined,
  ): readonly Offset[] | undefined {
    const state = this.#state;
    if (state.kind !== "sending" || !state.open.delete(offset)) return undefined;
    state.isAborted ||= outcome.kind === "aborted";
    state.isWhole &&= isOfWhole(outcome);
    if (retry !== undefined && (state.first === undefined || retry.dueAtMs < state.first.dueAtMs))
      state.first = retry;
    if (state.open.size > 0) return undefined;
    const { range, first } = state;
    if (state.isAborted) {
      this.#setState({ kind: "left", range, hasFailed: false, ...AT_ONCE });
      return undefined;
    }
    // Who cannot erase a user may take messages.
    const isDeletion = message.type === "delete" && endsOf(range).from === endsOf(range).to;
    const mayBeKept = state.isWhole && !isDeletion;
    const isKept = mayBeKept && first !== undefined && this.#options.isInForce(settingsIn(range));
    if (!isKept) return this.over();
    const { dueAtMs } = first;
    this.#setState({ kind: "left", range, hasFailed: true, dueAtMs, notBeforeMs: askedUntil(first), first });
    return undefined;
  }

  /** Its messages are no longer sent together. Returns those of a range that was left once. */
  over(): readonly Offset[] | undefined {
    const state = this.#state;
    if (state.kind === "free") return undefined;
    this.#setState({ kind: "free" });
    this.#options.settler.rangeEnded();
    return state.kind === "sending" && !state.isRepeated ? undefined : offsetsOf(state.range);
  }

  /** What is left is sent as soon as it may be, and not before this time, until which the other side asked to wait. */
  wait(left: LeftRange, notBeforeMs = Number.NEGATIVE_INFINITY): void {
    this.#setState({ ...left, kind: "left", ...AT_ONCE, notBeforeMs });
  }

  #setState(state: State): void {
    this.#state = state;
    this.changed();
  }

  /** The messages of what was left that have no result yet, as they were decided. */
  async load({ range, hasFailed }: LeftRange): Promise<readonly Work[]> {
    const { loader, stored } = this.#options;
    const settings = RangeSettings.of(range);
    const offsets = offsetsOf(range);
    const ahead = new Set(stored.settledAhead);
    const isNew = (offset: Offset): boolean => !hasFailed && offset > stored.cursor && !ahead.has(offset);
    const retries = await this.#retriesOf(offsets.filter((offset) => !isNew(offset)));
    const works: Work[] = [];
    for (const offset of offsets) {
      const retry = retries.get(offset);
      if (retry === undefined && !isNew(offset)) continue;
      const message = await loader.load(offset);
      const work = message && workOf(message, settings);
      if (work !== undefined) works.push(retry === undefined ? work : { ...work, retry });
    }
    return works;
  }

  async #retriesOf(offsets: readonly Offset[]): Promise<ReadonlyMap<Offset, NonNullable<Work["retry"]>>> {
    const { consumers, consumerId } = this.#options;
    const found = new Map<Offset, NonNullable<Work["retry"]>>();
    for (let at = 0; at < offsets.length; at += TOGETHER) {
      const some = offsets.slice(at, at + TOGETHER);
      const answers = await Promise.all(some.map((offset) => consumers.outcomesOf(offset, consumerId)));
      for (const { offset, retry } of answers.flat()) if (retry !== undefined) found.set(offset, retry);
    }
    return found;
  }
}

/** The settings of the destination that a range is made with. */
export function settingsIn(range: SentRange): unknown {
  return RangeSettings.of(range).destination;
}

/** The positions of its first and its last message. */
export function endsOf({ runs }: SentRange): { readonly from: number; readonly to: number } {
  return { from: runs[0]?.[0] ?? 0, to: runs.at(-1)?.[1] ?? 0 };
}

/** Until when the other side asked to wait with a message, or for how long it can. */
export function askedUntil(retry: Retry | undefined): number {
  return retry === undefined
    ? Number.NEGATIVE_INFINITY
    : Math.min(retry.notBeforeMs ?? Number.NEGATIVE_INFINITY, retry.dueAtMs);
}

/** Whether a message ended like all of a range of which nothing arrived, as far as is known: no target is finished with it. */
function isOfWhole(outcome: RoundOutcome): boolean {
  return outcome.kind === "retry" && outcome.alive !== true && outcome.doneUrls.length === 0;
}

/** Undefined if the filters, as this version of Sluice reads them, drop it. Then it is decided like any other message. */
function workOf(stored: StoredMessage, { filters }: RangeSettings): Work | undefined {
  const { message, messageId, onlyDestinations } = stored;
  const kept =
    onlyDestinations === undefined
      ? applyFilters(filters, message, messageId)
      : ({ kind: "kept", message } as const);
  if (kept.kind === "filtered") return undefined;
  const timeMs = resolveTime(message, stored.receivedAtMs);
  const matched = { kind: "deliver", message: kept.message, timeMs } as const;
  return { stored, matched, heldBytes: heldBytes(message) };
}

/** Ascending offsets as runs. */
function runsOf(offsets: readonly Offset[]): SentRange["runs"] {
  const runs: [Offset, Offset][] = [];
  for (const offset of offsets) {
    const last = runs.at(-1);
    if (last !== undefined && offset <= last[1] + 1) last[1] = offset;
    else runs.push([offset, offset]);
  }
  return runs;
}

/** The offsets of a range, ascending. */
function offsetsOf({ runs }: SentRange): Offset[] {
  return runs.flatMap(([first, last]) =>
    Array.from({ length: last - first + 1 }, (_, place) => (first + place) as Offset),
  );
}
