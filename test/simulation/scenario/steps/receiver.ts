import type { Behaviour } from "../../actors/receivers.js";
import type { Random } from "../../world/random.js";
import type { Theme } from "../scenario.js";
import type { StepKind } from "../steps.js";

/** A receiver behaves in some way for a while, and then takes everything again. Or it is dead until the end of the run. */
export interface ReceiverStep {
  readonly kind: "receiver";
  readonly atMs: number;
  readonly destination: number;
  readonly url: number;
  readonly behaviour: Behaviour;
  /** Absent: to the end. */
  readonly forMs?: number;
}

export const receiverSteps: StepKind<ReceiverStep> = {
  kind: "receiver",
  plan: (random, { destinations, theme }, lengthMs) =>
    Array.from({ length: random.integer(0, 6) }, () => {
      const destination = random.integer(0, destinations.length - 1);
      const isDead = random.chance(0.05);
      return {
        kind: "receiver" as const,
        atMs: random.integer(0, lengthMs),
        destination,
        url: random.integer(0, (destinations[destination]?.urls ?? 1) - 1),
        behaviour: isDead ? random.pick(DEAD) : behaviourIn(theme, random),
        ...(isDead ? {} : { forMs: random.pick([5_000, 60_000, 600_000, 2 * 3_600_000, 9 * 3_600_000]) }),
      };
    }),
  run({ destination, url, behaviour, forMs }, { world, receivers, destinations }) {
    const address = destinations[destination]?.urls[url];
    if (address === undefined) return;
    const receiver = receivers.of(address);
    if (receiver.isDead) return;
    receiver.behaviour = behaviour;
    receiver.isDead = forMs === undefined;
    world.note(`${address} ${behaviour.kind}`);
    if (forMs === undefined) return;
    world.after(forMs, () => {
      if (receiver.behaviour !== behaviour || receiver.isDead) return;
      receiver.behaviour = { kind: "takes" };
      world.note(`${address} takes`);
    });
  },
};

const DEAD: readonly Behaviour[] = [
  { kind: "down" },
  { kind: "silent" },
  { kind: "answers", status: 500, share: 1 },
];

function behaviourIn(theme: Theme, random: Random): Behaviour {
  if (theme === "waits" && random.chance(0.7)) return askingToWait(random);
  if (theme === "deletions" && random.chance(0.5))
    return { kind: "slow", ms: random.pick([100, 2_000, 4_900]) };
  return anyBehaviour(random);
}

function anyBehaviour(random: Random): Behaviour {
  switch (random.integer(0, 5)) {
    case 0:
      return { kind: "silent" };
    case 1:
      return { kind: "slow", ms: random.pick([100, 2_000, 4_900, 6_000]) };
    case 2:
      return { kind: "down" };
    case 3:
      return { kind: "answers", status: random.pick([400, 404, 501]), share: random.pick([0.3, 1]) };
    case 4:
      return askingToWait(random);
    default:
      return { kind: "answers", status: random.pick([500, 502, 503]), share: random.pick([0.2, 0.9, 1]) };
  }
}

function askingToWait(random: Random): Behaviour {
  return {
    kind: "answers",
    status: random.pick([429, 503]),
    share: random.pick([0.5, 1]),
    retryAfter: random.pick(["1", "120", "7200", "999999"]),
  };
}
