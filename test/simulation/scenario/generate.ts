import type { SdkPlan } from "../actors/sdk-actor.js";
import { type Random, seededRandom } from "../world/random.js";
import type { DestinationPlan, Scenario, Theme } from "./scenario.js";
import { STEP_KINDS, type Step, type StepKind } from "./steps.js";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** The others have the store in memory, which nobody runs: it shows where the shipped ones differ from their double. */
const EMBEDDED_SHARE = 0.65;
const REPLICATED_SHARE = 0.25;
const THEMES: readonly Theme[] = [
  "any",
  "any",
  "any",
  "any",
  "any",
  "any",
  "people",
  "people",
  "deletions",
  "waits",
];
const WAREHOUSE_SHARE = 0.4;
/** Of the runs with the embedded store. */
const SPREAD_SHARE = 0.35;
const WORKERS = 3;

/** What the seed does not decide. */
interface Given {
  readonly store?: Scenario["store"] | undefined;
  readonly theme?: Theme | undefined;
  /** How many threads work, if the store allows more than one. */
  readonly workers?: number | undefined;
}

/** Makes the scenario of a seed. */
export function generate(seed: number, given: Given = {}): Scenario {
  const random = seededRandom(seed, "scenario");
  const theme = given.theme ?? random.fork("theme").pick(THEMES);
  const sources = random.integer(1, 2);
  const store = given.store ?? anyStore(random.fork("store"));
  const spread = random.fork("workers").chance(SPREAD_SHARE) ? WORKERS : 1;
  const workers = store === "embedded" ? (given.workers ?? spread) : 1;
  const cast: Scenario = {
    ...{ seed, theme, store, sources, workers },
    sdks: Array.from({ length: random.integer(1, 2) }, (_, index) => anySdk(random, index, sources)),
    destinations: Array.from({ length: random.integer(1, 3) }, (_, index) =>
      anyDestination(random, index, sources, theme),
    ),
    ...anyWarehouse(random.fork("warehouse"), sources),
    steps: [],
  };
  const lengthMs = random.pick([10 * MINUTE_MS, HOUR_MS, 3 * HOUR_MS, 8 * HOUR_MS]);
  const steps: Step[] = [];
  for (const kind of STEP_KINDS) {
    const planned = (kind as unknown as StepKind<Step>).plan(
      random.fork(kind.kind),
      { ...cast, steps },
      lengthMs,
    );
    steps.push(...planned);
  }
  return { ...cast, steps: steps.sort((a, b) => a.atMs - b.atMs) };
}

function anyStore(random: Random): Scenario["store"] {
  const place = random.next();
  if (place < EMBEDDED_SHARE) return "embedded";
  return place < 1 - REPLICATED_SHARE ? "memory" : "replicated";
}

function anySdk(random: Random, index: number, sources: number): SdkPlan {
  return {
    name: `app${index}`,
    source: random.integer(0, sources - 1),
    flushAt: random.pick([1, 5, 20]),
    flushAfterMs: random.pick([0, 1_000, 5_000]),
    maxInFlight: random.pick([1, 1, 4]),
    maxRetries: random.pick([0, 3, 10]),
    maxTotalRetryMs: random.pick([MINUTE_MS, 12 * HOUR_MS]),
    maxQueueSize: random.pick([10, 10_000]),
    eager: random.chance(0.3),
    spools: random.chance(0.5),
    spoolBytes: random.pick([1_500, 1_000_000]),
    hooks: random.pick(["none", "none", "sync", "async"]),
  };
}

function anyWarehouse(random: Random, sources: number): Pick<Scenario, "warehouse"> {
  if (!random.chance(WAREHOUSE_SHARE)) return {};
  return {
    warehouse: {
      sources: Array.from({ length: sources }, (_, source) => source),
      maxMessages: random.pick([2, 5, 20]),
      maxAgeMs: random.pick([100, 1_000, 30_000]),
      retryForMs: random.pick([30 * MINUTE_MS, 4 * HOUR_MS]),
      usual: random.pick(["takes", "sorts"]),
    },
  };
}

function anyDestination(random: Random, index: number, sources: number, theme: Theme): DestinationPlan {
  return {
    name: `d${index}`,
    sources: Array.from({ length: sources }, (_, source) => source).filter(
      (source) => source === index % sources || random.chance(0.5),
    ),
    order: random.pick(["none", "user"]),
    // Of a slow receiver, copies wait in memory.
    concurrency: theme === "deletions" ? 1 : random.pick([1, 2, 50]),
    retryForMs: random.pick([MINUTE_MS, 30 * MINUTE_MS, 4 * HOUR_MS]),
    dropsOdd: random.chance(0.2),
    isTransformed: random.fork(`transformation ${index}`).chance(0.15),
    urls: theme === "waits" ? 2 : random.pick([1, 1, 1, 2]),
    success: random.pick(["any", "each"]),
  };
}
