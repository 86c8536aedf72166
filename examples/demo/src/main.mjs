// Sends 329 real webhook payloads of GitHub through all of Sluice and back:
//
//   this script ── @sluice/node ──▶ sluice dev (another process) ── signed webhooks ──▶ a receiver in this script
//
// The receiver compares every body with the original. With --kill the collector is killed with SIGKILL halfway and started again with
// the same data. The exit code is 1 if anything is lost or differs.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Analytics } from "@sluice/node";
import { startCollectorProcess } from "./collector-process.mjs";
import { progressBar } from "./progress-bar.mjs";
import { realInput } from "./real-input.mjs";
import { startReceiver } from "./receiver.mjs";

const SECRET = "demo-secret";
/** Longer than a slow machine needs, including the restart. */
const TIMEOUT_MS = 90_000;

const kills = process.argv.includes("--kill");
const planned = realInput();
const dataDir = await mkdtemp(join(tmpdir(), "sluice-demo-"));
const receiver = await startReceiver(SECRET);
let collector = await startCollectorProcess({ dataDir, port: 0 });
const { url, writeKey, adminToken, sourceId } = collector.ready;

try {
  process.stderr.write(`${planned.length} messages from 329 GitHub webhooks → ${url} → ${receiver.url}\n`);
  await createDestination();
  const refused = [];
  const analytics = new Analytics({
    writeKey,
    host: url,
    onError: (status, message, { messages }) => refused.push({ status, message, count: messages.length }),
  });

  const bar = progressBar(planned.length);
  const show = () =>
    bar.show(receiver.received.size, kills ? "received (with a SIGKILL halfway)" : "received");
  const half = Math.floor(planned.length / 2);
  for (const message of planned.slice(0, half)) send(analytics, message);
  if (kills) await killHalfway(analytics, planned.slice(half));
  else for (const message of planned.slice(half)) send(analytics, message);

  await analytics.close({ timeoutMs: TIMEOUT_MS });
  const deadline = Date.now() + TIMEOUT_MS;
  while (receiver.received.size < planned.length && Date.now() < deadline) {
    show();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  show();
  bar.end();
  process.exitCode = report({ accepted: analytics.stats().delivered, refused }) ? 0 : 1;
} finally {
  await collector.stop();
  await receiver.close();
  await rm(dataDir, { recursive: true, force: true });
}

function send(analytics, { kind, call }) {
  const messageId = crypto.randomUUID();
  receiver.expected.set(messageId, { kind, call, atMs: performance.now() });
  const receipt = analytics[kind]({ ...call, messageId });
  if (!receipt.accepted) throw new Error(`The SDK refused a ${kind}: ${receipt.reason}`);
}

/** Kills the collector while some messages are delivered, some only accepted, some in flight, and some not sent yet. */
async function killHalfway(analytics, remaining) {
  while (receiver.received.size < 20) await new Promise((resolve) => setTimeout(resolve, 1));
  for (const message of remaining) send(analytics, message);
  await new Promise((resolve) => setTimeout(resolve, 5));
  await collector.kill9();
  process.stderr.write(`\nkilled with ${receiver.received.size} received; starting again\n`);
  collector = await startCollectorProcess({ dataDir, port: Number(new URL(url).port) });
}

async function createDestination() {
  const response = await fetch(`${url}/api/v1/destinations`, {
    method: "POST",
    headers: { authorization: `Bearer ${adminToken}`, "content-type": "application/json" },
    body: JSON.stringify({
      type: "webhooks",
      name: "Demo receiver",
      sourceIds: [sourceId],
      settings: { webhooks: [{ url: receiver.url }], sharedSecret: SECRET },
    }),
  });
  if (response.status !== 201) throw new Error(`The destination was refused: ${await response.text()}`);
}

/** Prints the result. Returns whether every message arrived unchanged. */
function report({ accepted, refused }) {
  const { expected, received, verified, duplicates, differences } = receiver;
  const lost = [...expected.keys()].filter((messageId) => !received.has(messageId));
  const latencies = [...received.values()].sort((a, b) => a - b);
  const percentile = (share) =>
    `${(latencies[Math.ceil(latencies.length * share) - 1] ?? Number.NaN).toFixed(1)} ms`;
  const rows = [
    ["sent", expected.size],
    ["accepted", accepted],
    ["delivered", received.size],
    ["verified", verified.size],
    ["duplicates", duplicates],
    ["lost", lost.length],
    ["different", differences.length],
    ["p50, call to receipt", percentile(0.5)],
    ["p99, call to receipt", percentile(0.99)],
  ];
  process.stdout.write(
    `\n${rows.map(([name, value]) => `${name.padEnd(22)}${String(value).padStart(10)}`).join("\n")}\n`,
  );
  for (const difference of differences.slice(0, 10)) process.stderr.write(`differs: ${difference}\n`);
  for (const { status, message, count } of refused)
    process.stderr.write(`${count} given up: ${status} ${message}\n`);
  const isComplete =
    lost.length === 0 &&
    differences.length === 0 &&
    verified.size === expected.size &&
    accepted === expected.size;
  process.stdout.write(
    isComplete ? "\nNothing was lost, nothing was changed.\n" : "\nSomething was lost or changed.\n",
  );
  return isComplete;
}
