/**
 * Latency from a client's request to the receipt at the webhook: one message per request, 500 a second by default, signed, stored and
 * traced.
 *
 *   npm run build && node bench/collector/latency.bench.mjs [messages a second] [seconds]
 */
import { reportFigures } from "../figures.mjs";
import { deliveryClient } from "./delivery-client.mjs";
import { forked } from "./forked.mjs";

const perSecond = Number(process.argv[2] ?? 500);
const seconds = Number(process.argv[3] ?? 20);
const WARM_UP_SECONDS = 5;
const here = (name) => new URL(name, import.meta.url);

const receiver = forked(here("delivery-receiver.mjs"));
const collector = forked(here("delivery-collector.mjs"));
const { url, writeKey } = await collector.ask({});
const {
  ports: [port],
} = await receiver.ask({ listen: 1 });
await collector.ask({ destinations: [`http://127.0.0.1:${port}/hook`] });
const client = deliveryClient(url, writeKey);

async function load(durationMs) {
  const startedMs = performance.now();
  const calls = [];
  for (let sent = 0; performance.now() - startedMs < durationMs; sent++) {
    calls.push(client.send(1, performance.timeOrigin + performance.now()));
    const waitMs = startedMs + ((sent + 1) * 1_000) / perSecond - performance.now();
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
  }
  const statuses = await Promise.all(calls);
  if (statuses.some((status) => status !== 200)) throw new Error("A message was refused");
  return statuses.length;
}

await load(WARM_UP_SECONDS * 1_000);
await new Promise((resolve) => setTimeout(resolve, 500));
await receiver.ask({ report: true });
const sent = await load(seconds * 1_000);
await new Promise((resolve) => setTimeout(resolve, 1_000));
const { latencies } = (await receiver.ask({ report: true })).report[port];
latencies.sort((a, b) => a - b);
const percentile = (share) => latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * share))];
await client.close();
await collector.end();
await receiver.end();

console.log(
  `call to receipt, ${sent} messages at ${Math.round(sent / seconds)}/s (${latencies.length} arrived):`,
);
for (const share of [0.5, 0.9, 0.99, 0.999]) {
  console.log(`  p${share * 100}`.padEnd(8), `${percentile(share).toFixed(1)} ms`);
}
console.log(`  max    ${percentile(1).toFixed(1)} ms`);
reportFigures([
  { name: `p50 at ${perSecond} a second`, unit: "ms", ours: percentile(0.5) },
  { name: `p99 at ${perSecond} a second`, unit: "ms", ours: percentile(0.99) },
]);
