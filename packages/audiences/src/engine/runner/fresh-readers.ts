import type { EventLog, Offset } from "@sluice/event-log";
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
}

/**
 * Questions that wait until the engine has counted all messages acknowledged before them, so that a client finds what it has just sent
 * in the answer. After the longest wait they are answered by what is counted.
 */
export class FreshReaders {
  readonly #readers = new Set<Reader>();
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

  async wait({ isUrgent }: { readonly isUrgent: boolean }): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const reader: Reader = { head: this.#log.head(), isUrgent, resolve };
    if (this.#cursor() >= reader.head) return;
    this.#readers.add(reader);
    this.#onWaiting(isUrgent);
    const cancel = this.#clock.after(isUrgent ? LONGEST_URGENT_WAIT_MS : LONGEST_WAIT_MS, resolve);
    await promise;
    cancel();
    this.#readers.delete(reader);
  }

  /** Messages up to `cursor` are counted. */
  counted(cursor: Offset): void {
    for (const reader of this.#readers) if (cursor >= reader.head) reader.resolve();
  }

  /** Ends all waits. */
  close(): void {
    for (const reader of this.#readers) reader.resolve();
  }
}
