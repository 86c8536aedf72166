import type { Random } from "../../world/random.js";
import type { Step, StepKind } from "../steps.js";

/** An administrator sends messages of a destination again: those that failed, or those that have ended in any way. */
export interface OperationStep {
  readonly kind: "operation";
  readonly atMs: number;
  readonly destination: number;
  readonly what: "retry" | "replay";
  readonly state?: "failed" | "delivered";
  readonly perSecond: number;
}

export const operationSteps: StepKind<OperationStep> = {
  kind: "operation",
  plan: (random, { destinations, steps }, lengthMs) =>
    Array.from({ length: random.chance(0.3) ? random.integer(1, 2) : 0 }, () => {
      const what = random.pick(["retry", "replay", "replay"] as const);
      return {
        kind: "operation" as const,
        atMs: beginOf(random, steps, lengthMs),
        destination: random.integer(0, destinations.length - 1),
        what,
        ...(what === "replay" && random.chance(0.5)
          ? { state: random.pick(["failed", "delivered"] as const) }
          : {}),
        perSecond: random.pick([1, 20, 200]),
      };
    }),
  run({ destination, what, state, perSecond }, { world, collector, destinations }) {
    const target = destinations[destination];
    if (target === undefined) return;
    world.note(`${what} of ${target.plan.name}`);
    const filter = { destinationId: target.id, ...(state === undefined ? {} : { state }) };
    collector.api("POST", "/operations", { kind: what, filter, perSecond }).catch(() => {});
  },
};

/** Some begin just before a crash. Others begin when everything else is over, and find all messages. */
function beginOf(random: Random, steps: readonly Step[], lengthMs: number): number {
  const crashes = steps.filter(({ kind }) => kind === "crash" || kind === "stop");
  if (crashes.length === 0 || random.chance(0.6)) return random.integer(0, lengthMs + 3_600_000);
  return Math.max(0, random.pick(crashes).atMs - random.integer(0, 1_000));
}
