import { setImmediate } from "node:timers/promises";
import type { ConsumerState, Consumers, Offset, SentRange, StoredMessage } from "@sluice/event-log";
import { resolveTime } from "@sluice/protocol";
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
}

/** Retries that are looked up at once. */
const TOGETHER = 500;

/**
 * The messages that one destination is sending together. There is one range at a time, and the store knows it before it is sent. One that
 * was left by an earlier process comes first: with its messages and its settings, whatever was changed since. Only what a deletion erased
 * from the log is missing then.
 */
export class RangeUnderWay {
  readonly #options: RangeUnderWayOptions;
  #left: SentRange | undefined;
  #underWay: PromiseWithResolvers<void> | undefined;

  constructor(options: RangeUnderWayOptions) {
    this.#options = options;
    this.#left = options.stored.range;
  }

  /** What an earlier process was sending. Nothing else may be sent before it ended. */
  get left(): SentRange | undefined {
    return this.#left;
  }

  /** See `Round.fix`. Waits for the range before it: a destination that is being replaced may still send one. */
  async fix(id: string, offsets: readonly number[], settings: RangeSettings): Promise<() => void> {
    while (this.#underWay !== undefined) {
      await this.#underWay.promise;
      // What became of its messages is handed over in this turn.
      await setImmediate();
    }
    const underWay = Promise.withResolvers<void>();
    this.#underWay = underWay;
    const { settler } = this.#options;
    await settler.fix({ id, runs: runsOf(offsets as readonly Offset[]), settings: settings.toJSON() });
    return () => {
      settler.rangeEnded();
      this.#underWay = undefined;
      underWay.resolve();
    };
  }

  /** The results of what was left were handed over. Returns its messages. */
  leftEnded(): readonly Offset[] {
    const offsets = this.#left === undefined ? [] : offsetsOf(this.#left);
    this.#left = undefined;
    this.#options.settler.rangeEnded();
    return offsets;
  }

  /** The messages of what was left that have no result yet, as they were decided. */
  async load(range: SentRange): Promise<readonly Work[]> {
    const { loader, stored } = this.#options;
    const settings = RangeSettings.of(range);
    const offsets = offsetsOf(range);
    const ahead = new Set(stored.settledAhead);
    const isNew = (offset: Offset): boolean => offset > stored.cursor && !ahead.has(offset);
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
