import type { Condition } from "@sluice/protocol";
import type { Random } from "../../world/random.js";
import { insist } from "../insist.js";
import type { StepKind } from "../steps.js";

/** An administrator creates an audience, changes its condition, or deletes it. */
export interface AudienceStep {
  readonly kind: "audience";
  readonly atMs: number;
  /** Which of the audiences of the scenario. */
  readonly slot: number;
  readonly what: "create" | "change" | "delete";
  readonly condition: Condition;
  /** Indexes of destinations. */
  readonly destinations: readonly number[];
}

const SLOTS = 2;
const HOUR_MS = 3_600_000;

export const audienceSteps: StepKind<AudienceStep> = {
  kind: "audience",
  plan: (random, { destinations }, lengthMs) =>
    Array.from({ length: random.chance(0.4) ? random.integer(1, 4) : 0 }, () => ({
      kind: "audience" as const,
      atMs: random.integer(0, lengthMs),
      slot: random.integer(0, SLOTS - 1),
      what: random.pick(["create", "create", "change", "delete"] as const),
      condition: anyCondition(random, 2),
      destinations: destinations.flatMap((_, index) => (random.chance(0.7) ? [index] : [])),
    })),
  run({ slot, what, condition, destinations }, cast) {
    const { world, collector, audiences } = cast;
    world.note(`audience ${slot}: ${what}`);
    const id = audiences.get(slot);
    if (what === "create") {
      if (id !== undefined) return;
      const body = {
        name: `audience ${slot} of ${world.elapsedMs}`,
        condition,
        destinationIds: destinations.flatMap((index) => cast.destinations[index]?.id ?? []),
      };
      audiences.set(slot, "");
      insist(world, () => collector.api("POST", "/audiences", body)).then((created) =>
        audiences.set(slot, (created as { id: string }).id),
      );
    } else if (id === undefined || id === "") return;
    else if (what === "change") collector.api("PATCH", `/audiences/${id}`, { condition }).catch(() => {});
    else {
      audiences.delete(slot);
      collector.api("DELETE", `/audiences/${id}`).catch(() => {});
    }
  },
};

function anyCondition(random: Random, depth: number): Condition {
  const kind = random.integer(0, depth > 0 ? 4 : 2);
  const part = (): Condition => anyCondition(random, depth - 1);
  if (kind === 0) return { kind: "trait", trait: "plan", is: "equals", value: random.pick(["free", "pro"]) };
  if (kind === 1) return { kind: "trait", trait: "plan", is: "exists", value: random.chance(0.5) };
  if (kind === 2) {
    const times = random.pick([{ atLeast: 1 }, { atLeast: 3 }, { atMost: 2 }, { exactly: 2 }]);
    // Most windows end before the run does, or long after it.
    const withinMs = random.pick([
      undefined,
      undefined,
      5 * 60_000,
      HOUR_MS,
      5 * HOUR_MS,
      12 * HOUR_MS,
      720 * HOUR_MS,
    ]);
    return { kind: "event", event: "Happened", times, ...(withinMs === undefined ? {} : { withinMs }) };
  }
  if (kind === 3) return { kind: "not", condition: part() };
  return { kind: random.pick(["and", "or"] as const), conditions: [part(), part()] };
}
