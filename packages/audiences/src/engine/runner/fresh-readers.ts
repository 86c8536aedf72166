import { StorageUnavailable } from "@sluice/event-log";
import type { Clock } from "@sluice/resilience";
import { type Cursors, cursorIn } from "../../profiles/partition-offsets.js";
import type { PartitionLogs } from "./partition-logs.js";

/** How long an answer about one user waits for the engine, which works without pauses meanwhile. */
const LONGEST_URGENT_WAIT_MS = 10_000;
/** How long an answer about many users waits. The engine keeps its pace. */
const LONGEST_WAIT_MS = 1_000;

interface Reader {
  /** The heads of the logs at the call. */
  readonly heads: Cursors;
  readonly isUrgent: boolean;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

/**
 * Questions that wait until the engine has counted all messages acknowledged before them, so that a client finds what it has just sent
 * in the answer. After the longest wait they are answered by what is counted. Where counting ends, they are refused: another process may
 * count on, and have more.
 */
export class FreshReaders {
  readonly #readers = new Set<Reader>();
  readonly #closing = new AbortController();
  readonly #logs: PartitionLogs;
  readonly #clock: Clock;
  readonly #cursors: () => Cursors;
  readonly #onWaiting: (isUrgent: boolean) => void;

  /** `onWaiting` is called when a question begins to wait. Urgent: it is about one user. */
  constructor(parts: {
    readonly logs: PartitionLogs;
    readonly clock: Clock;
    readonly cursors: () => Cursors;
    readonly onWaiting: (isUrgent: boolean) => void;
  }) {
    this.#logs = parts.logs;
    this.#clock = parts.clock;
    this.#cursors = parts.cursors;
    this.#onWaiting = parts.onWaiting;
  }

  /** Whether a question about one user waits. */
  get hasUrgent(): boolean {
    return [...this.#readers].some((reader) => reader.isUrgent);
  }

  get isAny(): boolean {
    return this.#readers.size > 0;
  }

  /** Rejects with `storage_unavailable` once nothing is counted any more. */
  async wait({ isUrgent }: { readonly isUrgent: boolean }): Promise<void> {
    const longestMs = isUrgent ? LONGEST_URGENT_WAIT_MS : LONGEST_WAIT_MS;
    if (this.#logs.followed.length > 0) await this.#caughtUp(longestMs);
    this.#closing.signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const reader: Reader = { heads: this.#heads(), isUrgent, resolve, reject };
    if (isBehindOrAt(reader.heads, this.#cursors())) return;
    this.#readers.add(reader);
    this.#onWaiting(isUrgent);
    const cancel = this.#clock.after(longestMs, resolve);
    try {
      await promise;
    } finally {
      cancel();
      this.#readers.delete(reader);
    }
  }

  /** Waits until the copies of the other partitions contain what was acknowledged before. A partition that cannot be read is left out. */
  async #caughtUp(longestMs: number): Promise<void> {
    const tooLate = new AbortController();
    const cancel = this.#clock.after(longestMs, () => tooLate.abort());
    const stop = AbortSignal.any([tooLate.signal, this.#closing.signal]);
    await Promise.all(
      this.#logs.followed
        .filter((followed) => followed.isReadable())
        .map((followed) => followed.caughtUp(stop).catch(() => {})),
    );
    cancel();
  }

  #heads(): Cursors {
    const heads: Cursors[number][] = [];
    for (const log of this.#logs.all) if (log.isReadable) heads[log.partition] = log.head();
    return heads;
  }

  /** Messages up to `cursors` are counted. */
  counted(cursors: Cursors): void {
    for (const reader of this.#readers) if (isBehindOrAt(reader.heads, cursors)) reader.resolve();
  }

  /** Refuses the questions that wait, and all that come. */
  close(): void {
    const refusal = new StorageUnavailable("this process counts no messages any more: ask again");
    this.#closing.abort(refusal);
    for (const reader of this.#readers) reader.reject(refusal);
  }
}

function isBehindOrAt(heads: Cursors, cursors: Cursors): boolean {
  return heads.every((head, partition) => head === undefined || head <= cursorIn(cursors, partition));
}
