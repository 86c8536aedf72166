import { BEFORE_FIRST, type Offset, type Store } from "@sluice/event-log";
import { AUDIENCE_SOURCE_ID } from "@sluice/protocol";
import type { Clock } from "@sluice/resilience";
import type { Engine } from "../audiences.js";

/**
 * How often the log is told how far the audiences are, in messages: retention keeps what they have not stored durably. Each report
 * syncs both stores, which under load competes with the commits that clients wait for.
 */
const REPORTED_MESSAGES = 100_000;
/** And how often at least, if there is something to report: otherwise few messages would never be dropped. */
const REPORTED_AFTER_MS = 10 * 60_000;
/** After this many messages, the files of profiles are compacted as soon as there is nothing else to do. */
const COMPACTED_MESSAGES = 10_000;

/** Where in the log the engine last reported its cursor to retention, and where it last compacted its files. */
export class Checkpoints {
  readonly #engine: Engine;
  readonly #consumers: Store["consumers"];
  readonly #clock: Pick<Clock, "monotonic">;
  #reported: Offset = BEFORE_FIRST;
  #reportedAtMs = 0;
  /** How many messages were counted then. Undefined until the engine's cursors are known. */
  #compacted: number | undefined;

  constructor(engine: Engine, consumers: Store["consumers"], clock: Pick<Clock, "monotonic">) {
    this.#engine = engine;
    this.#consumers = consumers;
    this.#clock = clock;
  }

  async open(cursor: Offset): Promise<void> {
    this.#reported = (await this.#consumers.open(AUDIENCE_SOURCE_ID, cursor)).cursor;
    this.#reportedAtMs = this.#clock.monotonic();
  }

  /** The engine begins with this number of counted messages, and with files that are compact up to there. */
  begin(counted: number): void {
    this.#compacted ??= counted;
  }

  async reportIfDue(cursor: Offset): Promise<void> {
    const dueAtMs = this.reportAtMs(cursor) ?? Number.POSITIVE_INFINITY;
    if (cursor - this.#reported > REPORTED_MESSAGES || dueAtMs <= this.#clock.monotonic())
      await this.#report(cursor);
  }

  /** When the cursor has to be reported, as a monotonic reading. Undefined if it was. */
  reportAtMs(cursor: Offset): number | undefined {
    return cursor > this.#reported ? this.#reportedAtMs + REPORTED_AFTER_MS : undefined;
  }

  isCompactionDue(counted: number): boolean {
    return this.#compacted !== undefined && counted - this.#compacted > COMPACTED_MESSAGES;
  }

  async compact(cursor: Offset, counted: number): Promise<void> {
    await this.#engine.compact();
    this.#compacted = counted;
    await this.#report(cursor);
  }

  async #report(cursor: Offset): Promise<void> {
    await this.#engine.sync();
    await this.#consumers.settle(AUDIENCE_SOURCE_ID, { cursor, outcomes: [], retries: [], attempts: [] });
    this.#reported = cursor;
    this.#reportedAtMs = this.#clock.monotonic();
  }
}
