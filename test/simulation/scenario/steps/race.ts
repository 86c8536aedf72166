import { aim } from "../aim.js";
import type { StepKind } from "../steps.js";

/** The owner of a cluster is cut off without knowing it, goes on writing, and soon loses its lease to another process. */
export interface RaceStep {
  readonly kind: "race";
  readonly atMs: number;
  /** When it loses the lease. */
  readonly afterMs: number;
  readonly forMs: number;
}

/** Half of the runs have none. */
const HOW_MANY = [0, 1, 0, 1, 0, 2, 0, 3];

export const raceSteps: StepKind<RaceStep> = {
  kind: "race",
  plan: (random, scenario, lengthMs) =>
    Array.from({ length: scenario.store === "replicated" ? random.pick(HOW_MANY) : 0 }, () => ({
      kind: "race" as const,
      atMs: aim(random, scenario, lengthMs),
      afterMs: random.pick([20, 500, 5_000]),
      forMs: random.pick([10_000, 60_000]),
    })),
  run({ afterMs, forMs }, { world, cluster }) {
    const { owner } = cluster ?? {};
    if (cluster === undefined || owner === undefined) return;
    world.note(`${owner.name} race`);
    owner.network.reach = "silent";
    world.after(afterMs, () => void cluster.depose());
    world.after(forMs, () => {
      owner.network.reach = "connected";
    });
  },
};
