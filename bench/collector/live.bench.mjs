// How much watching the live stream costs: p99 of ingestion at 1,000 messages a second, without readers and with three readers who get
// every message. Rounds alternate, so that noise of the machine affects both alike.
//
//   node bench/collector/live.bench.mjs [readers] [rounds] [milliseconds a round]      (after npm run build)
import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { reportFigures } from "../figures.mjs";

const ROUNDS = Number(process.argv[3] ?? 4);
const ROUND_MS = Number(process.argv[4] ?? 5_000);
const REQUESTS_A_SECOND = 100;
const MESSAGES_A_REQUEST = 10;
const READERS = Number(process.argv[2] ?? 3);

const SLUICE = fileURLToPath(new URL("../../packages/cli/bin/sluice.cjs", import.meta.url));
const dataDir = await mkdtemp(join(tmpdir(), "sluice-live-"));
const child = spawn(process.execPath, [SLUICE, "dev", "--json", "--port", "0", "--data-dir", dataDir], {
  stdio: ["ignore", "pipe", "ignore"],
});
const { url, writeKey, adminToken } = await new Promise((resolve) => {
  createInterface({ input: child.stdout }).once("line", (line) => resolve(JSON.parse(line)));
});
const authorization = `Basic ${Buffer.from(`${writeKey}:`).toString("base64")}`;
let sent = 0;

async function post() {
  const batch = Array.from({ length: MESSAGES_A_REQUEST }, () => ({
    type: "track",
    event: "Order Completed",
    userId: `user-${sent % 1_000}`,
    messageId: `m-${sent++}`,
    properties: { total: 19.99, note: "x".repeat(300) },
  }));
  const began = performance.now();
  const response = await fetch(`${url}/v1/batch`, {
    method: "POST",
    headers: { authorization, "content-type": "application/json" },
    body: JSON.stringify({ batch }),
  });
  await response.arrayBuffer();
  if (response.status !== 200) throw new Error(`the collector responded with ${response.status}`);
  return performance.now() - began;
}

/** The latencies of a round. Requests are paced by the clock, no matter how long responses take. */
async function round() {
  const began = performance.now();
  const answers = [];
  for (let i = 0; i < (ROUND_MS / 1_000) * REQUESTS_A_SECOND; i++) {
    const dueMs = began + (i * 1_000) / REQUESTS_A_SECOND;
    const waitMs = dueMs - performance.now();
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
    answers.push(post());
  }
  return Promise.all(answers);
}

/** A reader like the dashboard. Returns how many messages it got. */
function reader() {
  const gone = new AbortController();
  let shown = 0;
  const reading = (async () => {
    const response = await fetch(`${url}/api/v1/live`, {
      headers: { authorization: `Bearer ${adminToken}` },
      signal: gone.signal,
    });
    let incomplete = "";
    for await (const chunk of response.body) {
      const events = (incomplete + Buffer.from(chunk).toString("latin1")).split("\n\n");
      incomplete = events.pop() ?? "";
      shown += events.filter((event) => event.includes("\nevent: message\n")).length;
    }
  })().catch(() => {});
  return async () => {
    gone.abort();
    await reading;
    return shown;
  };
}

/** CPU time of the collector, in milliseconds, if the system tells it (Linux, 10 ms a tick). */
async function cpuMs() {
  const stat = await readFile(`/proc/${child.pid}/stat`, "utf8").catch(() => "");
  const [user = 0, system = 0] = stat
    .slice(stat.lastIndexOf(")") + 2)
    .split(" ")
    .slice(11, 13)
    .map(Number);
  return (user + system) * 10;
}

const quiet = [];
const watched = [];
const cpu = { quiet: 0, watched: 0 };
let shown = 0;
await round();
for (let i = 0; i < ROUNDS; i++) {
  const beforeQuiet = await cpuMs();
  quiet.push(...(await round()));
  const beforeWatched = await cpuMs();
  cpu.quiet += beforeWatched - beforeQuiet;
  const readers = Array.from({ length: READERS }, reader);
  watched.push(...(await round()));
  cpu.watched += (await cpuMs()) - beforeWatched;
  await new Promise((resolve) => setTimeout(resolve, 300));
  for (const stop of readers) shown += await stop();
}
child.kill("SIGTERM");
await new Promise((resolve) => child.once("exit", resolve));
await rm(dataDir, { recursive: true, force: true });

const percentile = (latencies, share) =>
  [...latencies].sort((a, b) => a - b)[Math.ceil(latencies.length * share) - 1];
const share = (usedMs) => `${((usedMs / (ROUNDS * ROUND_MS)) * 100).toFixed(0)} %`;
const table = [
  ["", "p50", "p99", "of a core"],
  ["nobody watches", ...[0.5, 0.99].map((of) => `${percentile(quiet, of).toFixed(2)} ms`), share(cpu.quiet)],
  [
    `${READERS} readers`,
    ...[0.5, 0.99].map((of) => `${percentile(watched, of).toFixed(2)} ms`),
    share(cpu.watched),
  ],
];
for (const row of table) console.log(row.map((cell) => cell.padEnd(16)).join(""));
const moved = (percentile(watched, 0.99) / percentile(quiet, 0.99) - 1) * 100;
const expected = READERS * ROUNDS * (ROUND_MS / 1_000) * REQUESTS_A_SECOND * MESSAGES_A_REQUEST;
console.log(`p99 moved by ${moved.toFixed(0)} %; ${shown} of ${expected} messages were shown`);
reportFigures([
  {
    name: "p99 of ingestion at 1,000 messages a second",
    unit: "ms",
    ours: percentile(watched, 0.99),
    peer: percentile(quiet, 0.99),
    peerName: "nobody watches",
  },
  {
    name: "CPU of a core",
    unit: "%",
    ours: (100 * cpu.watched) / (ROUNDS * ROUND_MS),
    peer: (100 * cpu.quiet) / (ROUNDS * ROUND_MS),
    peerName: "nobody watches",
  },
]);
