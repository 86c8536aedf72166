import type { StepKind } from "../steps.js";

/** A wall clock is set forward or back while its processes run. */
export interface ClockStep {
  readonly kind: "clock";
  readonly atMs: number;
  readonly of: "collector" | { readonly sdk: number };
  readonly jumpMs: number;
}

export const clockSteps: StepKind<ClockStep> = {
  kind: "clock",
  plan: (random, { sdks }, lengthMs) =>
    Array.from({ length: random.chance(0.3) ? random.integer(1, 2) : 0 }, () => ({
      kind: "clock" as const,
      atMs: random.integer(0, lengthMs),
      of: random.chance(0.7) ? ("collector" as const) : { sdk: random.integer(0, sdks.length - 1) },
      jumpMs: random.pick([-86_400_000, -3_600_000, -2_000, 2_000, 3_600_000]),
    })),
  run({ of, jumpMs }, { collector, sdks }) {
    const machine = of === "collector" ? collector.machine : sdks[of.sdk]?.machine;
    machine?.jump(jumpMs);
  },
};
