/**
 * Time from the start of a collector's process to its first 200, with a million messages queued for an unreachable destination:
 *
 *   node bench/collector/restart.bench.mjs [--messages 1000000] [--rounds 3] [--folder DIR]
 *
 * The collector is the built one (`npm run build`). Each round starts it three times: after it was closed, after SIGKILL, and after
 * SIGKILL under load, which leaves a write-ahead log. `--folder` keeps the data folder there and fills it only if it is new, so that
 * filling and measuring can be done at different times. Target: at most 2 s.
 */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { median, reportFigures } from "../figures.mjs";
import { makeBatch } from "./delivery-message.mjs";
import { ADMIN_TOKEN, startCollector } from "./started-collector.mjs";

const { values } = parseArgs({
  options: {
    messages: { type: "string", default: "1000000" },
    rounds: { type: "string", default: "3" },
    folder: { type: "string" },
    "fill-only": { type: "boolean", default: false },
  },
});
const MESSAGES = Number(values.messages);
const folder = values.folder ?? mkdtempSync(join(tmpdir(), "sluice-restart-"));
const noted = join(folder, "bench.json");

async function start() {
  const begunMs = performance.now();
  return { ...(await startCollector(join(folder, "data"))), begunMs };
}

async function call(url, authorization, body) {
  const answer = await fetch(url, {
    method: body === undefined ? "GET" : "POST",
    headers: { authorization, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (!answer.ok) throw new Error(`${url}: ${answer.status} ${await answer.text()}`);
  return answer.json();
}

let sent = 0;
async function append(url, writeKey, count) {
  const batch = makeBatch(sent, count);
  sent += count;
  await call(`${url}/v1/batch`, `Basic ${btoa(`${writeKey}:`)}`, { batch });
}

async function fill() {
  const collector = await start();
  const admin = `Bearer ${ADMIN_TOKEN}`;
  const source = await call(`${collector.url}/api/v1/sources`, admin, { name: "Shop" });
  const destination = await call(`${collector.url}/api/v1/destinations`, admin, {
    type: "webhooks",
    sourceIds: [source.id],
    settings: { webhooks: [{ url: "http://127.0.0.1:9/" }] },
    enabled: true,
  });
  const writeKey = source.writeKeys[0].key;
  const fillers = Array.from({ length: 8 }, async () => {
    while (sent < MESSAGES) await append(collector.url, writeKey, Math.min(500, MESSAGES - sent));
  });
  await Promise.all(fillers);
  await collector.end("SIGTERM");
  writeFileSync(noted, JSON.stringify({ writeKey, destinationId: destination.id }));
}

/** Milliseconds since the start of the process. */
async function toFirst200(collector, writeKey) {
  await append(collector.url, writeKey, 1);
  return performance.now() - collector.begunMs;
}

try {
  if (!existsSync(noted)) {
    mkdirSync(folder, { recursive: true });
    await fill();
  }
  const { writeKey, destinationId } = JSON.parse(readFileSync(noted, "utf8"));
  const times = { "after it was closed": [], "after SIGKILL": [], "after SIGKILL under load": [] };
  for (let round = 0; round < Number(values.rounds) && !values["fill-only"]; round++) {
    let collector = await start();
    times["after it was closed"].push(await toFirst200(collector, writeKey));
    await collector.end("SIGKILL");
    collector = await start();
    times["after SIGKILL"].push(await toFirst200(collector, writeKey));
    const { url } = collector;
    const load = Array.from({ length: 8 }, async () => {
      for (let batch = 0; batch < 40; batch++) await append(url, writeKey, 100);
    });
    await Promise.race(load);
    await collector.end("SIGKILL");
    await Promise.allSettled(load);
    collector = await start();
    times["after SIGKILL under load"].push(await toFirst200(collector, writeKey));
    const { waiting } = await call(
      `${collector.url}/api/v1/destinations/${destinationId}/status`,
      `Bearer ${ADMIN_TOKEN}`,
    );
    console.log(
      `round ${round + 1}: ${waiting.toLocaleString("en")} messages are queued for the destination`,
    );
    await collector.end("SIGTERM");
  }
  for (const [name, ms] of Object.entries(times)) {
    if (ms.length > 0)
      console.log(`${name.padEnd(26)}${ms.map((time) => `${Math.round(time)} ms`).join(", ")}`);
  }
  if (!values["fill-only"])
    reportFigures(
      Object.entries(times).map(([name, ms]) => ({
        name: `first 200 ${name}`,
        unit: "ms",
        ours: median(ms),
      })),
    );
} finally {
  if (values.folder === undefined) rmSync(folder, { recursive: true, force: true });
}
