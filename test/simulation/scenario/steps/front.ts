import { aim } from "../aim.js";
import type { StepKind } from "../steps.js";

/** Something in front of the collector, such as a proxy, asks an application to wait, each request for another time. */
export interface FrontStep {
  readonly kind: "front";
  readonly atMs: number;
  readonly sdk: number;
  readonly status: number;
  /** Of its requests. */
  readonly share: number;
  /** By turns, in seconds. */
  readonly retryAfter: readonly string[];
  readonly forMs: number;
}

export const frontSteps: StepKind<FrontStep> = {
  kind: "front",
  plan: (random, scenario, lengthMs) =>
    Array.from({ length: scenario.theme === "waits" ? random.integer(1, 3) : 0 }, () => ({
      kind: "front" as const,
      atMs: aim(random, scenario, lengthMs),
      sdk: random.integer(0, scenario.sdks.length - 1),
      status: random.pick([429, 429, 503]),
      share: random.pick([0.5, 1]),
      retryAfter: random.pick([["20", "3"], ["3", "20"], ["120", "1"], ["400"]]),
      forMs: random.pick([5_000, 60_000, 600_000]),
    })),
  run(step, { world, sdks }) {
    const sdk = sdks[step.sdk];
    if (sdk === undefined) return;
    world.note(`${sdk.plan.name} is asked to wait`);
    sdk.front = step;
    world.after(step.forMs, () => {
      if (sdk.front === step) sdk.front = undefined;
    });
  },
};
