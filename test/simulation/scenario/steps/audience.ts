import type { Condition } from "@sluice/protocol";
import type { Random } from "../../world/random.js";
import { insist } from "../insist.js";
import type { StepKind } from "../steps.js";

/** An administrator creates an audience, changes its condition, or deletes it; or creates a computed trait, which counts events. */
export interface AudienceStep {
  readonly kind: "audience";
  readonly atMs: number;
  /** Which of the audiences of the scenario. */
  readonly slot: number;
  readonly what: "create" | "change" | "delete" | "count";
  readonly condition: Condition;
  /** Of a count: only events of the last so many milliseconds. Absent: all. */
  readonly withinMs?: number;
  /** Indexes of destinations. */
  readonly destinations: readonly number[];
}

const SLOTS = 2;
const CHANGING = ["create", "create", "change", "delete"] as const;
const GROWING = ["create", "count", "count"] as const;
const HOUR_MS = 3_600_000;

export const audienceSteps: StepKind<AudienceStep> = {
  kind: "audience",
  plan: (random, { destinations, theme }, lengthMs) =>
    Array.from({ length: random.chance(theme === "people" ? 1 : 0.4) ? random.integer(1, 4) : 0 }, () => ({
      kind: "audience" as const,
      // Those who exist before the people turn out to be the same must be told of it.
      atMs: random.integer(0, theme === "people" ? lengthMs / 4 : lengthMs),
      slot: random.integer(0, SLOTS - 1),
      what: theme === "people" ? random.pick(GROWING) : random.pick(CHANGING),
      condition: anyCondition(random, 2),
      ...(theme === "people" && random.chance(0.5)
        ? { withinMs: random.pick([5 * 60_000, HOUR_MS, 5 * HOUR_MS]) }
        : {}),
      destinations: destinations.flatMap((_, index) => (random.chance(0.7) ? [index] : [])),
    })),
  run({ slot, what, condition, withinMs, destinations }, cast) {
    const { world, collector, audiences } = cast;
    world.note(`audience ${slot}: ${what}`);
    const destinationIds = destinations.flatMap((index) => cast.destinations[index]?.id ?? []);
    if (what === "count") {
      const trait = {
        ...{ name: `count of ${world.elapsedMs}`, kind: "count", event: "Happened", destinationIds },
        ...(withinMs === undefined ? {} : { withinMs }),
      };
      void insist(world, () => collector.api("POST", "/computed-traits", trait));
      return;
    }
    const id = audiences.get(slot);
    if (what === "create") {
      if (id !== undefined) return;
      const body = {
        name: `audience ${slot} of ${world.elapsedMs}`,
        condition,
        destinationIds,
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
