import { type EventLog, type Offset, StorageUnavailable } from "@sluice/event-log";
import type { Clock } from "@sluice/resilience";

/** How long an answer about one user waits for the engine, which works without pauses meanwhile. */
const LONGEST_URGENT_WAIT_MS = 10_000;
/** How long an answer about many users waits. The engine keeps its pace. */
const LONGEST_WAIT_MS = 1_000;

interface Reader {
  /** The head of the log at the call. */
  readonly head: Offset;
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
  readonly #log: Pick<EventLog, "head">;
  readonly #clock: Clock;
  readonly #cursor: () => Offset;
  readonly #onWaiting: (isUrgent: boolean) => void;

  /** `onWaiting` is called when a question begins to wait. Urgent: it is about one user. */
  constructor(parts: {
    readonly log: Pick<EventLog, "head">;
    readonly clock: Clock;
    readonly cursor: () => Offset;
    readonly onWaiting: (isUrgent: boolean) => void;
  }) {
    this.#log = parts.log;
    this.#clock = parts.clock;
    this.#cursor = parts.cursor;
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
    this.#closing.signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const reader: Reader = { head: this.#log.head(), isUrgent, resolve, reject };
    if (reader.head <= this.#cursor()) return;
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

  /** Messages up to `cursor` are counted. */
  counted(cursor: Offset): void {
    for (const reader of this.#readers) if (reader.head <= cursor) reader.resolve();
  }

  /** Refuses the questions that wait, and all that come. */
  close(): void {
    const refusal = new StorageUnavailable("this process counts no messages any more: ask again");
    this.#closing.abort(refusal);
    for (const reader of this.#readers) reader.reject(refusal);
  }
}
