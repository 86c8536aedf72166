import type { RetentionLimits } from "../../world/sqlite-folder.js";
import type { Theme } from "../scenario.js";
import type { StepKind } from "../steps.js";

/** An administrator changes how long messages are kept, and restarts the collector. */
export interface RetentionStep {
  readonly kind: "retention";
  readonly atMs: number;
  readonly limits: RetentionLimits;
}

const REMOVES: readonly Theme[] = ["any", "waits"];

export const retentionSteps: StepKind<RetentionStep> = {
  kind: "retention",
  plan: (random, { store, theme, workers }, lengthMs) =>
    Array.from(
      // What other threads append is not observed in whole, so nothing would be known of what was dropped.
      {
        length: store === "embedded" && workers === 1 && REMOVES.includes(theme) ? random.integer(1, 2) : 0,
      },
      () => ({
        kind: "retention" as const,
        atMs: random.integer(0, lengthMs),
        limits: random.pick<RetentionLimits>([
          {},
          { maxAgeMs: 60_000 },
          { maxAgeMs: 3_600_000 },
          { maxBytes: 1 },
          { maxBytes: 1_000_000 },
        ]),
      }),
    ),
  run({ limits }, { world, collector, folder }) {
    if (folder === undefined) return;
    world.note(`retention ${JSON.stringify(limits)}`);
    folder.limits = limits;
    void collector.stop(1_000).then(() => {
      world.after(0, () => void collector.start());
    });
  },
};
