import { insist } from "../insist.js";
import type { StepKind } from "../steps.js";

/** An administrator deletes a user. */
export interface DeletionStep {
  readonly kind: "deletion";
  readonly atMs: number;
  readonly user: string;
}

export const deletionSteps: StepKind<DeletionStep> = {
  kind: "deletion",
  plan: (random, _, lengthMs) =>
    Array.from({ length: random.chance(0.3) ? random.integer(1, 2) : 0 }, () => ({
      kind: "deletion" as const,
      atMs: random.integer(0, lengthMs),
      user: `u${random.integer(0, 3)}`,
    })),
  run({ user }, { world, collector, history }) {
    world.note(`deletion of ${user}`);
    const requestedAtMs = world.elapsedMs;
    insist(world, () => collector.api("POST", "/deletions", { userIds: [user] })).then((created) => {
      history.deletions.push({
        id: (created as { id: string }).id,
        user,
        requestedAtMs,
        answeredAtMs: world.elapsedMs,
      });
    });
  },
};
