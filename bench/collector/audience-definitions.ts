import type { Definition } from "@sluice/audiences";
import type { Condition } from "@sluice/protocol";

/** The track events of the load. Each audience mentions two of them. */
export const EVENTS = Array.from({ length: 40 }, (_, event) => `Event ${event}`);
const DAY_MS = 24 * 60 * 60 * 1_000;

/** The condition of the audience with this number: five conditions, one of them with a time window. */
export function conditionOf(number: number): Condition {
  const event = (place: number): string => EVENTS[(number * 7 + place * 3) % EVENTS.length] ?? "";
  return {
    kind: "or",
    conditions: [
      {
        kind: "and",
        conditions: [
          { kind: "trait", trait: "plan", is: "equals", value: number % 2 === 0 ? "pro" : "team" },
          { kind: "event", event: event(0), times: { atLeast: 2 + (number % 3) }, withinMs: 7 * DAY_MS },
          {
            kind: "not",
            condition: { kind: "trait", trait: "seats", is: "less", value: 10 + (number % 40) },
          },
        ],
      },
      {
        kind: "event",
        event: event(1),
        times: { atLeast: 5 + (number % 5) },
        where: [{ property: "price", is: "greater", value: 50 }],
      },
      { kind: "trait", trait: "country", is: "in", value: [`c${number % 100}`, "nowhere"] },
    ],
  };
}

export function definitions(count: number, destinationIds: readonly string[]): Definition[] {
  return Array.from({ length: count }, (_, number) => ({
    id: `aud_${number}`,
    kind: "audience" as const,
    document: {
      name: `Audience ${number}`,
      key: `audience_${number}`,
      condition: conditionOf(number),
      destinationIds,
      sync: { initialDelayMs: 0, everyMs: 0 },
      trackEvents: false,
      enabled: true,
      paused: false,
      createdAt: new Date(0).toISOString(),
    },
  }));
}

/** Pseudo-random numbers that are the same in every run. */
export function sequence(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state % below;
  };
}

export function identify(user: number, random: (below: number) => number): object {
  const plan = ["free", "pro", "team"][random(3)];
  return {
    type: "identify",
    userId: `user-${user}`,
    traits: {
      plan,
      seats: random(60),
      country: `c${random(2_000)}`,
      email: `user-${user}@example.com`,
      name: `User Number ${user}`,
    },
  };
}

export function track(user: number, random: (below: number) => number): object {
  return {
    type: "track",
    userId: `user-${user}`,
    event: EVENTS[random(EVENTS.length)],
    properties: { price: random(100), sku: `sku-${random(1_000)}`, quantity: 1 + random(3) },
  };
}
