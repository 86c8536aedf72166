import type { Batch, Spool } from "@sluice/core";

/** The spool's folder on the application's disk. What was appended survives a crash. */
export class MemorySpool {
  #batches: Batch[] = [];
  #process = 0;

  /** The spool as a new process sees it. */
  mount(): Spool {
    this.#process += 1;
    const process = this.#process;
    const isCurrent = (): boolean => this.#process === process;
    const messages = (): number => this.#batches.reduce((sum, batch) => sum + batch.length, 0);
    return {
      get messages() {
        return messages();
      },
      open: async () => {},
      append: async (batch) => {
        if (isCurrent()) this.#batches.push(batch);
        return "kept";
      },
      oldest: async () => {
        const [batch] = this.#batches;
        if (batch === undefined) return undefined;
        return {
          batch,
          file: "simulated",
          damaged: [],
          remove: async () => {
            if (isCurrent()) this.#batches = this.#batches.filter((other) => other !== batch);
          },
        };
      },
      release: async () => {},
    };
  }

  crash(): void {
    this.#process += 1;
  }
}
