/**
 * How much broken destinations slow down the others. Ten destinations get 100 messages a second each (1,000 deliveries a second
 * in total). Measured is the latency from the client's request to the receipt at the healthy destinations. Short healthy and broken
 * phases alternate, so that noise of the machine affects both alike; the same destinations are compared in both.
 *
 *   npm run build && node bench/collector/isolation.bench.mjs [hang|drip|dead|none] [broken destinations] [pairs] [seconds a phase]
 *
 * `none` breaks nothing and shows how much two identical halves differ.
 */
import { reportFigures } from "../figures.mjs";
import { forked } from "./forked.mjs";

const [mode = "hang", brokenText = "1", pairsText = "6", secondsText = "5"] = process.argv.slice(2);
const broken = Number(brokenText);
const pairs = Number(pairsText);
const seconds = Number(secondsText);
/** The start of a phase is not counted: connections end, breakers open or close, the backlog is delivered. */
const SETTLE_SECONDS = 1;
/** Lets code be compiled and files grow to their final size. */
const WARM_UP_SECONDS = 10;
const here = (name) => new URL(name, import.meta.url);

const receiver = forked(here("delivery-receiver.mjs"));
const collector = forked(here("delivery-collector.mjs"));
await collector.ask({});
const { ports } = await receiver.ask({ listen: 10 });
const { ids } = await collector.ask({ destinations: ports.map((port) => `http://127.0.0.1:${port}/hook`) });

async function load(durationMs) {
  const startedMs = performance.now();
  for (let sent = 0; performance.now() - startedMs < durationMs; sent++) {
    collector.tell({ send: 1, sentAtMs: performance.timeOrigin + performance.now() });
    const waitMs = startedMs + (sent + 1) * 10 - performance.now();
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
  }
}

function percentile(latencies, share) {
  const sorted = latencies.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

function median(values) {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  return ((sorted[Math.floor(middle)] ?? Number.NaN) + (sorted[Math.ceil(middle)] ?? Number.NaN)) / 2;
}

async function phase(kind) {
  const now = kind === "broken" && mode !== "none" ? mode : "ok";
  for (const port of ports.slice(0, broken)) receiver.tell({ port, mode: now });
  // Otherwise a breaker that opened in the previous phase would deliver its backlog in the middle of this one.
  if (now === "ok") for (const id of ids.slice(0, broken)) await collector.ask({ wake: id });
  await load(SETTLE_SECONDS * 1_000);
  await receiver.ask({ report: true });
  await load(seconds * 1_000);
  const { report } = await receiver.ask({ report: true });
  return {
    latencies: ports.slice(broken).flatMap((port) => report[port].latencies),
    requests: ports.slice(0, broken).reduce((sum, port) => sum + report[port].count, 0) / broken,
  };
}

await load(WARM_UP_SECONDS * 1_000);
const phases = { healthy: [], broken: [] };
for (let pair = 0; pair < pairs; pair++) {
  for (const kind of pair % 2 === 0 ? ["healthy", "broken"] : ["broken", "healthy"]) {
    phases[kind].push(await phase(kind));
  }
}
await collector.end();
await receiver.end();

const pooled = (kind) => phases[kind].flatMap(({ latencies }) => latencies);
const summary = (kind) => ({
  messages: pooled(kind).length,
  p50: percentile(pooled(kind), 0.5),
  p99: percentile(pooled(kind), 0.99),
  p99s: phases[kind].map(({ latencies }) => percentile(latencies, 0.99)),
});
const healthy = summary("healthy");
const withBroken = summary("broken");
const ms = (value) => `${value.toFixed(1)} ms`;
console.log(`${broken} of ten: ${mode}; ${pairs} pairs of ${seconds} s`);
for (const [name, { messages, p50, p99, p99s }] of [
  ["healthy", healthy],
  ["broken", withBroken],
]) {
  const each = p99s.map((value) => value.toFixed(1)).join(" ");
  console.log(`  ${name.padEnd(9)} ${messages} messages, p50 ${ms(p50)}, p99 ${ms(p99)} (phases: ${each})`);
}
const requests = phases.broken.map(({ requests }) => requests);
const pairwise = withBroken.p99s.map((value, pair) => value / (healthy.p99s[pair] ?? Number.NaN));
console.log(
  `  p99 of all: ratio ${(withBroken.p99 / healthy.p99).toFixed(3)}, difference ${ms(withBroken.p99 - healthy.p99)}; ` +
    `median of the pairs' ratios ${median(pairwise).toFixed(3)}; ` +
    `requests to each broken one, a phase: ${median(requests).toFixed(0)}`,
);
reportFigures(
  ["p50", "p99"].map((figure) => ({
    name: `${figure} of the others, 1,000 deliveries a second`,
    unit: "ms",
    ours: withBroken[figure],
    peer: healthy[figure],
    peerName: "all healthy",
  })),
);
