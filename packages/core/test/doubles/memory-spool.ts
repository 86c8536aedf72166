import { setImmediate as turn } from "node:timers/promises";
import type { Batch, Spool } from "../../src/index.js";

/** Each call but the write of a batch takes a turn of the event loop, as that of a folder does. */
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
    open: () => turn(),
    append: async (batch) => {
      if (isFull) return { reason: "full" };
      batches.push(batch);
      return "kept";
    },
    oldest: async () => {
      const [batch] = batches;
      await turn();
      if (!batch) return undefined;
      return {
        batch,
        file: "memory",
        damaged: [],
        remove: async () => {
          await turn();
          batches = batches.filter((other) => other !== batch);
        },
      };
    },
    release: () => turn(),
  };
}
