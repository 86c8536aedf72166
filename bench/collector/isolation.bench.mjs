/**
 * What a broken destination costs the others: ten destinations, 100 messages a second to each (1,000 deliveries a second in
 * all), latency from the client's call to the receipt at the destinations that are well, with one or five of the ten broken.
 *
 *   npm run build && node bench/collector/isolation.bench.mjs [seconds a phase]
 */
import { forked } from "./forked.mjs";

const seconds = Number(process.argv[2] ?? 8);
const here = (name) => new URL(name, import.meta.url);
const PHASES = [
  ["all are well", "ok", 0],
  ["one hangs", "hang", 1],
  ["one drips", "drip", 1],
  ["one is dead", "dead", 1],
  ["five are dead", "dead", 5],
  ["five hang", "hang", 5],
];

const receiver = forked(here("delivery-receiver.mjs"));
const collector = forked(here("delivery-collector.mjs"));
await collector.ask({});
const { ports } = await receiver.ask({ listen: 10 });
await collector.ask({ destinations: ports.map((port) => `http://127.0.0.1:${port}/hook`) });

async function load(durationMs) {
  const startedMs = performance.now();
  for (let sent = 0; performance.now() - startedMs < durationMs; sent++) {
    collector.tell({ send: 1, sentAtMs: performance.timeOrigin + performance.now() });
    const waitMs = startedMs + (sent + 1) * 10 - performance.now();
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
  }
}

const percentile = (sorted, share) =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;

await load(3_000);
const rows = [];
for (const [name, mode, broken] of PHASES) {
  for (const port of ports) receiver.tell({ port, mode: ports.indexOf(port) < broken ? mode : "ok" });
  // Whatever the former phase left behind comes to its end.
  await new Promise((resolve) => setTimeout(resolve, 3_000));
  await receiver.ask({ report: true });
  await load(seconds * 1_000);
  await new Promise((resolve) => setTimeout(resolve, 500));
  const { report } = await receiver.ask({ report: true });
  const well = ports.slice(broken).flatMap((port) => report[port].latencies);
  const latencies = well.sort((a, b) => a - b);
  const requests = ports.slice(0, broken).map((port) => report[port].count);
  const { rssBytes } = await collector.ask({ cpu: true });
  rows.push([
    name,
    latencies.length,
    percentile(latencies, 0.5).toFixed(1),
    percentile(latencies, 0.99).toFixed(1),
    requests.length === 0 ? "" : Math.round(requests.reduce((a, b) => a + b, 0) / requests.length),
    Math.round(rssBytes / 1e6),
  ]);
}
await collector.end();
await receiver.end();

for (const row of [
  ["", "messages", "p50 ms", "p99 ms", "requests to each broken one", "memory MB"],
  ...rows,
]) {
  console.log(row.map((cell, index) => String(cell).padEnd(index === 0 ? 18 : 12)).join(""));
}
