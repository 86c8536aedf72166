/**
 * Runs a collector. Sends `{port, url, writeKey}` when it is ready, and takes messages: `{destinations: [url], settings}` → `{ids}`;
 * `{append: n}` appends n messages and answers when they are synced; `{mark: true}` notes the CPU time; `{cpu: true}` → CPU since then,
 * memory and store size; `{wake: id}`; `{send: n, sentAtMs}` appends without answering. With an argument, the URL of an OTLP endpoint,
 * it exports traces, sampled as `OTEL_TRACES_SAMPLER` says. `SLUICE_BENCH_WORKERS`: how many threads work.
 */
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { importBuilt } from "../build.mjs";
import { makeBatch } from "./delivery-message.mjs";

const { createLogger, startCollector } = await importBuilt("apps/collector/dist/index.js");

const [, , endpoint] = process.argv;
async function startTracing() {
  if (endpoint === undefined) return undefined;
  const { startTelemetry } = await importBuilt("packages/opentelemetry/dist/index.js");
  return startTelemetry({ endpoint, version: "bench" });
}
const telemetry = await startTracing();

const dataDirectory = mkdtempSync(join(tmpdir(), "sluice-delivery-"));
const collector = await startCollector({
  mode: "dev",
  host: "127.0.0.1",
  port: 0,
  dataDirectory,
  logger: createLogger({ level: "error" }),
  allowTargets: ["127.0.0.0/8"],
  workers: Number(process.env.SLUICE_BENCH_WORKERS ?? 1),
  ...(telemetry === undefined ? {} : { tracing: telemetry.tracing }),
});
const { writeKey, adminToken, sourceId } = collector.firstRun;

async function call(path, authorization, body) {
  const answer = await fetch(collector.url + path, {
    method: "POST",
    headers: { authorization, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  return answer.json();
}

let sent = 0;
async function append(count, sentAtMs) {
  const batch = makeBatch(sent, count, sentAtMs);
  sent += count;
  await call("/v1/batch", `Basic ${Buffer.from(`${writeKey}:`).toString("base64")}`, { batch });
}

function folderBytes() {
  return readdirSync(dataDirectory, { recursive: true })
    .map((name) => statSync(join(dataDirectory, name)))
    .reduce((sum, stat) => sum + (stat.isFile() ? stat.size : 0), 0);
}

let cpuBefore = process.cpuUsage();
let mainBefore = process.threadCpuUsage();
process.on("message", async (message) => {
  if (message.destinations !== undefined) {
    const ids = [];
    for (const url of message.destinations) {
      const settings = { webhooks: [{ url }], sharedSecret: "a shared secret", ...message.settings };
      const created = await call("/api/v1/destinations", `Bearer ${adminToken}`, {
        type: "webhooks",
        sourceIds: [sourceId],
        settings,
        enabled: true,
      });
      ids.push(created.id);
    }
    process.send({ ids });
  } else if (message.append !== undefined) {
    for (let left = message.append; left > 0; left -= 800) await append(Math.min(800, left));
    process.send({ appended: true });
  } else if (message.send !== undefined) await append(message.send, message.sentAtMs);
  else if (message.wake !== undefined) {
    const messages = await fetch(
      `${collector.url}/api/v1/deliveries?destinationId=${message.wake}&state=pending&limit=1`,
      {
        headers: { authorization: `Bearer ${adminToken}` },
      },
    );
    const [pending] = (await messages.json()).items;
    if (pending !== undefined)
      await call(`/api/v1/deliveries/${encodeURIComponent(pending.id)}/retry`, `Bearer ${adminToken}`, {});
    process.send({ woken: true });
  } else if (message.mark) {
    cpuBefore = process.cpuUsage();
    mainBefore = process.threadCpuUsage();
  } else if (message.cpu) {
    const { user, system } = process.cpuUsage(cpuBefore);
    const main = process.threadCpuUsage(mainBefore);
    process.send({
      mainSeconds: (main.user + main.system) / 1e6,
      cpuSeconds: (user + system) / 1e6,
      rssBytes: process.memoryUsage.rss(),
      storeBytes: folderBytes(),
    });
  }
});
process.on("SIGTERM", async () => {
  await collector.close(0);
  await telemetry?.close(1_000);
  rmSync(dataDirectory, { recursive: true, force: true });
  process.exit(0);
});
process.send({ ready: true, port: collector.port, url: collector.url, writeKey });
