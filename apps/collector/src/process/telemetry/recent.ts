import type { ConfigStore } from "@sluice/event-log";
import type { CancelTimer, Clock } from "@sluice/resilience";
import { LRUCache } from "lru-cache";

/** How often something happened. Times are wall-clock milliseconds. */
export interface Happened {
  readonly times: number;
  readonly firstMs: number;
  readonly lastMs: number;
}

/** A flood of different ones makes the earliest give way. */
const MOST = 100;
const KEPT_MS = 7 * 86_400_000;

/** Remembers what happened in the last seven days, the latest 100 different ones. */
export class Recent<What extends object> {
  readonly #clock: Pick<Clock, "now">;
  readonly #known = new LRUCache<string, What & Happened>({ max: MOST });

  constructor(clock: Pick<Clock, "now">) {
    this.#clock = clock;
  }

  add(what: What, times = 1): void {
    const nowMs = this.#clock.now();
    this.#take(what, { times, firstMs: nowMs, lastMs: nowMs });
  }

  /** The latest first. */
  read(): readonly (What & Happened)[] {
    const sinceMs = this.#clock.now() - KEPT_MS;
    return [...this.#known.values()]
      .filter(({ lastMs }) => lastMs > sinceMs)
      .sort((a, b) => b.lastMs - a.lastMs);
  }

  /** Adds what an earlier process remembered. */
  restore(all: readonly (What & Happened)[]): void {
    for (const { times, firstMs, lastMs, ...what } of all.toReversed())
      this.#take(what as unknown as What, { times, firstMs, lastMs });
  }

  #take(what: What, { times, firstMs, lastMs }: Happened): void {
    const id = JSON.stringify(what);
    const known = this.#known.get(id);
    this.#known.set(id, {
      ...what,
      times: times + (known?.times ?? 0),
      firstMs: Math.min(firstMs, known?.firstMs ?? firstMs),
      lastMs: Math.max(lastMs, known?.lastMs ?? lastMs),
    });
  }
}

/** One document of at most 30 KB, written at most once in this time. */
const STORE_EVERY_MS = 60_000;
const ID = "latest";

/** Goes on with what was stored, and stores what is new regularly until it is closed. */
export async function keepRecent<What extends object>(
  recent: Recent<What>,
  kind: string,
  { clock, config }: { readonly clock: Pick<Clock, "after">; readonly config: ConfigStore },
): Promise<{ close(): Promise<void> }> {
  recent.restore((await config.get<readonly (What & Happened)[]>(kind, ID))?.value ?? []);
  let stored = JSON.stringify(recent.read());
  const store = async (): Promise<void> => {
    const now = recent.read();
    if (JSON.stringify(now) === stored) return;
    stored = JSON.stringify(now);
    // Others report that the store cannot be written. The next write includes these.
    await config.put(kind, ID, now).catch(() => {
      stored = "";
    });
  };
  let writing: Promise<void> = Promise.resolve();
  let cancel: CancelTimer = () => {};
  const begin = (): void => {
    cancel = clock.after(STORE_EVERY_MS, () => {
      writing = store().then(begin);
    });
  };
  begin();
  return {
    async close() {
      cancel();
      await writing;
      cancel();
      await store();
    },
  };
}
