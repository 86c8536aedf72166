// Sends 329 real webhook payloads of GitHub through all of Sluice and back:
//
//   this script ── @sluice/node ──▶ sluice dev (another process) ── signed webhooks ──▶ a receiver in this script
//
// The receiver compares every body with the original. With --kill the collector is killed with SIGKILL halfway and started again with
// the same data. Without it, a second part sends 100 messages a second and measures how long each takes. With --cluster, three collectors
// on three NATS servers stand behind one address (`npm run cluster`); --kill kills the one that does the work, and another one takes over.
// The exit code is 1 if anything is lost or differs.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { Analytics } from "@sluice/node";
import { ClusterRefused, startClusterProcess } from "./cluster-process.mjs";
import { startCollectorProcess } from "./collector-process.mjs";
import { measureLatency, percentile, RATE_PER_SECOND, SECONDS } from "./measure-latency.mjs";
import { progressBar } from "./progress-bar.mjs";
import { realInput } from "./real-input.mjs";
import { startReceiver } from "./receiver.mjs";

const SECRET = "demo-secret";
/** Longer than a slow machine needs, including the restart. */
const TIMEOUT_MS = 90_000;

const { values } = parseArgs({
  options: {
    kill: { type: "boolean", default: false },
    cluster: { type: "boolean", default: false },
  },
});
const { kill: kills, cluster: isCluster } = values;
const planned = realInput();
const dataDir = await mkdtemp(join(tmpdir(), "sluice-demo-"));
const receiver = await startReceiver(SECRET);
let collector = await start().catch(async (error) => {
  await receiver.close();
  await rm(dataDir, { recursive: true, force: true });
  if (!(error instanceof ClusterRefused)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exit(1);
});
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
  if (isCluster && kills) process.stderr.write(`collector ${await collector.owner()} is the owner now\n`);
  const isComplete = report({ accepted: analytics.stats().delivered, refused });
  process.exitCode = isComplete ? 0 : 1;
  // Messages that waited for a killed collector say nothing about the latency of others.
  if (isComplete && !kills) reportLatency(await measureLatency({ url, writeKey, receiver, planned }));
} finally {
  const code = await collector.stop();
  if (code !== 0) {
    process.stderr.write(`The collector ended with ${code} instead of 0.\n`);
    process.exitCode = 1;
  }
  await receiver.close();
  await rm(dataDir, { recursive: true, force: true });
}

function start() {
  return isCluster ? startClusterProcess({ dataDir }) : startCollectorProcess({ dataDir, port: 0 });
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
  if (isCluster) {
    const name = await collector.killOwner();
    process.stderr.write(
      `\nkilled ${name}, the owner, with ${receiver.received.size} received; another collector takes over\n`,
    );
    return;
  }
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

/** Prints how long single messages take. The burst above would only show how long its queue was. */
function reportLatency(latencies) {
  const rows = [
    ["p50", 0.5],
    ["p95", 0.95],
    ["p99", 0.99],
    ["slowest", 1],
  ].map(
    ([name, share]) => `${name.padEnd(22)}${`${percentile(latencies, share).toFixed(1)} ms`.padStart(10)}`,
  );
  const sent = RATE_PER_SECOND * SECONDS;
  process.stdout.write(
    `\nFrom the call to the receipt of the webhook, at ${RATE_PER_SECOND} messages a second for ${SECONDS} s (${latencies.length} of ${sent} received):\n${rows.join("\n")}\n`,
  );
  if (latencies.length < sent) process.exitCode = 1;
}

/** Prints the result. Returns whether every message arrived unchanged. */
function report({ accepted, refused }) {
  const { expected, received, verified, duplicates, differences } = receiver;
  const lost = [...expected.keys()].filter((messageId) => !received.has(messageId));
  const rows = [
    ["sent", expected.size],
    ["accepted", accepted],
    ["delivered", received.size],
    ["verified", verified.size],
    ["duplicates", duplicates],
    ["lost", lost.length],
    ["different", differences.length],
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
