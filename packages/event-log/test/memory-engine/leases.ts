import type { LeaseRecord } from "../../src/replicated/engine.js";

type Listener = (key: string, record: LeaseRecord | undefined) => void;

/** The leases that all nodes share. */
export class MemoryLeases {
  readonly #records = new Map<string, LeaseRecord>();
  readonly #watchers = new Set<Listener>();
  #revision = 0;

  get(key: string): LeaseRecord | undefined {
    return this.#records.get(key);
  }

  list(prefix: string): (LeaseRecord & { readonly key: string })[] {
    return [...this.#records]
      .filter(([key]) => key.startsWith(prefix))
      .map(([key, record]) => ({ key, ...record }));
  }

  put(key: string, value: string, expected: number | undefined): number | undefined {
    if (this.#records.get(key)?.revision !== expected) return undefined;
    this.#revision += 1;
    const record = { revision: this.#revision, value };
    this.#records.set(key, record);
    this.#tell(key, record);
    return record.revision;
  }

  remove(key: string, expected: number): boolean {
    if (this.#records.get(key)?.revision !== expected) return false;
    this.#records.delete(key);
    this.#tell(key, undefined);
    return true;
  }

  watch(listener: Listener): () => void {
    this.#watchers.add(listener);
    return () => this.#watchers.delete(listener);
  }

  #tell(key: string, record: LeaseRecord | undefined): void {
    for (const watcher of this.#watchers) watcher(key, record);
  }
}
