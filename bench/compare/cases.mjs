/**
 * What is compared. `open(build)` starts what a case needs from the built clone in the folder `build`, and returns `run`, which does the
 * same work each time and resolves with CPU microseconds per message (of a start: per start), and `close`.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { askWhenIdle } from "../collector/cpu-time.mjs";
import { forked } from "../collector/forked.mjs";
import { runLoad } from "../collector/run-load.mjs";
import { spawnCollector } from "../collector/started-collector.mjs";
import { forkServer } from "../sdk/fork-server.mjs";
import { runScript } from "../sdk/run-script.mjs";

/** Only ends a load that a busy machine makes slow; the number of requests ends it otherwise. */
const LONGEST_LOAD_SECONDS = 20;
// The same option as `sluice collector` uses.
const FLAGS = ["--max-semi-space-size=32"];
const SDK_MESSAGES = 60_000;

const serverOf = (build, script) =>
  forked(new URL(`../collector/${script}`, import.meta.url), [], FLAGS, { SLUICE_BENCH_BUILD: build });

/** CPU per message of a server, until it is idle: what it does after its answers counts too. */
async function cpuOf(server, messages, work) {
  await askWhenIdle(server);
  server.tell({ mark: true });
  await work();
  return ((await askWhenIdle(server)).cpuSeconds * 1e6) / messages;
}

async function openIngestion(build, load) {
  const server = serverOf(build, "ingest-collector.mjs");
  const ready = await server.ready;
  const run = () =>
    cpuOf(server, load.requests * load.events, () =>
      runLoad({ ...load, ...ready, seconds: LONGEST_LOAD_SECONDS }),
    );
  await run();
  return { run, close: server.end };
}

async function openDelivery(build) {
  const receiver = forked(new URL("../collector/delivery-receiver.mjs", import.meta.url));
  const {
    ports: [port],
  } = await receiver.ask({ listen: 1 });
  const server = serverOf(build, "delivery-collector.mjs");
  const ready = await server.ready;
  const {
    ids: [id],
  } = await server.ask({ destinations: [`http://127.0.0.1:${port}/hook`], settings: { concurrency: 50 } });
  const close = () => Promise.all([server.end(), receiver.end()]);
  return { receiver, port, server, ready, id, close };
}

async function openEndToEnd(build, load) {
  const { receiver, port, server, ready, close } = await openDelivery(build);
  const messages = load.requests * load.events;
  let received = 0;
  const run = () =>
    cpuOf(server, messages, async () => {
      await runLoad({ ...load, ...ready, isStamped: true, seconds: LONGEST_LOAD_SECONDS });
      received += messages;
      await receiver.ask({ port, until: received });
    });
  await run();
  return { run, close };
}

/** Messages that waited for their receiver. */
async function openDrain(build, messages) {
  const { receiver, port, server, id, close } = await openDelivery(build);
  let received = 0;
  const run = async () => {
    receiver.tell({ port, mode: "fail" });
    await server.ask({ append: messages });
    return cpuOf(server, messages, async () => {
      receiver.tell({ port, mode: "ok" });
      await server.ask({ wake: id });
      received += messages;
      await receiver.ask({ port, until: received });
    });
  };
  await run();
  return { run, close };
}

function cpuSecondsOf(pid) {
  const nanoseconds = readdirSync(`/proc/${pid}/task`).map((task) =>
    Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, "utf8").split(" ")[0]),
  );
  return nanoseconds.reduce((sum, one) => sum + one, 0) / 1e9;
}

/** CPU of the process until it accepts requests, on an empty folder. */
async function openStart(build) {
  const run = async () => {
    const folder = mkdtempSync(join(tmpdir(), "sluice-start-"));
    const collector = spawnCollector([join(build, "apps/collector/dist/main.js")], folder);
    await collector.listening;
    const cpuMicros = cpuSecondsOf(collector.pid) * 1e6;
    await collector.end("SIGTERM");
    rmSync(folder, { recursive: true });
    return cpuMicros;
  };
  await run();
  return { run, close: async () => {} };
}

async function openSdk(build) {
  const run = async () => {
    const server = await forkServer();
    const args = ["clients/sluice", "stream", SDK_MESSAGES, server.url];
    const { cpuMicros, warmUp } = await runScript("one-run.mjs", args, {
      flags: ["--expose-gc"],
      env: { SLUICE_BENCH_BUILD: build },
    });
    const { messages } = await server.totals();
    server.close();
    if (messages - warmUp !== SDK_MESSAGES)
      throw new Error(`${messages - warmUp} of ${SDK_MESSAGES} messages arrived`);
    return cpuMicros;
  };
  return { run, close: async () => {} };
}

const ingestion = (load) => (build) => openIngestion(build, load);
const endToEnd = (load) => (build) => openEndToEnd(build, load);

export const CASES = {
  "batches of 100, 16 connections": ingestion({ events: 100, connections: 16, requests: 600 }),
  "single messages, 16 connections": ingestion({ events: 1, connections: 16, requests: 8_000 }),
  "single messages, 64 connections": ingestion({ events: 1, connections: 64, requests: 15_000 }),
  "end to end, 500/s": endToEnd({ events: 10, connections: 8, requests: 200, requestsPerSecond: 50 }),
  "end to end, 5,000/s": endToEnd({ events: 100, connections: 8, requests: 150, requestsPerSecond: 50 }),
  "end to end, 20,000/s": endToEnd({ events: 100, connections: 8, requests: 400, requestsPerSecond: 200 }),
  "drain of 20,000": (build) => openDrain(build, 20_000),
  start: openStart,
  "SDK, stream": openSdk,
};
