import { aim } from "../aim.js";
import type { StepKind } from "../steps.js";

/** The collector or an application ends, and starts again later. */
export interface CrashStep {
  readonly kind: "crash";
  readonly atMs: number;
  readonly of: "collector" | { readonly sdk: number };
  /** Milliseconds until it starts again. */
  readonly downMs: number;
  /** How far its wall clock is set while it is down. */
  readonly jumpMs: number;
}

export const crashSteps: StepKind<CrashStep> = {
  kind: "crash",
  plan: (random, scenario, lengthMs) =>
    Array.from({ length: random.integer(0, 4) }, () => ({
      kind: "crash" as const,
      atMs: aim(random, scenario, lengthMs),
      of: random.chance(0.7) ? ("collector" as const) : { sdk: random.integer(0, scenario.sdks.length - 1) },
      downMs: random.pick([0, 500, 20_000, 10 * 60_000, 3 * 3_600_000]),
      jumpMs: random.chance(0.2) ? random.pick([-3_600_000, -5_000, 5_000, 3_600_000]) : 0,
    })),
  run({ of, downMs, jumpMs }, { world, collector, sdks }) {
    if (of === "collector") {
      collector.crash();
      if (jumpMs !== 0) collector.machine.jump(jumpMs);
      world.after(downMs, () => void collector.start());
      return;
    }
    const sdk = sdks[of.sdk];
    sdk?.crash();
    if (jumpMs !== 0) sdk?.machine.jump(jumpMs);
    world.after(downMs, () => sdk?.start());
  },
};
