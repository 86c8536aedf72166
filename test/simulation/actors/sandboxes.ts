import type { Sandboxes, TransformItem, TransformResult } from "@sluice/transformations";
import type { ProcessClock } from "../world/machine.js";
import type { World } from "../world/world.js";
import type { History } from "./history.js";

/** What the functions of the world do. Their code is just these words. */
export type Behaviour = "passes all" | "drops odd" | "throws at odd";

/** How long a batch may take. */
export const SLOWEST_MS = 200;

/** Runs transformations in no time but that of the world. */
export function simulatedSandboxes(
  { world, history }: { readonly world: World; readonly history: History },
  run: number,
  clock: ProcessClock,
): Sandboxes {
  const random = world.random.fork(`sandboxes ${run}`);
  return {
    check: async () => ({ ok: true }),
    stats: () => ({ threads: 0, sandboxes: 0, memoryBytes: 0 }),
    async run({ key, code }, items) {
      const [id = "", version = ""] = key.split(/[@#]/);
      const results = items.map((item) => resultOf(code as Behaviour, item));
      for (const [index, { fixed }] of items.entries()) {
        const { kind } = results[index] ?? {};
        history.transformed.push({
          id,
          version: Number(version),
          messageId: fixed.messageId,
          kind,
          run,
          atMs: world.elapsedMs,
        });
      }
      world.note(`transforms ${items.length} by ${key}`);
      await clock.sleep(random.pick([0, 5, SLOWEST_MS]));
      return results;
    },
    async close() {},
  };
}

function resultOf(code: Behaviour, { json }: TransformItem): TransformResult {
  const { properties } = JSON.parse(json) as { readonly properties?: { readonly odd?: unknown } };
  const isOdd = properties?.odd === true;
  if (!isOdd || code === "passes all") return { kind: "same", logs: [] };
  return code === "drops odd"
    ? { kind: "dropped", logs: [] }
    : { kind: "failed", code: "exception", message: "Error: it is odd", line: 1, logs: [] };
}
