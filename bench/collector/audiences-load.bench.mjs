/**
 * Compares the built collector (`npm run build`) with 1,000,000 profiles and 100 audiences of 5 conditions to itself with the same
 * profiles and no audience:
 *
 *   node bench/collector/audiences-load.bench.mjs prepare FOLDER [--profiles 1000000]    makes the data, once
 *   node bench/collector/audiences-load.bench.mjs ratio FOLDER [--seconds 5] [--rounds 2]
 *   node bench/collector/audiences-load.bench.mjs change FOLDER [--seconds 10]
 *   node bench/collector/audiences-load.bench.mjs sync FOLDER
 *
 * `ratio` sends messages of random users as fast as they are answered, alternating between the two; then it prints how far behind
 * the evaluation is and how fast it catches up. `change` sends 1,000 messages a second, 5 % of which make a user enter an audience,
 * and measures from sending such a message to the webhook about it. `sync` adds an audience of half of the users and waits until its
 * last member is in the log.
 */
import { fork, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { conditionOf, identify, sequence } from "./audience-definitions.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    profiles: { type: "string", default: "1000000" },
    seconds: { type: "string" },
    rounds: { type: "string", default: "2" },
  },
});
const [command, folder] = positionals;
const profiles = Number(values.profiles);
const AUDIENCES = 100;
const script = (name) => fileURLToPath(new URL(name, import.meta.url));
const say = (line) => process.stdout.write(`${line}\n`);
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const userId = (user) => `user-${String(user).padStart(7, "0")}`;

// ── The receiver runs in this process, so that it does not count for the collector ──
const latencies = [];
const receiver = createServer((request, response) => {
  const chunks = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () => {
    response.end();
    const { traits, userId: id } = JSON.parse(Buffer.concat(chunks).toString());
    if (traits?.toggled !== undefined) latencies.push(Date.now() - Number(id.split(":")[1]));
  });
});
await new Promise((resolve) => receiver.listen(0, "127.0.0.1", resolve));

