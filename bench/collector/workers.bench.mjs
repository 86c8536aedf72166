/**
 * What the busiest thread costs a delivery, with several workers: its inverse bounds the rate of a machine with enough cores.
 *
 *   npm run build && node bench/collector/workers.bench.mjs [--workers 1,2,4] [--destinations 4] [--rate 5000] [--seconds 8]
 *
 * Batches of 100 messages of 600 bytes arrive, are synced before each 200, and each goes to all destinations, signed. `--rate` counts
 * deliveries. Load, collector and receivers run in processes of their own. Only on Linux, which tells the CPU time of threads.
 */
import { parseArgs } from "node:util";
import { reportFigures } from "../figures.mjs";
import { askWhenIdle } from "./cpu-time.mjs";
import { forked } from "./forked.mjs";
import { threadSecondsOf } from "./process-cpu.mjs";
import { runLoad } from "./run-load.mjs";

const { values } = parseArgs({
  options: {
    workers: { type: "string", default: "1,2,4" },
    destinations: { type: "string", default: "4" },
    rate: { type: "string", default: "5000" },
    seconds: { type: "string", default: "8" },
    json: { type: "boolean", default: false },
  },
});
const EVENTS = 100;
/** So that every thread has compiled its code. */
const WARM_UP_REQUESTS = 200;
const seconds = Number(values.seconds);
const destinations = Number(values.destinations);
const requestsPerSecond = Number(values.rate) / destinations / EVENTS;
const here = (name) => new URL(name, import.meta.url);

async function measure(workers) {
  const receiver = forked(here("delivery-receiver.mjs"));
  const { ports } = await receiver.ask({ listen: destinations });
  const env = { SLUICE_BENCH_WORKERS: String(workers) };
  const child = forked(here("delivery-collector.mjs"), [], ["--max-semi-space-size=32"], env);
  const { port, writeKey } = await child.ready;
  await child.ask({
    destinations: ports.map((one) => `http://127.0.0.1:${one}/hook`),
    settings: { concurrency: 50 },
  });
  let sent = 0;
  const run = async (options) => {
    const load = { port, writeKey, events: EVENTS, connections: 8, isStamped: true, requestsPerSecond };
    const { requests } = await runLoad({ ...load, ...options });
    sent += requests * EVENTS;
    for (const one of ports) await receiver.ask({ port: one, until: sent });
    return requests * EVENTS * destinations;
  };
  await run({ seconds: 60, requests: WARM_UP_REQUESTS });
  await askWhenIdle(child);
  const rssBytes = (await child.ask({ cpu: true })).rssBytes;
  const before = threadSecondsOf(child);
  const deliveries = await run({ seconds });
  await askWhenIdle(child);
  const used = [...threadSecondsOf(child)].map(([thread, now]) => now - (before.get(thread) ?? 0));
  await child.end();
  await receiver.end();
  const micros = (all) => (all * 1e6) / deliveries;
  return {
    workers,
    busiestMicros: micros(Math.max(...used)),
    allMicros: micros(used.reduce((sum, one) => sum + one, 0)),
    rssMb: rssBytes / 2 ** 20,
  };
}

const results = [];
for (const workers of values.workers.split(",")) results.push(await measure(Number(workers)));
const rows = results.map(({ workers, busiestMicros, allMicros, rssMb }) => ({
  workers,
  "busiest thread, µs/delivery": busiestMicros.toFixed(1),
  "all threads, µs/delivery": allMicros.toFixed(1),
  "memory, MB": Math.round(rssMb),
}));
if (values.json) process.stdout.write(`${JSON.stringify({ rows })}\n`);
else console.table(rows);

const [one] = results;
const most = results.at(-1);
reportFigures([
  {
    name: `the busiest of ${most.workers} workers' threads, a delivery`,
    unit: "µs",
    ours: most.busiestMicros,
    peer: one.busiestMicros,
    peerName: "one worker",
  },
  {
    name: `all threads with ${most.workers} workers, a delivery`,
    unit: "µs",
    ours: most.allMicros,
    peer: one.allMicros,
    peerName: "one worker",
  },
]);
