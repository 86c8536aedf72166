import type { Sandboxes, TransformCode, TransformItem, TransformResult } from "@sluice/transformations";

/** The most messages that cross into the sandbox together. */
const MOST_TOGETHER = 100;

interface Waiting {
  readonly item: TransformItem;
  readonly end: (result: TransformResult) => void;
}

interface Lane {
  readonly waiting: Waiting[];
  isRunning: boolean;
}

export type RunOne = (code: TransformCode, item: TransformItem) => Promise<TransformResult>;

/** Runs messages together that come in the same turn, or while a batch of the same code runs: no timer gathers them. */
export function runInBatches(sandboxes: Pick<Sandboxes, "run">): RunOne {
  const lanes = new Map<string, Lane>();

  const run = async (code: TransformCode, lane: Lane): Promise<void> => {
    while (lane.waiting.length > 0) {
      const batch = lane.waiting.splice(0, MOST_TOGETHER);
      const results = await sandboxes.run(
        code,
        batch.map(({ item }) => item),
      );
      batch.forEach(({ end }, index) => {
        end(results[index] ?? NO_RESULT);
      });
      // What the results let start belongs to the next batch.
      await Promise.resolve();
    }
    lanes.delete(code.key);
  };

  return (code, item) => {
    const lane = lanes.get(code.key) ?? { waiting: [], isRunning: false };
    lanes.set(code.key, lane);
    const { promise, resolve: end } = Promise.withResolvers<TransformResult>();
    lane.waiting.push({ item, end });
    if (!lane.isRunning) {
      lane.isRunning = true;
      queueMicrotask(() => void run(code, lane));
    }
    return promise;
  };
}

const NO_RESULT: TransformResult = {
  kind: "failed",
  code: "crashed",
  message: "the sandbox gave no result",
  logs: [],
};
