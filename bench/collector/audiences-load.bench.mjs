/**
 * The built collector (`npm run build`) with 100 audiences of 5 conditions, against itself with none:
 *
 *   node bench/collector/audiences-load.bench.mjs [--seconds 5]
 *
 * First how many events a second are taken as fast as they are answered, in turns; then, at 1,000 messages a second of which
 * 5 % make somebody enter an audience, how long it takes from the sending of such a message to the webhook that tells it.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const { values } = parseArgs({ options: { seconds: { type: "string", default: "5" } } });
const seconds = Number(values.seconds);
const script = (name) => fileURLToPath(new URL(name, import.meta.url));

async function startServer(audiences) {
  const child = spawn(process.execPath, [script("audiences-collector.mjs"), String(audiences)], {
    stdio: ["ignore", "pipe", "inherit", "ipc"],
  });
  const [line] = await once(createInterface({ input: child.stdout }), "line");
  return {
    ...JSON.parse(line),
    async figures() {
      child.send("figures");
      const [figures] = await once(child, "message");
      return figures;
    },
    async stop() {
      child.kill("SIGTERM");
      await once(child, "exit");
    },
  };
}

async function load({ port, writeKey }) {
  const options = { port, writeKey, events: 100, connections: 16, seconds };
  const child = spawn(process.execPath, [script("ingest-load.mjs"), JSON.stringify(options)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = await once(createInterface({ input: child.stdout }), "line");
  return JSON.parse(line);
}

for (let round = 0; round < 2; round++) {
  for (const audiences of [0, 100]) {
    const server = await startServer(audiences);
    const { eventsPerSecond, p99Ms } = await load(server);
    process.stdout.write(
      `${String(audiences).padStart(3)} audiences: ${Math.round(eventsPerSecond)} events/s, p99 ${p99Ms.toFixed(1)} ms\n`,
    );
    await server.stop();
  }
}

/** Sends 1,000 messages a second, ten at a time; each twentieth makes a new user enter. The user's id carries when it was sent. */
const server = await startServer(100);
const authorization = `Basic ${btoa(`${server.writeKey}:`)}`;
let number = 0;
const message = () => {
  number += 1;
  const isChange = number % 20 === 0;
  return isChange
    ? { type: "identify", userId: `${number}:${Date.now()}`, traits: { toggle: true } }
    : {
        type: "track",
        userId: `user-${number % 5_000}`,
        event: `Event ${number % 40}`,
        properties: { price: 1 },
      };
};
const requests = [];
const startedMs = performance.now();
for (let sent = 0; sent < seconds * 100; sent++) {
  const waitMs = startedMs + sent * 10 - performance.now();
  if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
  requests.push(
    fetch(`http://127.0.0.1:${server.port}/v1/batch`, {
      method: "POST",
      headers: { authorization },
      body: JSON.stringify({ batch: Array.from({ length: 10 }, message) }),
    }).then((response) => response.text()),
  );
}
await Promise.all(requests);
let figures = await server.figures();
while (figures.changes < Math.floor(number / 20)) {
  await new Promise((resolve) => setTimeout(resolve, 50));
  figures = await server.figures();
}
process.stdout.write(
  `1,000 messages/s: ${figures.changes} changes, to the webhook p50 ${figures.p50Ms} ms, p99 ${figures.p99Ms} ms, worst ${figures.worstMs} ms\n`,
);
await server.stop();

/** The first sync of an audience of 50,000 members, from its creation to the last message in the log. */
const MEMBERS = 50_000;
const syncing = await startServer(0);
const url = `http://127.0.0.1:${syncing.port}`;
for (let first = 0; first < MEMBERS; first += 1_000)
  await fetch(`${url}/v1/batch`, {
    method: "POST",
    headers: { authorization: `Basic ${btoa(`${syncing.writeKey}:`)}` },
    body: JSON.stringify({
      batch: Array.from({ length: 1_000 }, (_, at) => ({
        type: "identify",
        userId: `user-${first + at}`,
        traits: { member: true },
      })),
    }),
  }).then((response) => response.text());
const ask = async (method, path, body) => {
  const response = await fetch(`${url}/api/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${syncing.adminToken}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return response.json();
};
// Answered when all that was sent is counted.
while (
  (
    await fetch(`${url}/api/v1/profiles/user-${MEMBERS - 1}`, {
      headers: { authorization: `Bearer ${syncing.adminToken}` },
    })
  ).status !== 200
);
const syncStartedMs = performance.now();
const { id } = await ask("POST", "/audiences", {
  name: "Everybody",
  condition: { kind: "trait", trait: "member", is: "equals", value: true },
  destinationIds: [syncing.destinationId],
});
while ((await ask("GET", `/audiences/${id}`)).status.state !== "live")
  await new Promise((resolve) => setTimeout(resolve, 20));
const syncMs = performance.now() - syncStartedMs;
process.stdout.write(
  `first sync of ${MEMBERS} members: ${(syncMs / 1_000).toFixed(1)} s, ${Math.round((MEMBERS / syncMs) * 1_000)} members/s\n`,
);
await syncing.stop();
