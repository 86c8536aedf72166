/**
 * What a start costs: time from the start of a collector's process until it listens, answers its first 200 and delivers its first
 * message; the CPU time of all threads until then; and memory.
 *
 *   npm run build && node bench/collector/start.bench.mjs [--rounds 10] [--messages 100000] [--base FOLDER] [--command] [--only cold|restart]
 *
 * - `cold`: the data folder has a source and a destination, and no messages. The bench sends one as soon as the collector listens.
 * - `restart`: so many messages wait for the destination, which was down until now. Nothing is sent.
 *
 * The collector starts by turns with a floor (`start-floor.mjs`), and the table has the ratios. `--base` names the folder of another
 * built clone, to compare with that instead. `--command` starts `sluice collector` instead of the collector's own entry. CPU time and
 * memory are read from /proc, so only Linux shows them.
 */
import {
  closeSync,
  cpSync,
  fsyncSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { median, reportFigures } from "../figures.mjs";
import { makeBatch } from "./delivery-message.mjs";
import { ADMIN_TOKEN, spawnCollector } from "./started-collector.mjs";

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "10" },
    messages: { type: "string", default: "100000" },
    base: { type: "string" },
    command: { type: "boolean", default: false },
    only: { type: "string" },
  },
});
const MESSAGES = Number(values.messages);
const OURS = fileURLToPath(new URL("../../", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "sluice-start-"));

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** The receiver of webhooks. `onAccepted` is called at each request that it answers with 200. */
const receiver = { isUp: true, onAccepted: () => {} };
const server = createServer((request, response) => {
  request.resume();
  response.statusCode = receiver.isUp ? 200 : 503;
  response.end();
  if (receiver.isUp) receiver.onAccepted(performance.now());
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const TARGET = `http://127.0.0.1:${server.address().port}/`;

/** CPU seconds of all threads, and resident memory in bytes. Undefined except on Linux. */
function usageOf(pid) {
  try {
    const nanoseconds = readdirSync(`/proc/${pid}/task`).map((task) =>
      Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, "utf8").split(" ")[0]),
    );
    const pages = Number(readFileSync(`/proc/${pid}/statm`, "utf8").split(" ")[1]);
    return { cpuMs: nanoseconds.reduce((sum, one) => sum + one, 0) / 1e6, rssBytes: pages * 4_096 };
  } catch {
    return { cpuMs: Number.NaN, rssBytes: Number.NaN };
  }
}

const FLOOR = [fileURLToPath(new URL("start-floor.mjs", import.meta.url))];

function argsOf(build) {
  return values.command
    ? [join(build, "packages/cli/bin/sluice.cjs"), "collector"]
    : [join(build, "apps/collector/dist/main.js")];
}

