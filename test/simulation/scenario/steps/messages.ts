import type { CallFields, CallKind } from "../../actors/sdk-run.js";
import type { Random } from "../../world/random.js";
import type { Theme } from "../scenario.js";
import type { StepKind } from "../steps.js";

/** Who a message names, of the person with a number. */
type Who =
  | "user"
  | "visitor"
  | "second visitor"
  | "both"
  | "shared device"
  | "user on shared device"
  | "former user"
  | "laptop"
  | "former user on laptop"
  | "alias";

/** An application sends messages of some people. */
export interface MessagesStep {
  readonly kind: "messages";
  readonly atMs: number;
  readonly sdk: number;
  readonly count: number;
  /** Milliseconds between two of them. */
  readonly everyMs: number;
  /** People have numbers from 0. */
  readonly users: number;
  /** By turns. */
  readonly who: readonly Who[];
}

const USERS: readonly Who[] = ["user"];
const VISITORS: readonly (readonly Who[])[] = [
  ["visitor"],
  ["visitor", "visitor", "both", "user"],
  ["visitor", "second visitor", "both", "second visitor", "user"],
  ["shared device", "user on shared device", "shared device"],
  ["former user", "former user", "alias", "user", "former user"],
  ["visitor", "former user", "both", "alias"],
];

/** Those that turn out to be the same, with all that they were before. */
const MERGING: typeof VISITORS = [
  ...VISITORS,
  ["laptop", "former user on laptop", "user", "alias", "laptop", "user"],
];

export const messagesSteps: StepKind<MessagesStep> = {
  kind: "messages",
  plan: (random, { sdks, theme }, lengthMs) =>
    Array.from({ length: random.integer(2, 8) }, () => ({
      kind: "messages" as const,
      atMs: random.integer(0, lengthMs),
      sdk: random.integer(0, sdks.length - 1),
      count: random.integer(1, 10),
      everyMs: random.pick([0, 0, 20, 1_000, 60_000]),
      users: random.integer(1, 4),
      who: anyWho(random, theme),
    })),
  run({ sdk, count, everyMs, users, who }, { world, sdks }) {
    for (let index = 0; index < count; index++) {
      const ids = idsOf(who[Math.floor(index / users) % who.length] ?? "user", index % users);
      world.after(index * everyMs, () => sdks[sdk]?.take(...messageOf(index, ids)));
    }
  },
};

function anyWho(random: Random, theme: Theme): readonly Who[] {
  if (theme !== "people" && theme !== "deletions") return random.chance(0.6) ? USERS : random.pick(VISITORS);
  return random.chance(0.1) ? USERS : random.pick(MERGING);
}

function messageOf(index: number, ids: CallFields): [CallKind, CallFields] {
  if (ids.previousId !== undefined) return ["alias", ids];
  if (index % 5 === 4 || (ids.userId !== undefined && ids.anonymousId !== undefined && index % 2 === 0))
    return ["identify", { ...ids, traits: { plan: index % 2 === 0 ? "free" : "pro" } }];
  const event = index % 7 === 3 ? "Rare" : "Happened";
  return ["track", { ...ids, event, properties: { n: index, odd: index % 2 === 1 } }];
}

function idsOf(who: Who, person: number): CallFields {
  const userId = `u${person}`;
  switch (who) {
    case "user":
      return { userId };
    case "visitor":
      return { anonymousId: `device${person}` };
    case "second visitor":
      return { anonymousId: `phone${person}` };
    case "both":
      return { userId, anonymousId: person % 2 === 0 ? `device${person}` : `phone${person}` };
    case "shared device":
      return { anonymousId: "tablet" };
    case "user on shared device":
      return { userId, anonymousId: "tablet" };
    case "former user":
      return { userId: `former${person}` };
    case "laptop":
      return { anonymousId: `laptop${person}` };
    case "former user on laptop":
      return { userId: `former${person}`, anonymousId: `laptop${person}` };
    case "alias":
      return { userId, previousId: `former${person}` };
  }
}
