/**
 * What a collector needs for a number of messages: disk, memory, CPU and open files, without a destination and with one webhook that
 * answers at once. Then the latency of ingestion without and with a backup.
 *
 *   npm run build && node bench/collector/sizing.bench.mjs [--messages 200000] [--rate 500] [--seconds 20] [--write]
 *
 * Prints two tables of docs/benchmarks.md; `--write` puts them there. CPU: of the collector until it is idle,
 * without what it uses when it has nothing to do.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { Agent, request } from "undici";
import { measuredText, writeMeasured } from "../measured.mjs";
import { cpuSecondsOf, untilQuiet } from "./process-cpu.mjs";
import { backupText, sizingText } from "./sizing-tables.mjs";
import { ADMIN_TOKEN, startCollector } from "./started-collector.mjs";

const { values } = parseArgs({
  options: {
    messages: { type: "string", default: "200000" },
    rate: { type: "string", default: "500" },
    seconds: { type: "string", default: "20" },
    write: { type: "boolean", default: false },
  },
});
const MESSAGES = Number(values.messages);
const PER_SECOND = Number(values.rate);
const SECONDS = Number(values.seconds);
const A_BATCH = 100;
const SLUICE = fileURLToPath(new URL("../../packages/cli/bin/sluice.cjs", import.meta.url));
const WARM_MESSAGES = 10_000;
const IDLE_MS = 2_000;
const KIB = 1024;
const load = loadavg();

const folder = mkdtempSync(join(tmpdir(), "sluice-sizing-"));
const dataDirectory = join(folder, "data");
const agent = new Agent({ connections: 16 });

let received = 0;
const receiver = createServer((incoming, response) => {
  incoming.resume();
  incoming.on("end", () => {
    received += 1;
    response.end();
  });
});
receiver.listen(0, "127.0.0.1");
await once(receiver, "listening");

const collector = await startCollector(dataDirectory);
const { url, pid } = collector;

async function post(path, authorization, body) {
  const answer = await request(`${url}${path}`, {
    method: "POST",
    dispatcher: agent,
    headers: { authorization, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  const text = await answer.body.text();
  if (answer.statusCode >= 300) throw new Error(`${path}: ${answer.statusCode} ${text}`);
  return JSON.parse(text);
}

const admin = `Bearer ${ADMIN_TOKEN}`;
const newSource = (name) => post("/api/v1/sources", admin, { name });
const keyOf = ({ writeKeys: [{ key }] }) => `Basic ${btoa(`${key}:`)}`;
const stored = await newSource("stored");
const source = await newSource("delivered");
const key = keyOf(source);
await post("/api/v1/destinations", admin, {
  type: "webhooks",
  sourceIds: [source.id],
  settings: { webhooks: [{ url: `http://127.0.0.1:${receiver.address().port}/` }] },
  enabled: true,
});

let sent = 0;
const message = () => {
  const no = sent++;
  return {
    type: "track",
    event: "Order Completed",
    messageId: `message-${no}`,
    userId: `user-${no % 50_000}`,
    timestamp: "2026-11-22T20:00:00.000Z",
    context: {
      ip: "203.0.113.7",
      locale: "en-GB",
      library: { name: "@sluice/node", version: "0.1.0" },
      page: { path: "/checkout", referrer: "https://example.com/", title: "Checkout" },
    },
    properties: {
      orderId: `order-${no}`,
      total: 129.5,
      currency: "EUR",
      coupon: null,
      products: [
        { id: "p1", name: "Shoes", price: 99.5, quantity: 1 },
        { id: "p2", name: "Socks", price: 15, quantity: 2 },
      ],
    },
  };
};

const peakBytes = () => Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))[1]) * KIB;
const diskBytes = () =>
  readdirSync(dataDirectory).reduce((sum, name) => sum + statSync(join(dataDirectory, name)).size, 0);

// ── For a number of messages ──
let files = 0;

/** Sends messages in batches, no faster than `isBehind` allows. */
async function sendAll(authorization, isBehind, count = MESSAGES) {
  const until = sent + count;
  while (sent < until) {
    await Promise.all(
      Array.from({ length: 8 }, () =>
        post("/v1/batch", authorization, { batch: Array.from({ length: A_BATCH }, message) }),
      ),
    );
    files = Math.max(files, readdirSync(`/proc/${pid}/fd`).length);
    while (isBehind()) await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Resolves with the CPU of a message in microseconds, which are also seconds for a million of them. */
async function cpuMicros(run) {
  await untilQuiet([collector]);
  const idle = { atMs: performance.now(), seconds: cpuSecondsOf([collector]) };
  await new Promise((resolve) => setTimeout(resolve, IDLE_MS));
  const before = { atMs: performance.now(), seconds: cpuSecondsOf([collector]), sent };
  await run();
  await untilQuiet([collector]);
  const share = (performance.now() - before.atMs) / (before.atMs - idle.atMs);
  const used = cpuSecondsOf([collector]) - before.seconds - (before.seconds - idle.seconds) * share;
  return (used * 1e6) / (sent - before.sent);
}

const bodyBytes = Buffer.byteLength(JSON.stringify(message()));
await sendAll(keyOf(stored), () => false, WARM_MESSAGES);
const storedMicros = await cpuMicros(() => sendAll(keyOf(stored), () => false));
const beforeBytes = diskBytes();
const firstSent = sent;
const deliveredMicros = await cpuMicros(async () => {
  // Delivery keeps up, so that the figures include it.
  await sendAll(key, () => sent - firstSent - received > 20_000);
  while (received < sent - firstSent) await new Promise((resolve) => setTimeout(resolve, 100));
});
const sizing = sizingText({
  ...{ storedMicros, deliveredMicros, files, peakBytes: peakBytes() },
  diskBytes: (diskBytes() - beforeBytes) / (sent - firstSent),
});
const conditions = `${MESSAGES.toLocaleString("en")} events of ${bodyBytes} bytes in batches of ${A_BATCH}, of 50,000 users.`;
const sized = measuredText(sizing, { load, conditions });
console.log(sized);

// ── Latency without and with a backup ──
async function latencies(seconds, untilDone) {
  const found = [];
  const calls = [];
  const beganMs = performance.now();
  let isDone = untilDone === undefined;
  untilDone?.then(() => {
    isDone = true;
  });
  for (let no = 0; performance.now() - beganMs < seconds * 1_000 || !isDone; no++) {
    const atMs = performance.now();
    calls.push(post("/v1/track", key, message()).then(() => found.push(performance.now() - atMs)));
    const waitMs = beganMs + ((no + 1) * 1_000) / PER_SECOND - performance.now();
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
  }
  await Promise.all(calls);
  found.sort((a, b) => a - b);
  const at = (share) => found[Math.min(found.length - 1, Math.floor(found.length * share))];
  return { p50Ms: at(0.5), p99Ms: at(0.99), maxMs: at(1) };
}

/** In a process of its own, as a user does it. */
async function backUp() {
  const beganMs = performance.now();
  const backup = spawn(
    process.execPath,
    [SLUICE, "backup", join(folder, "backup.tar"), "--json", "--url", url, "--token", ADMIN_TOKEN],
    {
      stdio: ["ignore", "pipe", "inherit"],
    },
  );
  let out = "";
  backup.stdout.on("data", (text) => {
    out += text;
  });
  const [code] = await once(backup, "exit");
  if (code !== 0) throw new Error(`the backup ended with ${code}`);
  return { bytes: JSON.parse(out).bytes, ms: performance.now() - beganMs };
}

await latencies(5);
const without = await latencies(SECONDS);
const messages = sent;
const backingUp = backUp();
const during = await latencies(0, backingUp);
const backup = await backingUp;
const backedUp = measuredText(backupText({ without, during, backup, rate: PER_SECOND, messages }), {
  load,
  conditions: `Requests with one message each, for ${SECONDS} s and for as long as a backup took.`,
});
console.log(`\n${backedUp}`);
if (values.write) {
  writeMeasured("sizing", sized);
  writeMeasured("backups", backedUp);
}

await collector.end("SIGTERM");
receiver.close();
receiver.closeAllConnections();
await agent.close();
rmSync(folder, { recursive: true, force: true });