async function call(url, authorization, body) {
  const answer = await fetch(url, {
    method: "POST",
    headers: { authorization, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(`${url}: ${answer.status} ${await answer.text()}`);
  return answer.json();
}

const append = (url, writeKey, batch) => call(`${url}/v1/batch`, `Basic ${btoa(`${writeKey}:`)}`, { batch });

/** Fills a data folder with a source, a destination, and messages that wait for it. */
async function fill(name, messages) {
  const data = join(folder, name);
  const collector = spawnCollector(argsOf(values.base ?? OURS), data);
  const url = await collector.listening;
  const admin = `Bearer ${ADMIN_TOKEN}`;
  const source = await call(`${url}/api/v1/sources`, admin, { name: "Shop" });
  await call(`${url}/api/v1/destinations`, admin, {
    type: "webhooks",
    sourceIds: [source.id],
    settings: { webhooks: [{ url: TARGET }] },
    enabled: true,
  });
  const writeKey = source.writeKeys[0].key;
  receiver.isUp = false;
  for (let sent = 0; sent < messages; sent += 500)
    await append(url, writeKey, makeBatch(sent, Math.min(500, messages - sent)));
  // Until profiles are updated and the log's index is written.
  for (let before = Number.NEGATIVE_INFINITY; ; ) {
    const { cpuMs } = usageOf(collector.pid);
    if (!(cpuMs - before > 20)) break;
    before = cpuMs;
    await sleep(1_000);
  }
  await collector.end("SIGTERM");
  receiver.isUp = true;
  return { data, writeKey };
}

/** The same for the floor: a file of messages, and the receiver's URL. */
function fillFloor(name, messages) {
  const data = join(folder, `${name}-floor`);
  mkdirSync(data);
  writeFileSync(join(data, "target"), TARGET);
  const lines = makeBatch(0, messages).map((message) => `${JSON.stringify(message)}\n`);
  writeFileSync(join(data, "log"), lines.join(""));
  return { data, writeKey: "floor" };
}

/** The processes that start by turns, each on a data folder of its own kind. */
async function sidesOf(name, messages) {
  const filled = await fill(name, messages);
  return {
    ours: { args: argsOf(OURS), ...filled },
    ...(values.base === undefined
      ? { floor: { args: FLOOR, ...fillFloor(name, messages) } }
      : { base: { args: argsOf(values.base), ...filled } }),
  };
}

function syncFiles(data) {
  for (const name of readdirSync(data)) {
    const file = openSync(join(data, name), "r+");
    fsyncSync(file);
    closeSync(file);
  }
}

/** One start with a copy of a data folder. */
async function measure({ args, data, writeKey }, isCold) {
  const copy = join(folder, "copy");
  cpSync(data, copy, { recursive: true });
  // As after a real stop: otherwise the collector's first sync would also write the whole copy.
  syncFiles(copy);
  const delivered = new Promise((resolve) => {
    receiver.onAccepted = resolve;
  });
  const collector = spawnCollector(args, copy);
  const url = await collector.listening;
  const listening = performance.now() - collector.startedMs;
  const figures = { listening };
  if (isCold) {
    await append(url, writeKey, makeBatch(0, 1));
    figures.first200 = performance.now() - collector.startedMs;
  }
  figures.delivery = (await delivered) - collector.startedMs;
  figures.cpu = usageOf(collector.pid).cpuMs;
  if (isCold) {
    await sleep(1_500);
    const { cpuMs, rssBytes } = usageOf(collector.pid);
    figures.cpuLater = cpuMs;
    figures.memory = rssBytes / 1e6;
  }
  await collector.end("SIGKILL");
  rmSync(copy, { recursive: true, force: true });
  return figures;
}

const NAMES = {
  listening: ["until it listens", "ms"],
  first200: ["until the first 200", "ms"],
  delivery: ["until the first delivery", "ms"],
  cpu: ["CPU until the first delivery", "ms"],
  cpuLater: ["CPU until 1.5 s later", "ms"],
  memory: ["memory 1.5 s later", "MB"],
};

try {
  const scenarios = {};
  if (values.only !== "restart") scenarios.cold = await sidesOf("cold", 0);
  if (values.only !== "cold") scenarios.restart = await sidesOf("restart", MESSAGES);
  const measured = {};
  for (let round = 0; round < Number(values.rounds); round++) {
    for (const [scenario, sides] of Object.entries(scenarios)) {
      const entries = Object.entries(sides);
      // The one that goes first changes from round to round.
      for (const [side, filled] of round % 2 === 0 ? entries : entries.toReversed()) {
        const figures = await measure(filled, scenario === "cold");
        for (const [figure, value] of Object.entries(figures)) {
          measured[`${scenario} ${figure}`] ??= { scenario, figure, ours: [], peer: [] };
          measured[`${scenario} ${figure}`][side === "ours" ? "ours" : "peer"].push(value);
        }
      }
    }
  }
  const peerName = values.base === undefined ? "floor" : "base";
  const figures = Object.values(measured).map(({ scenario, figure, ours, peer }) => {
    const [name, unit] = NAMES[figure];
    return { name: `${scenario}: ${name}`, unit, ours: median(ours), peer: median(peer), peerName };
  });
  for (const { name, unit, ours, peer } of figures)
    console.log(
      `${name.padEnd(40)}${ours.toFixed(0).padStart(6)} ${unit}   ${peerName} ${peer.toFixed(0).padStart(6)} ${unit}   × ${(ours / peer).toFixed(3)}`,
    );
  if (values.base === undefined) reportFigures(figures);
} finally {
  server.close();
  server.closeAllConnections();
  rmSync(folder, { recursive: true, force: true });
}
