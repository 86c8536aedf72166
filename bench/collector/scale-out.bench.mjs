/**
 * A collector on its own compared with a cluster, in one run on one machine: three collectors on three NATS servers that sync every write.
 * Load, receiver, collectors and servers share its cores, so that rates are those of this machine; CPU per message is what to compute with.
 *
 *   npm run nats:install
 *   npm run build && node bench/collector/scale-out.bench.mjs [--seconds 4] [--rate 8000] [--takeovers 3] [--rounds 3]
 *
 * - Accepted: batches of 100 from 16 connections, as fast as they are answered, without a destination. "Through a follower": the same,
 *   sent to a process that passes it on.
 * - Latency: of batches of 100 at 2,000 messages a second.
 * - End to end: batches of 100 at a rate, to one webhook that answers at once; messages a second from the first request to the last
 *   receipt. It is below the rate if the collectors cannot keep up.
 * - Takeover: the longest time without a 200 for clients of the other processes.
 *
 * CPU: of all processes of a kind until they are idle, without what they use when they have nothing to do.
 */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
// @boundaries-ignore the servers are those of the tests
import { findNatsServer } from "../../test/nats/nats-server.ts";
import { median, reportFigures, reportSkipped } from "../figures.mjs";
import { callApi, startAlone, startCluster, urlOf } from "./bench-cluster.mjs";
import { accept, EVENTS, withCpu } from "./cluster-load.mjs";
import { forked } from "./forked.mjs";
import { runLoad } from "./run-load.mjs";
import { figuresOf, tables } from "./scale-out-tables.mjs";
import { takeoverMs } from "./takeover.mjs";

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "4" },
    rate: { type: "string", default: "8000" },
    takeovers: { type: "string", default: "3" },
    rounds: { type: "string", default: "3" },
  },
});
const SECONDS = Number(values.seconds);
const RATE = Number(values.rate);
const LATENCY_RATE = 2_000;

const server = findNatsServer();
if (server.kind === "missing") {
  process.stderr.write(`scale-out: ${server.reason}\n`);
  reportSkipped(server.reason);
  process.exit(0);
}

const receiver = forked(new URL("delivery-receiver.mjs", import.meta.url));

async function endToEnd({ port }, writeKey, seconds, rate, receiverPort, received) {
  const startedMs = performance.now();
  const load = await runLoad({
    ...{ port, writeKey, events: EVENTS, connections: 8, isStamped: true },
    ...{ seconds, requestsPerSecond: rate / EVENTS },
  });
  const messages = load.sent * EVENTS;
  received.count += messages;
  await receiver.ask({ port: receiverPort, until: received.count });
  const perSecond = messages / ((performance.now() - startedMs) / 1_000);
  return { messages, perSecond, clientMicros: load.cpuMicrosPerEvent };
}

const percentile = (sorted, share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];

const kindsOf = ({ owner, followers, servers }) => ({
  collector: [owner],
  ...(servers.length === 0 ? {} : { followers, servers }),
});

/** Everything but takeovers. */
async function measure(target) {
  const kinds = kindsOf(target);
  const url = urlOf(target.owner);
  const {
    ports: [port],
  } = await receiver.ask({ listen: 1 });
  const [stored, delivered] = [
    await callApi(url, "/sources", { name: "stored" }),
    await callApi(url, "/sources", { name: "delivered" }),
  ];
  await callApi(url, "/destinations", {
    type: "webhooks",
    sourceIds: [delivered.id],
    settings: {
      webhooks: [{ url: `http://127.0.0.1:${port}/hook` }],
      sharedSecret: "a shared secret",
      concurrency: 50,
    },
    enabled: true,
  });
  const key = stored.writeKeys[0].key;
  await accept(target.owner, key, 1);
  const accepted = await withCpu(kinds, () => accept(target.owner, key, SECONDS));
  const [follower] = target.followers;
  const passed =
    follower === undefined ? accepted : await withCpu(kinds, () => accept(follower, key, SECONDS));
  const { p50Ms, p99Ms } = await runLoad({
    ...{ port: target.owner.port, writeKey: key, events: EVENTS, connections: 8, seconds: SECONDS },
    ...{ warmSeconds: 1, requestsPerSecond: LATENCY_RATE / EVENTS },
  });
  const received = { count: 0 };
  const deliver = (rate, seconds) =>
    endToEnd(target.owner, delivered.writeKeys[0].key, seconds, rate, port, received);
  await deliver(RATE, 1);
  const e2e = await withCpu(kinds, () => deliver(RATE, SECONDS));
  await receiver.ask({ report: true });
  await deliver(LATENCY_RATE, SECONDS);
  const { latencies } = (await receiver.ask({ report: true })).report[port];
  latencies.sort((a, b) => a - b);
  return { accepted, passed, p50Ms, p99Ms, e2e, receiptMs: percentile(latencies, 0.5) };
}

async function takeovers(cluster) {
  const source = await callApi(urlOf(cluster.owner), "/sources", { name: "probed" });
  const took = { SIGKILL: [], SIGTERM: [] };
  for (let turn = 0; turn < Number(values.takeovers); turn++) {
    for (const signal of Object.keys(took)) {
      const { owner, followers } = await cluster.whole();
      took[signal].push(await takeoverMs({ owner, followers, signal, writeKey: source.writeKeys[0].key }));
      await owner.start();
    }
  }
  return { killed: median(took.SIGKILL), stopped: median(took.SIGTERM) };
}

async function round(directory) {
  mkdirSync(directory);
  const alone = await startAlone(directory);
  const one = await measure(alone);
  await alone.close();
  const cluster = await startCluster(directory);
  const three = await measure(cluster);
  const took = await takeovers(cluster);
  await cluster.close();
  rmSync(directory, { recursive: true });
  return figuresOf({ one, three, took, rate: RATE, latencyRate: LATENCY_RATE });
}

const folder = mkdtempSync(join(tmpdir(), "sluice-scale-out-"));
const rounds = [];
try {
  for (let number = 1; number <= Number(values.rounds); number++)
    rounds.push(await round(join(folder, String(number))));
} finally {
  await receiver.end();
  rmSync(folder, { recursive: true, force: true });
}
const { figures, text } = tables(rounds);
console.log(text);
reportFigures(figures);
