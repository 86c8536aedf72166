import type { StepKind } from "../steps.js";

/** An application sends messages of some users. */
export interface MessagesStep {
  readonly kind: "messages";
  readonly atMs: number;
  readonly sdk: number;
  readonly count: number;
  /** Milliseconds between two of them. */
  readonly everyMs: number;
  /** Users are u0, u1, … */
  readonly users: number;
}

export const messagesSteps: StepKind<MessagesStep> = {
  kind: "messages",
  plan: (random, { sdks }, lengthMs) =>
    Array.from({ length: random.integer(2, 8) }, () => ({
      kind: "messages" as const,
      atMs: random.integer(0, lengthMs),
      sdk: random.integer(0, sdks.length - 1),
      count: random.integer(1, 10),
      everyMs: random.pick([0, 0, 20, 1_000, 60_000]),
      users: random.integer(1, 4),
    })),
  run({ sdk, count, everyMs, users }, { world, sdks }) {
    for (let index = 0; index < count; index++) {
      const userId = `u${index % users}`;
      world.after(index * everyMs, () => {
        if (index % 5 === 4)
          sdks[sdk]?.take("identify", { userId, traits: { plan: index % 2 === 0 ? "free" : "pro" } });
        else
          sdks[sdk]?.take("track", {
            userId,
            event: "Happened",
            properties: { n: index, odd: index % 2 === 1 },
          });
      });
    }
  },
};
