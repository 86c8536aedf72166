/**
 * What the busiest thread costs a message, with several workers: its inverse bounds the rate of a machine with enough cores.
 *
 *   npm run build && node bench/collector/workers.bench.mjs [--workers 1,2,4] [--shapes "end to end,single messages,batches of 100"]
 *     [--destinations 4] [--rate 5000] [--seconds 8]
 *
 * Messages of 600 bytes are synced before each 200. End to end, they come in batches of 100 and each goes to all destinations, signed; a
 * message is then a delivery, and `--rate` counts deliveries. Load, collector and receivers run in processes of their own. Only on Linux,
 * which tells the CPU time of threads.
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
    shapes: { type: "string", default: "end to end,single messages,batches of 100" },
    destinations: { type: "string", default: "4" },
    rate: { type: "string", default: "5000" },
    seconds: { type: "string", default: "8" },
    json: { type: "boolean", default: false },
  },
});
const seconds = Number(values.seconds);
const destinations = Number(values.destinations);
const here = (name) => new URL(name, import.meta.url);

/** The warm-up is long enough for every thread to have compiled its code. */
const SHAPES = {
  "end to end": {
    ...{ events: 100, destinations, connections: 8, warmUp: 200 },
    requestsPerSecond: Number(values.rate) / destinations / 100,
  },
  "single messages": { events: 1, destinations: 0, connections: 64, warmUp: 20_000 },
  "batches of 100": { events: 100, destinations: 0, connections: 16, warmUp: 1_000 },
};

async function measure(name, workers) {
  const { warmUp, destinations: count, ...shape } = SHAPES[name];
  const receiver = forked(here("delivery-receiver.mjs"));
  const { ports } = await receiver.ask({ listen: count });
  const env = { SLUICE_BENCH_WORKERS: String(workers) };
  const child = forked(here("delivery-collector.mjs"), [], ["--max-semi-space-size=32"], env);
  const { port, writeKey } = await child.ready;
  if (count > 0)
    await child.ask({
      destinations: ports.map((one) => `http://127.0.0.1:${one}/hook`),
      settings: { concurrency: 50 },
    });
  let sent = 0;
  const run = async (options) => {
    const { requests } = await runLoad({ port, writeKey, isStamped: true, ...shape, ...options });
    sent += requests * shape.events;
    for (const one of ports) await receiver.ask({ port: one, until: sent });
    return requests * shape.events * Math.max(1, count);
  };
  await run({ seconds: 60, requests: warmUp, requestsPerSecond: shape.requestsPerSecond });
  await askWhenIdle(child);
  const rssBytes = (await child.ask({ cpu: true })).rssBytes;
  const before = threadSecondsOf(child);
  const messages = await run({ seconds });
  await askWhenIdle(child);
  const used = [...threadSecondsOf(child)].map(([thread, now]) => now - (before.get(thread) ?? 0));
  await child.end();
  await receiver.end();
  const micros = (all) => (all * 1e6) / messages;
  return {
    ...{ name, workers },
    busiestMicros: micros(Math.max(...used)),
    allMicros: micros(used.reduce((sum, one) => sum + one, 0)),
    rssMb: rssBytes / 2 ** 20,
  };
}

const results = [];
for (const name of values.shapes.split(","))
  for (const workers of values.workers.split(",")) results.push(await measure(name, Number(workers)));
const rows = results.map(({ name, workers, busiestMicros, allMicros, rssMb }) => ({
  ...{ messages: name, workers },
  "busiest thread, µs/message": busiestMicros.toFixed(1),
  "all threads, µs/message": allMicros.toFixed(1),
  "memory, MB": Math.round(rssMb),
}));
if (values.json) process.stdout.write(`${JSON.stringify({ rows })}\n`);
else console.table(rows);

const figureOf = (of, what, micros) => {
  const [one, most] = [of[0], of.at(-1)];
  return {
    name: `${what} with ${most.workers} workers, ${most.name}`,
    unit: "µs",
    ours: micros(most),
    peer: micros(one),
    peerName: "one worker",
  };
};
reportFigures(
  Object.values(Object.groupBy(results, ({ name }) => name)).flatMap((of) => [
    figureOf(of, "the busiest thread", ({ busiestMicros }) => busiestMicros),
    figureOf(of, "all threads", ({ allMicros }) => allMicros),
  ]),
);
