import { parentPort, workerData } from "node:worker_threads";
import { systemClock } from "@sluice/resilience";
import { type CallPort, type PlainFailure, serve } from "@sluice/resilience/node";
import { type RunNotice, SandboxThread } from "./sandbox-thread.js";

useUtc();
const thread = new SandboxThread(workerData, systemClock, (beforeMs) => server.notify(beforeMs));
const server = serve<SandboxThread, PlainFailure, RunNotice>(
  parentPort as unknown as CallPort & { close(): void },
  thread,
);

/**
 * Lets this thread's `Date` show UTC as local time. The VM asks it for the local time, and a result must not depend on where it runs; the
 * `TZ` of a process does not reach threads that are running.
 */
function useUtc(): void {
  const own = Date.prototype as unknown as Record<string, unknown>;
  for (const part of ["FullYear", "Month", "Date", "Day", "Hours", "Minutes", "Seconds", "Milliseconds"])
    own[`get${part}`] = own[`getUTC${part}`];
  own.getTimezoneOffset = () => 0;
}
