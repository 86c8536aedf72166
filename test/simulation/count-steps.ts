import type { Scenario } from "./scenario/scenario.js";
import type { Step } from "./scenario/steps.js";

/** What the steps of a kind are called in a summary. */
const NAMES: Record<Step["kind"], string> = {
  crash: "crashes",
  stop: "stops in order",
  clock: "clocks set",
  disk: "disks that fail or are slow",
  network: "networks in trouble",
  receiver: "receivers in trouble",
  cluster: "troubles of a cluster",
  race: "takeovers while the owner writes",
  settings: "changes of a destination",
  transformation: "saved code of transformations",
  operation: "bulk retries and replays",
  deletion: "deletions",
  retention: "changes of retention",
  audience: "changes of an audience",
  import: "imports",
  application: "acts of an application",
  source: "changes of a source",
  warehouse: "troubles of a destination with batches",
  messages: "bursts of messages",
  front: "fronts that ask to wait",
  worker: "threads in trouble",
};

const STORES: readonly Scenario["store"][] = ["memory", "embedded", "replicated"];
const nameOf = (store: Scenario["store"]): string => `with the ${store} store`;

/** What the runs of these scenarios tried, as a line each: the stores, and the steps. */
export function triedIn(scenarios: readonly Scenario[]): string[] {
  const stores = new Map<string, number>(STORES.map((store) => [nameOf(store), 0]));
  const steps = new Map<string, number>(Object.values(NAMES).map((name) => [name, 0]));
  for (const scenario of scenarios) {
    count(stores, nameOf(scenario.store));
    for (const { kind } of scenario.steps) count(steps, NAMES[kind]);
  }
  return [`runs: ${listOf(stores)}`, `steps: ${listOf(steps)}`];
}

function count(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}

function listOf(counts: ReadonlyMap<string, number>): string {
  return [...counts].map(([name, times]) => `${times} ${name}`).join(", ");
}
