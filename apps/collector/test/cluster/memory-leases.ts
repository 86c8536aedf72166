import { EngineUnavailable, type LeaseRecord, type Leases } from "@sluice/event-log";

/** Leases in memory, shared by all processes of a test, each of which can be cut off. */
export class MemoryLeases {
  readonly #records = new Map<string, LeaseRecord>();
  readonly #watchers = new Set<{ node: string; prefix: string; tell: (key: string) => void }>();
  readonly #cutOff = new Set<string>();
  #revision = 0;

  cut(node: string): void {
    this.#cutOff.add(node);
  }

  mend(node: string): void {
    this.#cutOff.delete(node);
    for (const watcher of this.#watchers)
      if (watcher.node === node)
        for (const key of this.#records.keys()) if (key.startsWith(watcher.prefix)) watcher.tell(key);
  }

  #change(key: string, value: string | undefined): number {
    this.#revision += 1;
    if (value === undefined) this.#records.delete(key);
    else this.#records.set(key, { revision: this.#revision, value });
    for (const { node, prefix, tell } of this.#watchers)
      if (key.startsWith(prefix) && !this.#cutOff.has(node)) tell(key);
    return this.#revision;
  }

  /** The leases as one process sees them. */
  of(node: string): Leases {
    const reach = async (): Promise<void> => {
      if (this.#cutOff.has(node)) throw new EngineUnavailable("cut off");
    };
    return {
      get: async (key) => {
        await reach();
        return this.#records.get(key);
      },
      list: async (prefix) => {
        await reach();
        return [...this.#records]
          .filter(([key]) => key.startsWith(prefix))
          .map(([key, record]) => ({ key, ...record }));
      },
      put: async (key, value, expected) => {
        await reach();
        if (this.#records.get(key)?.revision !== expected) return undefined;
        return this.#change(key, value);
      },
      remove: async (key, expected) => {
        await reach();
        if (this.#records.get(key)?.revision !== expected) return false;
        this.#change(key, undefined);
        return true;
      },
      watch: async (prefix, listener, signal) => {
        await reach();
        const watcher = { node, prefix, tell: (key: string) => listener(key, this.#records.get(key)) };
        this.#watchers.add(watcher);
        for (const key of this.#records.keys()) if (key.startsWith(prefix)) watcher.tell(key);
        signal.addEventListener("abort", () => this.#watchers.delete(watcher));
      },
    };
  }
}
