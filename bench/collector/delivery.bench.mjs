/**
 * Deliveries per second and CPU per delivery, compared with a floor of undici Pool and HMAC without a store, in one run. The floor,
 * and the collector draining a backlog (stored, routed, signed, traced), send to the same receiver by turns.
 *
 *   npm run build && node bench/collector/delivery.bench.mjs [messages] [rounds]
 */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { reportFigures } from "../figures.mjs";
import { askWhenIdle } from "./cpu-time.mjs";
import { forked } from "./forked.mjs";

const messages = Number(process.argv[2] ?? 100_000);
const rounds = Number(process.argv[3] ?? 2);
const CONNECTIONS = 50;
const run = promisify(execFile);
const here = (name) => new URL(name, import.meta.url);

const receiver = forked(here("delivery-receiver.mjs"));
const {
  ports: [floorPort, port],
} = await receiver.ask({ listen: 2 });
const results = [];

for (let round = 0; round < rounds; round++) {
  const { stdout } = await run(process.execPath, [
    here("delivery-floor.mjs").pathname,
    `http://127.0.0.1:${floorPort}/hook`,
    String(messages),
    String(CONNECTIONS),
  ]);
  const floor = JSON.parse(stdout);

  const collector = forked(here("delivery-collector.mjs"));
  await collector.ask({});
  const before = (await receiver.ask({ report: true })).report[port].accepted;
  receiver.tell({ port, mode: "fail" });
  const {
    ids: [id],
  } = await collector.ask({
    destinations: [`http://127.0.0.1:${port}/hook`],
    settings: { concurrency: CONNECTIONS },
  });
  await collector.ask({ append: messages });
  // Until everything is indexed and evaluated.
  const waiting = await askWhenIdle(collector, 0.05);
  receiver.tell({ port, mode: "ok" });
  collector.tell({ mark: true });
  const startedMs = performance.now();
  const first = receiver.ask({ port, until: before + 1 }).then(() => performance.now() - startedMs);
  await collector.ask({ wake: id });
  const firstMs = await first;
  // Messages that failed before the backlog built up are retried later and do not belong to the drain.
  await receiver.ask({ port, until: before + messages - 200 });
  const seconds = (performance.now() - startedMs) / 1_000;
  const { cpuSeconds, mainSeconds, rssBytes } = await collector.ask({ cpu: true });
  await collector.end();
  results.push({
    floor,
    seconds,
    firstMs,
    cpuMicros: (cpuSeconds * 1e6) / messages,
    mainMicros: (mainSeconds * 1e6) / messages,
    rssBytes,
    waiting,
  });
}
await receiver.end();

const median = (values) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)];
const floorCpu = median(results.map(({ floor }) => floor.cpuMicros));
const cpu = median(results.map(({ cpuMicros }) => cpuMicros));
const table = [
  ["", "deliveries/s", "CPU µs a delivery"],
  [
    "floor (undici Pool + HMAC)",
    Math.round(messages / median(results.map(({ floor }) => floor.seconds))),
    floorCpu.toFixed(1),
  ],
  [
    "collector (stored, traced)",
    Math.round(messages / median(results.map(({ seconds }) => seconds))),
    cpu.toFixed(1),
  ],
  ["  of it in the main thread", "", median(results.map(({ mainMicros }) => mainMicros)).toFixed(1)],
  ["ratio", "", (cpu / floorCpu).toFixed(2)],
];
for (const row of table)
  console.log(row.map((cell, index) => String(cell).padEnd(index === 0 ? 30 : 18)).join(""));
const { waiting, rssBytes } = results[0];
console.log(
  `backlog of ${messages} on disk: ${Math.round(waiting.storeBytes / messages)} bytes a message; memory with it waiting ${Math.round(waiting.rssBytes / 1e6)} MB, after the drain ${Math.round(rssBytes / 1e6)} MB`,
);

const firstMs = median(results.map((result) => result.firstMs));
console.log(
  `first delivery after the receiver is back and somebody retried a message: ${firstMs.toFixed(0)} ms`,
);

const floorSeconds = median(results.map(({ floor }) => floor.seconds));
reportFigures([
  {
    name: "drained",
    unit: "messages/s",
    ours: messages / median(results.map(({ seconds }) => seconds)),
    peer: messages / floorSeconds,
    peerName: "floor",
  },
  { name: "CPU a delivery", unit: "µs", ours: cpu, peer: floorCpu, peerName: "floor" },
  { name: "first delivery after a manual retry", unit: "ms", ours: firstMs },
  { name: "disk a waiting message", unit: "bytes", ours: waiting.storeBytes / messages },
]);
