import type { SdkActor } from "../../actors/sdk-actor.js";
import type { Random } from "../../world/random.js";
import { aim } from "../aim.js";
import type { StepKind } from "../steps.js";

/** An application calls something else of the SDK, ends in order, or its disk is in trouble. */
export interface ApplicationStep {
  readonly kind: "application";
  readonly atMs: number;
  readonly sdk: number;
  readonly what: ApplicationAct;
}

export type ApplicationAct =
  | { readonly do: "flush"; readonly timeoutMs?: number }
  | { readonly do: "ready" }
  | { readonly do: "disable"; readonly discards: boolean; readonly forMs: number }
  /** Calls with input that the SDK must refuse. */
  | { readonly do: "nonsense" }
  /** `close()`, perhaps with a `flush()` before and after it; the next process starts meanwhile, or when it has ended. */
  | {
      readonly do: "close";
      readonly timeoutMs: number;
      readonly flushes: boolean;
      readonly overlaps: boolean;
    }
  | { readonly do: "exit"; readonly downMs: number }
  /** The process, or its machine, ends in the middle of a change of the disk. */
  | { readonly do: "end in a write"; readonly changes: number; readonly cutsPower: boolean }
  | { readonly do: "cut power"; readonly downMs: number }
  | { readonly do: "fill disk"; readonly freeBytes: number; readonly forMs: number };

export const applicationSteps: StepKind<ApplicationStep> = {
  kind: "application",
  plan: (random, scenario, lengthMs) =>
    Array.from({ length: random.integer(0, 6) }, () => {
      const sdk = random.integer(0, scenario.sdks.length - 1);
      const atMs = aim(random, scenario, lengthMs);
      return {
        kind: "application" as const,
        atMs,
        sdk,
        what: anyAct(random, scenario.sdks[sdk]?.spools === true),
      };
    }),
  run({ sdk: index, what }, { world, sdks }) {
    const sdk = sdks[index];
    if (sdk === undefined) return;
    world.note(`${sdk.plan.name} ${what.do}`);
    const later = (ms: number, act: () => void): void => void world.after(ms, act);
    switch (what.do) {
      case "flush":
        return sdk.running?.flush(what.timeoutMs);
      case "ready":
        return sdk.running?.ready();
      case "disable": {
        const { running } = sdk;
        running?.setEnabled(false, what.discards);
        return later(what.forMs, () => running?.setEnabled(true, false));
      }
      case "nonsense":
        for (const input of NONSENSE) sdk.take("track", input);
        return;
      case "close":
        return close(sdk, what);
      case "exit":
        sdk.endNow();
        return later(what.downMs, () => sdk.start());
      case "end in a write":
        return sdk.endIn(what.changes, what.cutsPower);
      case "cut power":
        sdk.cutPower();
        return later(what.downMs, () => sdk.start());
      case "fill disk":
        sdk.disk.freeBytes = what.freeBytes;
        return later(what.forMs, () => {
          sdk.disk.freeBytes = Number.POSITIVE_INFINITY;
        });
    }
  },
};

function close(
  sdk: SdkActor,
  { timeoutMs, flushes, overlaps }: Extract<ApplicationAct, { do: "close" }>,
): void {
  const { running } = sdk;
  if (flushes) running?.flush(undefined);
  const closed = sdk.close(timeoutMs);
  if (flushes) running?.flush(1_000);
  running?.take("track", { userId: "u0", event: "Too late" });
  if (overlaps) sdk.start();
  else void closed.then(() => sdk.start());
}

const cycle: Record<string, unknown> = { userId: "u0", event: "Cycle" };
cycle.properties = { cycle };

/** What the SDK refuses at the call. */
const NONSENSE: readonly unknown[] = [
  undefined,
  "text",
  { event: "Nobody" },
  { userId: "u0" },
  { userId: "u0", event: "Too large", properties: { text: "x".repeat(40_000) } },
  cycle,
];

function anyAct(random: Random, spools: boolean): ApplicationAct {
  const downMs = random.pick([0, 500, 20_000, 600_000]);
  switch (random.integer(0, spools ? 8 : 5)) {
    case 0:
      return { do: "flush", ...(random.chance(0.5) ? {} : { timeoutMs: random.pick([0, 5, 500, 20_000]) }) };
    case 1:
      return { do: "ready" };
    case 2:
      return { do: "disable", discards: random.chance(0.5), forMs: random.pick([0, 500, 60_000]) };
    case 3:
      return { do: "nonsense" };
    case 4:
      return {
        do: "close",
        timeoutMs: random.pick([0, 10, 2_000, 60_000]),
        flushes: random.chance(0.5),
        overlaps: random.chance(0.3),
      };
    case 5:
      return { do: "exit", downMs };
    case 6:
      return { do: "end in a write", changes: random.integer(1, 12), cutsPower: random.chance(0.5) };
    case 7:
      return { do: "cut power", downMs };
    default:
      return {
        do: "fill disk",
        freeBytes: random.pick([0, 100, 700]),
        forMs: random.pick([500, 60_000, 3_600_000]),
      };
  }
}
