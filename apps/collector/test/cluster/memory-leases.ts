import { setImmediate as turn } from "node:timers/promises";
import { EngineUnavailable, type LeaseRecord, type Leases } from "@sluice/event-log";

/**
 * Leases in memory, shared by all processes of a test, each of which can be cut off. A call takes a turn of the event loop, and its
 * answer another one, so what it did is watched before it is answered.
 */
export class MemoryLeases {
  readonly #records = new Map<string, LeaseRecord>();
  readonly #watchers = new Set<{ node: string; prefix: string; tell: (key: string) => void }>();
  readonly #cutOff = new Set<string>();
  /** Processes whose answers are held back, and the answers. */
  readonly #late = new Map<string, (() => void)[]>();
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

  /** Holds the answers to a process's calls back from now on. What the calls do is done. Returns what lets them go. */
  delay(node: string): () => void {
    const held: (() => void)[] = [];
    this.#late.set(node, held);
    return () => {
      this.#late.delete(node);
      for (const answer of held) answer();
    };
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
    const ask = async <Answer>(call: () => Answer): Promise<Answer> => {
      await turn();
      if (this.#cutOff.has(node)) throw new EngineUnavailable("cut off");
      const answer = call();
      const held = this.#late.get(node);
      await (held === undefined ? turn() : new Promise<void>((resolve) => held.push(resolve)));
      return answer;
    };
    const isAt = (key: string, expected: number | undefined): boolean =>
      this.#records.get(key)?.revision === expected;
    return {
      get: (key) => ask(() => this.#records.get(key)),
      list: (prefix) =>
        ask(() =>
          [...this.#records]
            .filter(([key]) => key.startsWith(prefix))
            .map(([key, record]) => ({ key, ...record })),
        ),
      put: (key, value, expected) => ask(() => (isAt(key, expected) ? this.#change(key, value) : undefined)),
      remove: (key, expected) =>
        ask(() => {
          if (!isAt(key, expected)) return false;
          this.#change(key, undefined);
          return true;
        }),
      watch: async (prefix, listener, signal) => {
        await ask(() => {});
        const watcher = { node, prefix, tell: (key: string) => listener(key, this.#records.get(key)) };
        this.#watchers.add(watcher);
        for (const key of this.#records.keys()) if (key.startsWith(prefix)) watcher.tell(key);
        signal.addEventListener("abort", () => this.#watchers.delete(watcher));
      },
    };
  }
}
