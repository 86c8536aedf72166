/**
 * Compares ingestion with the floor (`ingest-floor.mjs`), in one run on one machine:
 *
 *   node bench/collector/ingest.bench.mjs [--seconds 4] [--rounds 2] [--runs 5] [--shape "single messages"] [--connections 16] [--folder DIR]
 *
 * With a folder, the collector uses the messages stored there (`store.bench.ts --fill-only` fills one). Server and load run in
 * processes of their own; the collector is the built one (`npm run build`). Targets: at least 60 % of the floor's events a second
 * in batches of 100 and in single messages, and a p99 of at most 25 ms at half load.
 */
import { parseArgs } from "node:util";
import { reportFigures } from "../figures.mjs";
import { forked } from "./forked.mjs";
import { runLoad } from "./run-load.mjs";

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "4" },
    rounds: { type: "string", default: "2" },
    /** Latency runs of three seconds each, after two seconds of warm-up; floor and collector alternate. */
    runs: { type: "string", default: "5" },
    shape: { type: "string" },
    /** Default: 16 for batches, 64 for single messages. */
    connections: { type: "string" },
    folder: { type: "string" },
    json: { type: "boolean", default: false },
  },
});
const seconds = Number(values.seconds);
const rounds = Number(values.rounds);

async function startServer(name) {
  // The same option as `sluice collector` uses.
  const flags = ["--max-semi-space-size=32"];
  const folder = name === SERVERS.collector && values.folder !== undefined ? [values.folder] : [];
  const server = forked(new URL(name, import.meta.url), folder, flags);
  return { ...server, ...(await server.ready) };
}

async function load({ port, writeKey, ask }, options) {
  const before = await ask({ cpu: true });
  const result = await runLoad({ port, writeKey, ...options });
  const cpuSeconds = (await ask({ cpu: true })).cpuSeconds - before.cpuSeconds;
  return { ...result, cpuMicrosPerEvent: (cpuSeconds * 1e6) / (result.sent * options.events) };
}

const SERVERS = { floor: "ingest-floor.mjs", collector: "ingest-collector.mjs" };
const ALL_SHAPES = {
  "batches of 100": { events: 100, connections: 16 },
  "single messages": { events: 1, connections: 64 },
};
/**
 * A new process compiles its code during its first requests. They are counted, because in a given time the faster server would get more
 * of them, and few if the disk is slow: after 4,600 single messages a quarter of the collector's CPU is compilation.
 */
const WARM_UP_REQUESTS = { 100: 1_500, 1: 30_000 };
/** Only ends a warm-up on a machine that is busy with other work. */
const LONGEST_WARM_UP_SECONDS = 20;
const warmUp = (server, options) =>
  load(server, { ...options, seconds: LONGEST_WARM_UP_SECONDS, requests: WARM_UP_REQUESTS[options.events] });

const connections = values.connections === undefined ? {} : { connections: Number(values.connections) };
const SHAPES = Object.fromEntries(
  Object.entries(ALL_SHAPES)
    .filter(([shape]) => values.shape === undefined || shape === values.shape)
    .map(([shape, options]) => [shape, { ...options, ...connections }]),
);

const results = [];
for (let round = 0; round < rounds; round++) {
  for (const [shape, options] of Object.entries(SHAPES)) {
    for (const [name, file] of Object.entries(SERVERS)) {
      // Each gets a new server: the work that one leaves behind would be charged to the next.
      const server = await startServer(file);
      await warmUp(server, options);
      results.push({ name, shape, ...(await load(server, { ...options, seconds })) });
      await server.end();
    }
  }
}

const median = (numbers) => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)];
const of = (name, shape, percentile) =>
  median(results.filter((r) => r.name === name && r.shape === shape).map((r) => r[percentile]));

// Latency at half of the collector's maximum rate. The floor at the same rate shows what the machine itself adds. Runs are short and
// alternate, and the median counts, so that one pause of the machine does not decide the result. Server and load are warmed up, because
// compilation dominates their first seconds.
const latencies = [];
for (let run = 0; run < Number(values.runs); run++) {
  for (const [shape, options] of Object.entries(SHAPES)) {
    for (const [name, file] of Object.entries(SERVERS)) {
      const server = await startServer(file);
      const requestsPerSecond = of("collector", shape, "requestsPerSecond") / 2;
      const measured = await load(server, { ...options, warmSeconds: 2, seconds: 3, requestsPerSecond });
      latencies.push({ name, shape, ...measured });
      await server.end();
    }
  }
}
const latency = (name, shape, percentile) => {
  const runs = latencies.filter((r) => r.name === name && r.shape === shape).map((r) => r[percentile]);
  return { median: median(runs).toFixed(1), all: runs.map((ms) => ms.toFixed(0)).join(" ") };
};

const rows = Object.keys(SHAPES).map((shape) => ({
  shape,
  "floor events/s": Math.round(of("floor", shape, "eventsPerSecond")),
  "collector events/s": Math.round(of("collector", shape, "eventsPerSecond")),
  "share of the floor": `${Math.round((100 * of("collector", shape, "eventsPerSecond")) / of("floor", shape, "eventsPerSecond"))} %`,
  "floor CPU µs/event": of("floor", shape, "cpuMicrosPerEvent").toFixed(1),
  "collector CPU µs/event": of("collector", shape, "cpuMicrosPerEvent").toFixed(1),
  "p99 at full load, ms": of("collector", shape, "p99Ms").toFixed(1),
  "floor's at full load, ms": of("floor", shape, "p99Ms").toFixed(1),
  "p50 at half load, ms": latency("collector", shape, "p50Ms").median,
  "p99 at half load, ms": latency("collector", shape, "p99Ms").median,
  "floor's p99 at that rate, ms": latency("floor", shape, "p99Ms").median,
  "p99 of each run": latency("collector", shape, "p99Ms").all,
  "floor's": latency("floor", shape, "p99Ms").all,
}));
if (values.json) process.stdout.write(`${JSON.stringify(rows)}\n`);
else console.table(rows);

for (const shape of Object.keys(SHAPES)) {
  const compared = (what, unit, of) => ({
    name: `${shape}: ${what}`,
    unit,
    ours: of("collector"),
    peer: of("floor"),
    peerName: "floor",
  });
  reportFigures([
    compared("accepted", "messages/s", (name) => of(name, shape, "eventsPerSecond")),
    compared("CPU a message", "µs", (name) => of(name, shape, "cpuMicrosPerEvent")),
    compared("p99 at half load", "ms", (name) => Number(latency(name, shape, "p99Ms").median)),
  ]);
}
