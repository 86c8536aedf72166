/**
 * The log of a cluster alone: three NATS servers on this machine that sync every write, a writer that appends entries, and a reader in
 * the same process. Nothing is applied to a store.
 *
 *   npm run nats:install
 *   node --import ./scripts/source-loader.mjs bench/collector/replicated-log.bench.mjs [--seconds 3] [--under-way 1,3]
 *
 * `--under-way` says how many entries are appended before the first one is answered. Bytes are turned into events of 582 bytes.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { openJetStream } from "@sluice/event-log/jetstream";
import { systemClock } from "@sluice/resilience";
// @boundaries-ignore the servers are those of the tests
import { startNatsCluster } from "../../test/nats/nats-cluster.ts";
// @boundaries-ignore the servers are those of the tests
import { findNatsServer } from "../../test/nats/nats-server.ts";
import { reportFigures } from "../figures.mjs";

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "3" },
    "under-way": { type: "string", default: "1,3" },
  },
});
const SECONDS = Number(values.seconds);
const UNDER_WAY = values["under-way"].split(",").map(Number);
const SIZES = [12, 64, 400].map((kib) => kib * 1024);
const EVENT_BYTES = 582;
const TICKS_PER_SECOND = 100;

const server = findNatsServer();
if (server.kind === "missing") {
  process.stderr.write(`replicated-log: ${server.reason}\n`);
  process.exit(1);
}

/** CPU seconds of processes, from the kernel. */
function cpuSecondsOf(pids) {
  const ticks = pids.map((pid) => {
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" ");
    return Number(fields[11]) + Number(fields[12]);
  });
  return ticks.reduce((sum, one) => sum + one, 0) / TICKS_PER_SECOND;
}

const percentile = (sorted, part) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))];

/** Appends entries of a size for some seconds, with some of them under way. */
async function measure(engine, pids, bytes, underWay, first) {
  const data = Buffer.alloc(bytes, "0123456789abcdef");
  const latencies = [];
  let next = first;
  let failure;
  const until = performance.now() + SECONDS * 1_000;
  const before = { own: process.cpuUsage(), servers: cpuSecondsOf(pids), at: performance.now() };
  async function append() {
    while (performance.now() < until && failure === undefined) {
      const startedAt = performance.now();
      const answer = await engine.log.append(data, next++);
      if (answer.kind !== "appended") failure ??= answer;
      else latencies.push(performance.now() - startedAt);
    }
  }
  await Promise.all(Array.from({ length: underWay }, append));
  if (failure !== undefined) throw new Error(`${failure.kind}: ${failure.reason ?? failure.last}`);
  const seconds = (performance.now() - before.at) / 1_000;
  const own = process.cpuUsage(before.own);
  latencies.sort((a, b) => a - b);
  const events = (latencies.length * bytes) / EVENT_BYTES;
  return {
    last: next,
    perSecond: latencies.length / seconds,
    eventsPerSecond: events / seconds,
    p50: percentile(latencies, 0.5),
    p99: percentile(latencies, 0.99),
    ownMicros: (own.user + own.system) / events,
    serverMicros: ((cpuSecondsOf(pids) - before.servers) * 1e6) / events,
  };
}

const round = (value, digits = 0) => Number(value.toFixed(digits));
const directory = mkdtempSync(join(tmpdir(), "sluice-nats-"));
const figures = [];
const nats = await startNatsCluster({ directory, maxStore: "8GB" });
const engine = await openJetStream({
  servers: nats.urls,
  monitors: nats.monitors,
  cluster: "bench",
  clock: systemClock,
  maxLogBytes: 4 * 1024 ** 3,
});
try {
  const pids = nats.nodes.map(({ pid }) => pid);
  let last = 0;
  for (const bytes of SIZES) {
    for (const underWay of UNDER_WAY) {
      const found = await measure(engine, pids, bytes, underWay, last);
      last = found.last;
      const name = `entries of ${bytes / 1024} KB, ${underWay} under way`;
      process.stdout.write(
        `${name}: ${round(found.perSecond)}/s (${round(found.eventsPerSecond)} events/s), p50 ${round(found.p50, 1)} ms, p99 ${round(found.p99, 1)} ms, CPU an event: ${round(found.ownMicros, 2)} µs here, ${round(found.serverMicros, 2)} µs in the three servers\n`,
      );
      figures.push(
        { name, unit: "events/s", ours: round(found.eventsPerSecond) },
        { name: `${name}, p50`, unit: "ms", ours: round(found.p50, 1) },
        { name: `${name}, p99`, unit: "ms", ours: round(found.p99, 1) },
      );
    }
  }
  const startedAt = performance.now();
  let bytes = 0;
  const { first } = await engine.log.bounds();
  for await (const entry of engine.log.read(first - 1, new AbortController().signal)) {
    bytes += entry.data.byteLength;
    if (entry.sequence === last) break;
  }
  const readMbPerSecond = bytes / 1e6 / ((performance.now() - startedAt) / 1_000);
  process.stdout.write(`reading all of it: ${round(readMbPerSecond)} MB/s\n`);
  figures.push({ name: "reading the log", unit: "MB/s", ours: round(readMbPerSecond) });
} finally {
  await engine.close();
  await nats.close();
  rmSync(directory, { recursive: true, force: true });
}
reportFigures(figures);
