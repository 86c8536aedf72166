/** Counts by labels, to be handed to another thread. */
export type Tally = readonly (readonly [labels: readonly string[], count: number])[];

export interface TallyCounter {
  inc(labels: readonly string[], by?: number): void;
  /** What was counted since the last call. */
  take(): Tally;
}

/** `changed` is called when something is counted. */
export function tallyCounter(changed: () => void): TallyCounter {
  let counts = new Map<string, { readonly labels: readonly string[]; count: number }>();
  return {
    inc(labels, by = 1) {
      const key = labels.length === 1 ? (labels[0] as string) : labels.join("\0");
      const known = counts.get(key);
      if (known === undefined) counts.set(key, { labels, count: by });
      else known.count += by;
      changed();
    },
    take() {
      const taken = [...counts.values()].map(({ labels, count }) => [labels, count] as const);
      counts = new Map();
      return taken;
    },
  };
}

/** A number that each thread has; a gauge shows the sum. */
export class LevelOfThreads {
  readonly #levels = new Map<number, number>();

  set(thread: number, level: number): void {
    this.#levels.set(thread, level);
  }

  get sum(): number {
    return [...this.#levels.values()].reduce((sum, level) => sum + level, 0);
  }
}
