/**
 * From the client's request to the receiver of a webhook, compared with a floor, in one run:
 *
 *   npm run build && node bench/collector/end-to-end.bench.mjs [--rate 13000] [--latency-rate 2000] [--seconds 8] [--rounds 1] [--json]
 *
 * Batches of 100 messages of 600 bytes arrive at a rate, are synced before each 200, and go to one destination, signed. The
 * collector stores, dedupes, routes and traces each. Load, server and receiver run in processes of their own.
 *
 * - Sustained: messages a second from the first request to the last receipt. It is below the rate if the server cannot keep up.
 * - CPU per message: all threads of the server, until it is idle (audience profiles are updated later).
 * - Latency: from sending a request to a message's receipt, at 2,000 messages a second or `--latency-rate`.
 *
 * Targets: at least 12,000/s, at most twice the floor's CPU, a p99 of at most three times the floor's.
 */
import { parseArgs } from "node:util";
import { reportFigures } from "../figures.mjs";
import { askWhenIdle } from "./cpu-time.mjs";
import { forked } from "./forked.mjs";
import { runLoad } from "./run-load.mjs";

const { values } = parseArgs({
  options: {
    rate: { type: "string", default: "13000" },
    "latency-rate": { type: "string", default: "2000" },
    seconds: { type: "string", default: "8" },
    rounds: { type: "string", default: "1" },
    json: { type: "boolean", default: false },
  },
});
const EVENTS = 100;
/** 40,000 messages, so that both servers have compiled their code: counted, because in a given time the faster one would get more. */
const WARM_UP_REQUESTS = 400;
/** Only ends a warm-up on a machine that is busy with other work. */
const LONGEST_WARM_UP_SECONDS = 20;
const seconds = Number(values.seconds);
const latencyRate = Number(values["latency-rate"]);
const here = (name) => new URL(name, import.meta.url);
const SERVERS = { floor: "end-to-end-floor.mjs", collector: "delivery-collector.mjs" };

const receiver = forked(here("delivery-receiver.mjs"));

async function load({ port, writeKey }, options) {
  const { requests } = await runLoad({
    ...{ port, writeKey, events: EVENTS, connections: 8, isStamped: true },
    ...options,
  });
  return requests * EVENTS;
}

const percentile = (sorted, share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
const median = (numbers) => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)];

async function measure(file) {
  const {
    ports: [port],
  } = await receiver.ask({ listen: 1 });
  // The same option as `sluice collector` uses.
  const child = forked(here(file), [], ["--max-semi-space-size=32"]);
  const server = await child.ready;
  await child.ask({ destinations: [`http://127.0.0.1:${port}/hook`], settings: { concurrency: 50 } });

  let sent = 0;
  const run = async (options) => {
    const startedMs = performance.now();
    const messages = await load(server, options);
    sent += messages;
    await receiver.ask({ port, until: sent });
    return { messages, perSecond: messages / ((performance.now() - startedMs) / 1_000) };
  };
  const atRate = (rate) => ({ seconds, requestsPerSecond: rate / EVENTS });

  await run({
    ...atRate(Number(values.rate)),
    seconds: LONGEST_WARM_UP_SECONDS,
    requests: WARM_UP_REQUESTS,
  });
  await askWhenIdle(child);
  child.tell({ mark: true });
  const { messages, perSecond } = await run(atRate(Number(values.rate)));
  const cpuMicros = ((await askWhenIdle(child)).cpuSeconds * 1e6) / messages;

  await run({ ...atRate(latencyRate), seconds: 1 });
  await receiver.ask({ report: true });
  await run(atRate(latencyRate));
  const { latencies, accepted } = (await receiver.ask({ report: true })).report[port];
  latencies.sort((a, b) => a - b);
  await child.end();
  if (accepted !== sent) throw new Error(`${sent} messages were accepted and ${accepted} received`);
  return { perSecond, cpuMicros, p50Ms: percentile(latencies, 0.5), p99Ms: percentile(latencies, 0.99) };
}

const results = { floor: [], collector: [] };
for (let round = 0; round < Number(values.rounds); round++) {
  for (const [name, file] of Object.entries(SERVERS)) results[name].push(await measure(file));
}
await receiver.end();

const of = (name, figure) => median(results[name].map((result) => result[figure]));
const rows = Object.keys(SERVERS).map((name) => ({
  "": name,
  "sustained messages/s": Math.round(of(name, "perSecond")),
  "CPU µs/message": of(name, "cpuMicros").toFixed(1),
  [`p50 at ${latencyRate}/s, ms`]: of(name, "p50Ms").toFixed(1),
  [`p99 at ${latencyRate}/s, ms`]: of(name, "p99Ms").toFixed(1),
}));
const ratios = {
  cpu: of("collector", "cpuMicros") / of("floor", "cpuMicros"),
  p99: of("collector", "p99Ms") / of("floor", "p99Ms"),
};
if (values.json) process.stdout.write(`${JSON.stringify({ rows, ratios })}\n`);
else {
  console.table(rows);
  console.log(`collector to floor: CPU × ${ratios.cpu.toFixed(2)}, p99 × ${ratios.p99.toFixed(2)}`);
}

const compared = (name, unit, figure) => ({
  name,
  unit,
  ours: of("collector", figure),
  peer: of("floor", figure),
  peerName: "floor",
});
reportFigures([
  compared("sustained", "messages/s", "perSecond"),
  compared("CPU a message", "µs", "cpuMicros"),
  compared(`p99 at ${latencyRate} a second`, "ms", "p99Ms"),
]);
