/**
 * Memory of the built collector while it evaluates users with large nested traits, by phase: messages, audiences, joins, reads, deletions,
 * a restart. Many small objects take twenty times their text in memory.
 *
 *   npm run build && node bench/collector/large-traits.bench.mjs [--users 5000] [--kb 24] [--audiences 30]
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { reportFigures } from "../figures.mjs";
import { ADMIN_TOKEN, startCollector } from "./started-collector.mjs";

const { values } = parseArgs({
  options: {
    users: { type: "string", default: "5000" },
    kb: { type: "string", default: "24" },
    audiences: { type: "string", default: "30" },
  },
});
const [users, kb, audiences] = [values.users, values.kb, values.audiences].map(Number);
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const folder = mkdtempSync(join(tmpdir(), "sluice-large-traits-"));
let collector = await startCollector(folder);

// ── Memory ──
const rssMb = () =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${collector.pid}/status`, "utf8"))[1]) / 1_024;
let peakMb = 0;
let mostMb = 0;
let sampling;
function sample() {
  sampling = setInterval(() => {
    peakMb = Math.max(peakMb, rssMb());
  }, 100);
}
sample();
function phase(name) {
  peakMb = Math.max(peakMb, rssMb());
  console.log(`${name}: at most ${Math.round(peakMb)} MB`);
  mostMb = Math.max(mostMb, peakMb);
  peakMb = 0;
}

// ── The collector's APIs ──
async function api(method, path, body) {
  const response = await fetch(`${collector.url}/api/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${ADMIN_TOKEN}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  // Stored, and taken up when the collector has time: what follows waits for that.
  if (!response.ok && JSON.parse(text).code !== "not_in_force") throw new Error(`${method} ${path}: ${text}`);
  return JSON.parse(text);
}
const { writeKeys } = await api("POST", "/sources", { name: "Traits", kind: "server" });
const [{ key: writeKey }] = writeKeys;
async function send(batch) {
  const response = await fetch(`${collector.url}/v1/batch`, {
    method: "POST",
    headers: { authorization: `Basic ${btoa(`${writeKey}:`)}` },
    body: JSON.stringify({ batch }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(text);
}
async function caughtUp() {
  while ((await api("GET", "/audience-engine")).behind > 0) await pause(200);
}

// ── The load ──
function nestedTraits(seed) {
  const traits = {};
  for (let number = 0, bytes = 0; bytes < kb * 1_024; number++) {
    const value = [
      { a: number, b: [[1], [2], [{}], [{ c: seed % 7 }]] },
      {},
      [],
      [[]],
      { d: { e: { f: {} } } },
    ];
    traits[`t${number}`] = value;
    bytes += JSON.stringify(value).length + 8;
  }
  return traits;
}
let sent = 0;
async function identifyAll(round) {
  const perBatch = Math.max(1, Math.floor(400 / kb));
  let next = 0;
  const sendSome = async () => {
    while (next < users) {
      const first = next;
      next += perBatch;
      const count = Math.min(perBatch, users - first);
      await send(
        Array.from({ length: count }, (_, index) => ({
          type: "identify",
          messageId: `m${sent++}`,
          userId: `user-${first + index}`,
          anonymousId: `anonymous-${first + index}-${round}`,
          traits: { plan: index % 2 === 0 ? "team" : "pro", ...nestedTraits(first + index + round) },
        })),
      );
    }
  };
  await Promise.all([sendSome(), sendSome(), sendSome()]);
  await caughtUp();
}

await identifyAll(0);
phase(`${users} users with ${kb} KB of traits each`);
for (let number = 0; number < audiences; number++) {
  const condition = { kind: "trait", trait: `t${number % 5}`, is: "exists" };
  await api("POST", "/audiences", { name: `Audience ${number}`, destinationIds: [], condition });
}
while ((await api("GET", "/audiences?limit=200")).items.some(({ status }) => status.state !== "live"))
  await pause(200);
phase(`${audiences} audiences computed for all`);
await identifyAll(1);
phase("all traits changed");
for (let user = 0; user + 1 < users; user += 2)
  await send([
    {
      type: "alias",
      messageId: `m${sent++}`,
      previousId: `anonymous-${user}-0`,
      userId: `user-${user + 1}`,
    },
  ]);
await caughtUp();
phase("half of the users joined");
await Promise.all(
  Array.from({ length: 200 }, (_, index) => api("GET", `/profiles/user-${index % users}`).catch(() => {})),
);
phase("200 profiles read at once");
const userIds = Array.from({ length: 20 }, (_, index) => `user-${index}`);
await api("POST", "/deletions", { userIds });
while ((await api("GET", "/deletions")).items.some(({ status }) => status === "running")) await pause(200);
phase("20 users deleted");
clearInterval(sampling);
await collector.end("SIGTERM");
collector = await startCollector(folder);
sample();
await identifyAll(2);
phase("restarted, and all traits changed again");
clearInterval(sampling);
await collector.end("SIGTERM");
rmSync(folder, { recursive: true });
reportFigures([{ name: "most memory with large traits", unit: "MB", ours: mostMb }]);
