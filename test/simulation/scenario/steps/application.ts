import type { SdkActor } from "../../actors/sdk-actor.js";
import { FAIR, type Weather } from "../../world/link.js";
import type { Random } from "../../world/random.js";
import type { World } from "../../world/world.js";
import { aim } from "../aim.js";
import type { StepKind } from "../steps.js";

/** An application calls something else of the SDK, ends in order, or its disk is in trouble. */
export interface ApplicationStep {
  readonly kind: "application";
  readonly atMs: number;
  readonly sdk: number;
  /** Its network is cut for so long before, while it goes on with calls: what it does then finds messages that wait. */
  readonly offlineMs: number;
  readonly what: ApplicationAct;
}

export type ApplicationAct =
  | { readonly do: "flush"; readonly timeoutMs?: number }
  | { readonly do: "ready" }
  | { readonly do: "disable"; readonly discards: boolean; readonly forMs: number }
  /** Calls with input that the SDK must refuse. */
  | { readonly do: "nonsense" }
  /** `close()`, perhaps with a `flush()` before and after it, or a discard before it; the next process starts meanwhile, or when it has ended. */
  | {
      readonly do: "close";
      readonly timeoutMs: number;
      readonly flushes: boolean;
      readonly discards: boolean;
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
        offlineMs: random.chance(0.4) ? random.pick([50, 2_000, 90_000]) : 0,
        what: anyAct(random, scenario.sdks[sdk]?.spools === true),
      };
    }),
  run({ sdk: index, offlineMs, what }, { world, sdks }) {
    const sdk = sdks[index];
    if (sdk === undefined) return;
    if (offlineMs === 0) return act(sdk, what, world);
    world.note(`${sdk.plan.name} offline`);
    sdk.link.weather = OFFLINE;
    for (let call = 0; call < CALLS_OFFLINE; call++)
      world.after((call * offlineMs) / CALLS_OFFLINE, () =>
        sdk.take("track", { userId: "u0", event: "Happened" }),
      );
    world.after(offlineMs, () => {
      act(sdk, what, world);
      if (sdk.link.weather === OFFLINE) sdk.link.weather = FAIR;
    });
  },
};

const OFFLINE: Weather = { ...FAIR, cutRequest: 1 };
const CALLS_OFFLINE = 12;

function act(sdk: SdkActor, what: ApplicationAct, world: World): void {
  world.note(`${sdk.plan.name} ${what.do}`);
  const { running } = sdk;
  switch (what.do) {
    case "flush":
      running?.flush(what.timeoutMs);
      break;
    case "ready":
      running?.ready();
      break;
    case "disable":
      running?.setEnabled(false, what.discards);
      if (what.forMs > 0) world.after(what.forMs, () => running?.setEnabled(true, false));
      else {
        running?.setEnabled(true, false);
        for (const event of ["Happened", "Rare"]) sdk.take("track", { userId: "u0", event });
      }
      break;
    case "nonsense":
      for (const input of NONSENSE) sdk.take("track", input);
      break;
    case "close":
      close(sdk, what);
      break;
    case "exit":
      sdk.endNow();
      world.after(what.downMs, () => sdk.start());
      break;
    case "end in a write":
      sdk.endIn(what.changes, what.cutsPower);
      break;
    case "cut power":
      sdk.cutPower();
      world.after(what.downMs, () => sdk.start());
      break;
    case "fill disk":
      sdk.disk.freeBytes = what.freeBytes;
      world.after(what.forMs, () => {
        sdk.disk.freeBytes = Number.POSITIVE_INFINITY;
      });
      break;
    default:
      what satisfies never;
  }
}

function close(
  sdk: SdkActor,
  { timeoutMs, flushes, discards, overlaps }: Extract<ApplicationAct, { do: "close" }>,
): void {
  const { running } = sdk;
  if (flushes) running?.flush(undefined);
  if (flushes) running?.ready();
  if (discards) running?.setEnabled(false, true);
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
        discards: random.chance(0.3),
        overlaps: random.chance(0.5),
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
