import { BEFORE_FIRST, type Offset, type Store } from "@sluice/event-log";
import { AUDIENCE_SOURCE_ID } from "../../../profiles/outbox-message.js";
import type { Engine } from "../audiences.js";

/**
 * How often the log is told how far the audiences are, in messages: retention keeps what they have not stored durably. Each report
 * syncs both stores, which under load competes with the commits that clients wait for.
 */
const REPORTED_MESSAGES = 100_000;
/** After this many messages, the files of profiles are compacted as soon as there is nothing else to do. */
const COMPACTED_MESSAGES = 10_000;

/** Where in the log the engine last reported its cursor to retention, and where it last compacted its files. */
export class Checkpoints {
  readonly #engine: Engine;
  readonly #consumers: Store["consumers"];
  #reported: Offset = BEFORE_FIRST;
  #compacted: Offset = BEFORE_FIRST;

  constructor(engine: Engine, consumers: Store["consumers"]) {
    this.#engine = engine;
    this.#consumers = consumers;
  }

  async open(cursor: Offset): Promise<void> {
    this.#reported = (await this.#consumers.open(AUDIENCE_SOURCE_ID, cursor)).cursor;
    this.#compacted = cursor;
  }

  async reportIfDue(cursor: Offset): Promise<void> {
    if (cursor - this.#reported > REPORTED_MESSAGES) await this.#report(cursor);
  }

  isCompactionDue(cursor: Offset): boolean {
    return cursor - this.#compacted > COMPACTED_MESSAGES;
  }

  async compact(cursor: Offset): Promise<void> {
    await this.#engine.compact();
    this.#compacted = cursor;
    await this.#report(cursor);
  }

  async #report(cursor: Offset): Promise<void> {
    await this.#engine.sync();
    await this.#consumers.settle(AUDIENCE_SOURCE_ID, { cursor, outcomes: [], retries: [], attempts: [] });
    this.#reported = cursor;
  }
}
