import { aim } from "../aim.js";
import type { StepKind } from "../steps.js";

/** The collector stops as on SIGTERM, and starts again. */
export interface StopStep {
  readonly kind: "stop";
  readonly atMs: number;
  readonly graceMs: number;
  readonly downMs: number;
}

export const stopSteps: StepKind<StopStep> = {
  kind: "stop",
  plan: (random, scenario, lengthMs) =>
    Array.from({ length: random.chance(0.4) ? 1 : 0 }, () => ({
      kind: "stop" as const,
      atMs: aim(random, scenario, lengthMs),
      graceMs: random.pick([0, 1_000, 10_000]),
      downMs: random.pick([0, 5_000, 20 * 60_000]),
    })),
  run({ graceMs, downMs }, { world, collector }) {
    void collector.stop(graceMs).then(() => {
      world.after(downMs, () => void collector.start());
    });
  },
};
