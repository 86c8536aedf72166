import type { Batch, Spool } from "../../src/index.js";

export interface MemorySpool extends Spool {
  readonly batches: readonly Batch[];
  /** Makes every later `append` fail. */
  fill(): void;
}

export function memorySpool(left: readonly Batch[] = []): MemorySpool {
  let batches = [...left];
  let isFull = false;
  return {
    get batches() {
      return batches;
    },
    get messages() {
      return batches.reduce((sum, batch) => sum + batch.length, 0);
    },
    fill: () => {
      isFull = true;
    },
    open: async () => {},
    append: async (batch) => {
      if (isFull) return { reason: "full" };
      batches.push(batch);
      return "kept";
    },
    oldest: async () => {
      const [batch] = batches;
      if (!batch) return undefined;
      return {
        batch,
        file: "memory",
        damaged: [],
        remove: async () => {
          batches = batches.filter((other) => other !== batch);
        },
      };
    },
    release: async () => {},
  };
}
