import { parentPort, workerData } from "node:worker_threads";
import { systemClock } from "@sluice/resilience";
import { type CallPort, type PlainFailure, serve } from "@sluice/resilience/node";
import { SandboxThread } from "./sandbox-thread.js";
import { useUtc } from "./use-utc.js";

useUtc();
const thread = new SandboxThread(workerData, systemClock, () => server.notify("running"));
const server = serve<SandboxThread, PlainFailure, "running">(
  parentPort as unknown as CallPort & { close(): void },
  thread,
);
