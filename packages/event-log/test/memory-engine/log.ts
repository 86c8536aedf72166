import { EntriesTrimmed, type LogAppend, type LogEntry } from "../../src/replicated/engine.js";

/** The entries that all nodes share. Without faults: those belong to a node's view of it. */
export class MemoryLog {
  readonly maxEntryBytes: number;
  readonly #maxEntries: number;
  readonly #listeners = new Set<() => void>();
  #entries: Uint8Array<ArrayBuffer>[] = [];
  #first = 1;

  constructor(maxEntryBytes: number, maxEntries: number) {
    this.maxEntryBytes = maxEntryBytes;
    this.#maxEntries = maxEntries;
  }

  get bounds(): { readonly first: number; readonly last: number } {
    return { first: this.#first, last: this.#first + this.#entries.length - 1 };
  }

  append(data: Uint8Array, expectedLast: number): LogAppend {
    const { last } = this.bounds;
    if (data.byteLength > this.maxEntryBytes) return { kind: "impossible", reason: "the entry is too large" };
    if (last !== expectedLast) return { kind: "refused", last };
    if (this.#entries.length >= this.#maxEntries) return { kind: "impossible", reason: "the log is full" };
    this.#entries.push(Uint8Array.from(data));
    for (const listener of this.#listeners) listener();
    return { kind: "appended", sequence: last + 1 };
  }

  /** The entry after `after`, if there is one. Throws `EntriesTrimmed`. */
  next(after: number): LogEntry | undefined {
    if (after + 1 < this.#first) throw new EntriesTrimmed(this.#first);
    const data = this.#entries[after + 1 - this.#first];
    return data && { sequence: after + 1, data: data.slice() };
  }

  trim(upTo: number): void {
    const count = Math.min(Math.max(0, upTo - this.#first + 1), this.#entries.length);
    this.#entries = this.#entries.slice(count);
    this.#first += count;
  }

  onAppend(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
