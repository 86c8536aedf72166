import type { Behaviour } from "../../actors/sandboxes.js";
import { aim } from "../aim.js";
import type { CastDestination } from "../cast.js";
import { insist } from "../insist.js";
import type { StepKind } from "../steps.js";

/** Somebody saves code for a destination's transformation, and mends it later. */
export interface TransformationStep {
  readonly kind: "transformation";
  readonly atMs: number;
  readonly destination: number;
  readonly code: Behaviour;
  readonly forMs: number;
}

export const transformationSteps: StepKind<TransformationStep> = {
  kind: "transformation",
  plan: (random, scenario, lengthMs) =>
    scenario.destinations.flatMap(({ isTransformed }, destination) =>
      Array.from({ length: isTransformed ? random.integer(1, 3) : 0 }, () => ({
        kind: "transformation" as const,
        atMs: aim(random, scenario, lengthMs),
        destination,
        code: random.pick(["drops odd", "throws at odd", "throws at odd"] as const),
        forMs: random.pick([1_000, 60_000, 1_800_000]),
      })),
    ),
  run({ destination, code, forMs }, { world, collector, destinations }) {
    const target = destinations[destination];
    const { transformation } = target ?? {};
    if (target === undefined || transformation === undefined) return;
    const save = async (saved: Behaviour): Promise<void> => {
      transformation.saved.add(saved);
      world.note(`${target.plan.name} ${saved}`);
      const path = `/transformations/${transformation.id}`;
      inForce(target, await collector.api("PATCH", path, { code: saved }), world.elapsedMs);
    };
    save(code).catch(() => {});
    world.after(forMs, () => void insist(world, () => save("passes all")));
  },
};

/** The answer of the collector says which version is in force. */
export function inForce({ transformation }: CastDestination, answer: unknown, atMs: number): void {
  const { current } = answer as { readonly current: number };
  transformation?.answered.push({ version: current, atMs });
}