async function startServer(directory) {
  const child = fork(script("audiences-collector.mjs"), [directory]);
  const [{ url, port, writeKey, adminToken }] = await once(child, "message");
  const api = async (method, path, body) => {
    const response = await fetch(`${url}/api/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${adminToken}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(await response.text());
    return response.status === 204 ? undefined : response.json();
  };
  const settings = { webhooks: [{ url: `http://127.0.0.1:${receiver.address().port}/` }] };
  const [known] = (await api("GET", "/destinations")).items;
  const destination =
    known === undefined
      ? await api("POST", "/destinations", { type: "webhooks", sourceIds: [], settings })
      : await api("PATCH", `/destinations/${known.id}`, { settings });
  return {
    port,
    writeKey,
    api,
    destinationId: destination.id,
    send: async (batch) => {
      const response = await fetch(`${url}/v1/batch`, {
        method: "POST",
        headers: { authorization: `Basic ${btoa(`${writeKey}:`)}` },
        body: JSON.stringify({ batch }),
      });
      if (!response.ok) throw new Error(await response.text());
      await response.text();
    },
    behind: async () => {
      const metrics = await (await fetch(`${url}/metrics`)).text();
      return Number(/^sluice_audiences_backlog_messages (\d+)$/m.exec(metrics)[1]);
    },
    rssMb: async () => {
      child.send("figures");
      const [{ rssBytes }] = await once(child, "message");
      return Math.round(rssBytes / 2 ** 20);
    },
    stop: async () => {
      child.kill("SIGTERM");
      await once(child, "exit");
    },
  };
}

/** Waits until everything is evaluated, and resolves with the time it took. */
async function caughtUp(server) {
  const startedMs = performance.now();
  while ((await server.behind()) > 0) await pause(20);
  return performance.now() - startedMs;
}

async function allLive(server) {
  for (;;) {
    const { items } = await server.api("GET", "/audiences?limit=200");
    if (items.every((audience) => audience.status.state === "live")) return;
    await pause(500);
  }
}

const PLAIN = join(folder, "plain");
const WITH_AUDIENCES = join(folder, "audiences");

async function prepare() {
  const random = sequence(7);
  const server = await startServer(PLAIN);
  let startedMs = performance.now();
  for (let first = 0; first < profiles; first += 2_000)
    await Promise.all(
      [0, 1_000].map((more) =>
        server.send(
          Array.from({ length: 1_000 }, (_, index) => ({
            ...identify(first + more + index, random),
            userId: userId(first + more + index),
          })),
        ),
      ),
    );
  say(`${profiles} identify messages taken in ${((performance.now() - startedMs) / 1_000).toFixed(1)} s`);
  say(
    `evaluated ${((await caughtUp(server)) / 1_000).toFixed(1)} s later; ${await server.rssMb()} MB in memory`,
  );
  await server.stop();
  cpSync(PLAIN, WITH_AUDIENCES, { recursive: true });

  const evaluated = await startServer(WITH_AUDIENCES);
  startedMs = performance.now();
  const make = (name, condition) =>
    evaluated.api("POST", "/audiences", { name, condition, destinationIds: [evaluated.destinationId] });
  for (let number = 0; number < AUDIENCES; number++) await make(`Audience ${number}`, conditionOf(number));
  await make("Toggled", { kind: "trait", trait: "toggle", is: "equals", value: true });
  await allLive(evaluated);
  say(
    `${AUDIENCES} audiences made and evaluated for all: ${((performance.now() - startedMs) / 1_000).toFixed(1)} s; ${await evaluated.rssMb()} MB in memory`,
  );
  await evaluated.stop();
}

async function ratio() {
  const seconds = Number(values.seconds ?? 5);
  const rates = { [PLAIN]: [], [WITH_AUDIENCES]: [] };
  for (let round = 0; round < Number(values.rounds); round++) {
    for (const directory of [PLAIN, WITH_AUDIENCES]) {
      const server = await startServer(directory);
      const { port, writeKey } = server;
      const options = JSON.stringify({ port, writeKey, users: profiles, seconds });
      const load = spawn(process.execPath, [script("audiences-load.mjs"), options], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      const [line] = await once(createInterface({ input: load.stdout }), "line");
      const { messagesPerSecond, p99Ms } = JSON.parse(line);
      const behind = await server.behind();
      const tookMs = await caughtUp(server);
      rates[directory].push(messagesPerSecond);
      say(
        `${directory === PLAIN ? "  0" : AUDIENCES} audiences: ${Math.round(messagesPerSecond)} messages/s, p99 ${p99Ms.toFixed(1)} ms; ${behind} behind at the end, caught up in ${(tookMs / 1_000).toFixed(1)} s: ${Math.round((behind / tookMs) * 1_000)} messages/s; ${await server.rssMb()} MB`,
      );
      await server.stop();
    }
  }
  const mean = (numbers) => numbers.reduce((sum, one) => sum + one, 0) / numbers.length;
  say(
    `with audiences: ${Math.round((100 * mean(rates[WITH_AUDIENCES])) / mean(rates[PLAIN]))} % of the rate without`,
  );
}

/** Sends 1,000 messages a second, ten at a time; every twentieth makes a new user enter. The user's id contains the time of sending. */
async function change() {
  const seconds = Number(values.seconds ?? 10);
  const server = await startServer(WITH_AUDIENCES);
  const random = sequence(Date.now());
  let number = 0;
  const message = () => {
    number += 1;
    if (number % 20 === 0)
      return { type: "identify", userId: `${number}:${Date.now()}`, traits: { toggle: true } };
    const event = `Event ${number % 40}`;
    return { type: "track", userId: userId(random(profiles)), event, properties: { price: number % 100 } };
  };
  const requests = [];
  const startedMs = performance.now();
  for (let sent = 0; sent < seconds * 100; sent++) {
    const waitMs = startedMs + sent * 10 - performance.now();
    if (waitMs > 0) await pause(waitMs);
    requests.push(server.send(Array.from({ length: 10 }, message)));
  }
  await Promise.all(requests);
  while (latencies.length < Math.floor(number / 20)) await pause(20);
  latencies.sort((a, b) => a - b);
  const at = (share) => latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * share))];
  say(
    `1,000 messages/s: ${latencies.length} changes, to the webhook p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, worst ${latencies.at(-1)} ms; ${await server.rssMb()} MB in memory`,
  );
  await server.stop();
}

async function sync() {
  const server = await startServer(PLAIN);
  const startedMs = performance.now();
  const { id } = await server.api("POST", "/audiences", {
    name: `Half ${Date.now()}`,
    condition: { kind: "trait", trait: "seats", is: "greater", value: 30 },
    destinationIds: [server.destinationId],
  });
  let audience = await server.api("GET", `/audiences/${id}`);
  while (audience.status.state !== "live") {
    await pause(50);
    audience = await server.api("GET", `/audiences/${id}`);
  }
  const tookMs = performance.now() - startedMs;
  say(
    `an audience of ${audience.size} among ${profiles}: ${(tookMs / 1_000).toFixed(1)} s, ${Math.round((audience.size / tookMs) * 1_000)} members/s; ${await server.rssMb()} MB in memory`,
  );
  await server.api("DELETE", `/audiences/${id}`);
  await server.stop();
}

const COMMANDS = { prepare, ratio, change, sync };
if (!Object.hasOwn(COMMANDS, command) || folder === undefined)
  throw new Error("a command and a folder are required: see the top of this file");
if (command !== "prepare" && !existsSync(WITH_AUDIENCES)) throw new Error(`prepare ${folder} first`);
try {
  await COMMANDS[command]();
} finally {
  receiver.closeAllConnections();
  receiver.close();
}
