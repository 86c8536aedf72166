/** What several partitions are good for, for `scale-out.bench.mjs`: one collector owns all of them, then two share them. */
import { callApi, startPartitions, urlOf } from "./bench-cluster.mjs";
import { accept, EVENTS, withCpu } from "./cluster-load.mjs";
import { runLoad } from "./run-load.mjs";

const PARTITIONS = 4;
/** The receiver takes time instead of CPU. */
export const ANSWERS_AFTER_MS = 200;
/** Of the destination, so that a collector delivers 250 messages a second at most: little CPU on any machine. */
export const CONCURRENCY = 50;
const WARM_MS = 2_000;
/** How long a collector may take to join and to be handed its partitions. */
const JOINING_MS = 45_000;

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const makeSource = (url, name, partitions) => callApi(url, "/sources", { name, partitions });

/** Messages a second that the receiver accepts while there is a backlog. */
async function deliveredPerSecond(receiver, port, seconds) {
  const accepted = async () => ({
    atMs: performance.now(),
    count: (await receiver.ask({ report: true })).report[port].accepted,
  });
  await pause(WARM_MS);
  const before = await accepted();
  await pause(seconds * 1_000);
  const after = await accepted();
  return {
    perSecond: ((after.count - before.count) * 1_000) / (after.atMs - before.atMs),
    sofar: after.count,
  };
}

/** A backlog for a slow receiver, by one collector and by two. Starts the second one. */
async function slowReceiver(cluster, receiver, seconds) {
  const url = urlOf(cluster.first);
  const {
    ports: [port],
  } = await receiver.ask({ listen: 1 });
  receiver.tell({ port, mode: "ok", afterMs: ANSWERS_AFTER_MS });
  const source = await makeSource(url, "slow", PARTITIONS);
  const { id } = await callApi(url, "/destinations", {
    type: "webhooks",
    sourceIds: [source.id],
    settings: {
      webhooks: [{ url: `http://127.0.0.1:${port}/hook` }],
      sharedSecret: "a shared secret",
      concurrency: CONCURRENCY,
    },
    enabled: true,
  });
  const most = (2 * CONCURRENCY * 1_000) / ANSWERS_AFTER_MS;
  const requests = Math.ceil((most * (JOINING_MS + 2 * (WARM_MS + seconds * 1_000))) / 1_000 / EVENTS);
  const { port: to } = cluster.first;
  const writeKey = source.writeKeys[0].key;
  await runLoad({ port: to, writeKey, events: EVENTS, connections: 8, seconds: 600, requests });
  const one = await deliveredPerSecond(receiver, port, seconds);
  await cluster.addSecond();
  const two = await deliveredPerSecond(receiver, port, seconds);
  if (two.sofar > requests * EVENTS - most)
    throw new Error("the backlog ended before the second collector was measured: is the machine very busy?");
  await callApi(url, `/destinations/${id}`, undefined, "DELETE");
  return { one: one.perSecond, two: two.perSecond };
}

/** Half of the clients are connected to each collector, as a load balancer does it. */
async function acceptByBoth({ first, second }, writeKey, seconds) {
  const halves = await Promise.all([first, second].map((one) => accept(one, writeKey, seconds, 8)));
  const sum = (read) => halves.reduce((total, half) => total + read(half), 0);
  const messages = sum((half) => half.messages);
  return {
    messages,
    perSecond: sum((half) => half.perSecond),
    clientMicros: sum((half) => half.clientMicros * half.messages) / messages,
  };
}

async function spreading(cluster, seconds) {
  const url = urlOf(cluster.first);
  const kinds = { collectors: [cluster.first, cluster.second], servers: cluster.servers };
  const measured = {};
  for (const [name, partitions] of [
    ["whole", 1],
    ["spread", PARTITIONS],
  ]) {
    const source = await makeSource(url, name, partitions);
    const { key } = source.writeKeys[0];
    await acceptByBoth(cluster, key, 1);
    measured[name] = await withCpu(kinds, () => acceptByBoth(cluster, key, seconds));
  }
  return measured;
}

/** `receiver`: of `delivery-receiver.mjs`. `seconds`: of each load. */
export async function measurePartitions(directory, receiver, seconds) {
  const cluster = await startPartitions(directory, PARTITIONS);
  try {
    const slow = await slowReceiver(cluster, receiver, seconds);
    return { slow, ...(await spreading(cluster, seconds)) };
  } finally {
    await cluster.close();
  }
}
