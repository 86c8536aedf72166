import type { Random } from "../../world/random.js";
import { aim } from "../aim.js";
import { insist } from "../insist.js";
import type { Scenario } from "../scenario.js";
import type { StepKind } from "../steps.js";

/** An administrator deletes a user, or a visitor who was never identified. */
export interface DeletionStep {
  readonly kind: "deletion";
  readonly atMs: number;
  readonly userId?: string;
  readonly anonymousId?: string;
  /** Later messages are suppressed, too. */
  readonly suppress: boolean;
}

const USERS = ["u0", "u0", "u1", "u2", "u3", "former0", "former1"];
const VISITORS = ["device0", "phone1", "tablet"];

export const deletionSteps: StepKind<DeletionStep> = {
  kind: "deletion",
  plan: (random, scenario, lengthMs) =>
    Array.from({ length: howMany(random, scenario) }, () => ({
      kind: "deletion" as const,
      atMs: scenario.theme === "deletions" ? aim(random, scenario, lengthMs) : random.integer(0, lengthMs),
      ...(random.chance(0.8) ? { userId: random.pick(USERS) } : { anonymousId: random.pick(VISITORS) }),
      suppress: random.chance(0.2),
    })),
  run({ userId, anonymousId, suppress }, { world, collector, history }) {
    const identity = userId === undefined ? `a:${anonymousId}` : `u:${userId}`;
    world.note(`deletion of ${identity}`);
    const requestedAtMs = world.elapsedMs;
    const ids = userId === undefined ? { anonymousIds: [anonymousId] } : { userIds: [userId] };
    if (suppress) history.suppressed.add(identity);
    insist(world, () => collector.api("POST", "/deletions", { ...ids, suppress })).then((created) => {
      history.deletions.push({
        id: (created as { id: string }).id,
        identity,
        requestedAtMs,
        answeredAtMs: world.elapsedMs,
      });
    });
  },
};

function howMany(random: Random, { theme }: Scenario): number {
  if (theme === "people") return 0;
  if (theme === "deletions") return random.integer(1, 4);
  return random.chance(0.3) ? random.integer(1, 2) : 0;
}
