import type { StoredBatch } from "../../message/batch.js";
import type { Offset } from "../../message/offset.js";
import { StorageUnavailable } from "../../ports/errors.js";
import type { EventLog } from "../../ports/event-log.js";
import type { LogStats } from "../../sqlite/calls/operations.js";
import type { StoreConnection } from "../../sqlite/client/connection.js";
import { SqliteEventLog } from "../../sqlite/client/event-log.js";
import type { Copy } from "./copy.js";

/** A partition's log as one process's copy contains it. It can be read, and not written, whether the copy leads or follows. */
export interface CopyLog extends Pick<EventLog, "read" | "head" | "onAppend" | "find" | "get"> {
  /**
   * False while the copy is opened or replaced, and until it contains what the log had then: it may still have messages that were
   * deleted since. Calls then reject with `storage_unavailable`.
   */
  readonly isComplete: boolean;
  /** Changes with each change of a document that the copy contains, and with the copy. */
  readonly documentChanges: string;
}

/** See `CopyLog`. The replica tells it what happens to the copy. */
export class ReadableCopyLog implements CopyLog {
  readonly #copy: () => Copy;
  readonly #log: SqliteEventLog;
  readonly #listeners = new Set<() => void>();
  /** How often the copy was opened. */
  #opened = 0;
  #changes = 0;
  #isComplete = false;

  constructor(copy: () => Copy) {
    this.#copy = copy;
    this.#log = new SqliteEventLog(
      () => readingConnection(this.#copy()),
      () => 0,
    );
    this.#log.onAppend(() => this.#changed());
  }

  get isComplete(): boolean {
    return this.#isComplete && this.#copy().health().kind === "ready";
  }

  get documentChanges(): string {
    return `${this.#opened}.${this.#changes}`;
  }

  /** The copy is going to be replaced, or was opened. Returns what to call when it contains what the log had at the time of this call. */
  began(): () => void {
    this.#opened += 1;
    this.#isComplete = false;
    const opening = this.#opened;
    return () => {
      if (this.#opened !== opening) return;
      this.#isComplete = true;
      this.#changed();
    };
  }

  /** The copy's numbers have changed. */
  stats(stats: LogStats): void {
    this.#changes = stats.documentChanges;
    this.#log.committed(stats);
  }

  /** Reads what a copy that was opened contains. */
  async describe(): Promise<void> {
    this.#log.opened(await this.#copy().ask("describe", {}));
  }

  head(): Offset {
    return this.#log.head();
  }

  onAppend(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async read(...given: Parameters<EventLog["read"]>): Promise<readonly StoredBatch[]> {
    this.#requireComplete();
    const batches = await this.#log.read(...given);
    // The owner gives new sources their numbers. A follower reads them from its copy.
    if (batches.every(({ sourceId }) => sourceId !== "")) return batches;
    await this.describe();
    return this.#log.read(...given);
  }

  async find(...given: Parameters<EventLog["find"]>): ReturnType<EventLog["find"]> {
    this.#requireComplete();
    await this.describe();
    return this.#log.find(...given);
  }

  async get(offset: Offset): ReturnType<EventLog["get"]> {
    this.#requireComplete();
    await this.describe();
    return this.#log.get(offset);
  }

  #requireComplete(): void {
    if (!this.isComplete)
      throw new StorageUnavailable("the copy of the partition is being brought up to date");
  }

  #changed(): void {
    for (const listener of [...this.#listeners]) listener();
  }
}

/** What reading the log needs of a connection. */
function readingConnection(copy: Copy): StoreConnection {
  const never = (): never => {
    throw new Error("a copy of the log is only read");
  };
  return {
    check() {
      const health = copy.health();
      if (health.kind === "unavailable") throw new StorageUnavailable(health.reason);
    },
    readsAfterWrites: false,
    ask: (operation, request, transfer) => copy.ask(operation, request, transfer),
    health: () => copy.health(),
    schedule: never,
    beforeSend: never,
    close: never,
  };
}
