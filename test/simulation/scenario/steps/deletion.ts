import type { Random } from "../../world/random.js";
import { aim } from "../aim.js";
import type { Cast } from "../cast.js";
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
  /** The user goes on meanwhile. Absent: as the other steps say. */
  readonly meanwhile?: Meanwhile;
}

/** Copies of the user's messages wait in memory, because a destination is slow, and others arrive during the deletion. */
interface Meanwhile {
  readonly sdk: number;
  readonly destination: number;
  readonly before: number;
  readonly after: number;
}

/** How long before the deletion the user begins, and how long the destination is slow, in milliseconds. */
const BEFORE_MS = 8_000;
const SLOW_MS = 4_000;
const SLOW_FOR_MS = 120_000;
const EVERY_MS = 7;

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
      ...anyMeanwhile(random, scenario),
    })),
  run({ meanwhile, ...step }, cast) {
    if (meanwhile === undefined) {
      ask(step, cast);
      return;
    }
    const { world, sdks, destinations, receivers } = cast;
    for (const url of destinations[meanwhile.destination]?.urls ?? []) {
      const receiver = receivers.of(url);
      const slow = { kind: "slow", ms: SLOW_MS } as const;
      if (!receiver.isDead) receiver.behaviour = slow;
      world.after(SLOW_FOR_MS, () => {
        if (receiver.behaviour === slow) receiver.behaviour = { kind: "takes" };
      });
    }
    const { kind: _, atMs: __, suppress: ___, ...ids } = step;
    const send = (inMs: number, n: number): void => {
      const properties = { n, odd: false };
      world.after(inMs, () => sdks[meanwhile.sdk]?.take("track", { ...ids, event: "Happened", properties }));
    };
    for (let n = 0; n < meanwhile.before; n++) send(n * EVERY_MS, n);
    world.after(BEFORE_MS, () => ask(step, cast));
    for (let n = 0; n < meanwhile.after; n++) send(BEFORE_MS + n * EVERY_MS, n);
  },
};

function ask({ userId, anonymousId, suppress }: DeletionStep, { world, collector, history }: Cast): void {
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
}

function anyMeanwhile(
  random: Random,
  { theme, store, sdks, destinations }: Scenario,
): Pick<DeletionStep, "meanwhile"> {
  if (theme !== "deletions" || store !== "embedded") return {};
  return {
    meanwhile: {
      sdk: random.integer(0, sdks.length - 1),
      destination: random.integer(0, destinations.length - 1),
      before: random.integer(2, 8),
      after: random.integer(0, 12),
    },
  };
}

function howMany(random: Random, { theme }: Scenario): number {
  if (theme === "people") return 0;
  if (theme === "deletions") return random.integer(1, 4);
  return random.chance(0.3) ? random.integer(1, 2) : 0;
}
