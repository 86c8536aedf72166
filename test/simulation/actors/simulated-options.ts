import { type CollectorOptions, createLogger } from "@sluice/collector";
import type { Clock } from "@sluice/resilience";
import { sleepWith } from "../../../packages/resilience/src/clock.js";
import type { ProcessClock } from "../world/machine.js";
import type { World } from "../world/world.js";
import { ADMIN_TOKEN } from "./call-api.js";
import type { History } from "./history.js";
import type { Receivers } from "./receivers.js";
import { simulatedSandboxes } from "./sandboxes.js";

const SECRET_KEY = "5a".repeat(32);

/** What every simulated collector has. */
export function optionsOfProcess(
  world: World,
  history: History,
  clock: ProcessClock,
): Omit<CollectorOptions, "dataDirectory"> {
  return {
    mode: "production",
    host: "127.0.0.1",
    port: 0,
    // Nobody asks for it. To look for the built one would be a large part of a start.
    dashboardDirectory: import.meta.dirname,
    logger: createLogger({
      level: "error",
      now: clock.now,
      write: (line) => history.errors.push(`${world.elapsedMs} ${line.trim()}`),
    }),
    adminToken: ADMIN_TOKEN,
    secretKey: SECRET_KEY,
    readDisk: async () => ({ freeBytes: 2 ** 40, totalBytes: 2 ** 41 }),
    resolve: async () => [{ address: "198.41.0.4", family: 4 }],
  };
}

export interface RunParts {
  readonly world: World;
  readonly history: History;
  readonly receivers: Receivers;
  readonly clock: ProcessClock;
  readonly run: number;
  /** What only watches has no part in any promise. Its ticks every two seconds would be most of the work of a run. */
  readonly watchersAreSlowerBy: number;
}

/** What one run of a collector has: a process that owns a cluster has several. */
export function optionsOfRun({ world, history, receivers, clock, run, watchersAreSlowerBy }: RunParts) {
  return {
    openSandboxes: async () => simulatedSandboxes({ world, history }, run, clock),
    clock,
    watchClock: slowed(clock, watchersAreSlowerBy),
    openEndpoint: receivers.endpointsOf(run, () => clock.isAlive),
    destinations: receivers.batches === undefined ? [] : [receivers.batches(run, () => clock.isAlive)],
  } satisfies Partial<CollectorOptions>;
}

/** A clock whose timers fire later. Its readings are those of `clock`. */
export function slowed(clock: Clock, by: number, fromMs = 0): Clock {
  const after: Clock["after"] = (ms, callback) => clock.after(ms < fromMs ? ms : ms * by, callback);
  return { ...clock, after, sleep: (ms, signal) => sleepWith(after, ms, signal) };
}
