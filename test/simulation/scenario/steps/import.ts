import type { Dialect } from "../../actors/sdk-actor.js";
import type { StepKind } from "../steps.js";

/** A client sends messages again that it sent before, together with new ones. */
export interface ImportStep {
  readonly kind: "import";
  readonly atMs: number;
  readonly sdk: number;
  readonly again: number;
  readonly fresh: number;
  readonly dialect: Dialect;
}

export const importSteps: StepKind<ImportStep> = {
  kind: "import",
  plan: (random, { sdks, store }, lengthMs) =>
    Array.from({ length: random.chance(0.5) ? random.integer(1, 3) : 0 }, () => ({
      kind: "import" as const,
      atMs: random.integer(0, lengthMs),
      sdk: random.integer(0, sdks.length - 1),
      // With retention, also messages that are gone by then.
      again: random.integer(0, store === "embedded" ? 40 : 5),
      fresh: random.integer(1, 3),
      dialect: random.pick(["batch", "key in body", "one each"] as const),
    })),
  run({ sdk, again, fresh, dialect }, { sdks }) {
    sdks[sdk]?.sendAgain(again, fresh, dialect);
  },
};
