/** The built collector with a webhook destination and as many audiences of five conditions as the first argument says. */
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
// @boundaries-ignore a bench measures the collector from within
import { createLogger, startCollector } from "../../apps/collector/dist/index.js";
import { conditionOf } from "./audience-definitions.ts";

const audiences = Number(process.argv[2]);
/** Webhooks that came, and how long after the message that caused them was sent. */
const latencies = [];
let received = 0;
const receiver = createServer((request, response) => {
  const chunks = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () => {
    received += 1;
    const { traits, userId } = JSON.parse(Buffer.concat(chunks).toString());
    if (traits?.toggled !== undefined) latencies.push(Date.now() - Number(userId.split(":")[1]));
    response.end();
  });
});
await new Promise((resolve) => receiver.listen(0, "127.0.0.1", resolve));

const dataDirectory = mkdtempSync(join(tmpdir(), "sluice-audiences-"));
const collector = await startCollector({
  mode: "dev",
  host: "127.0.0.1",
  port: 0,
  dataDirectory,
  logger: createLogger({ level: "error" }),
  allowTargets: ["127.0.0.0/8"],
});
const { adminToken, writeKey } = collector.firstRun;
async function api(path, body) {
  const response = await fetch(`${collector.url}/api/v1${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${adminToken}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(await response.text());
  return response.json();
}
const { id } = await api("/destinations", {
  type: "webhooks",
  sourceIds: [],
  settings: { webhooks: [{ url: `http://127.0.0.1:${receiver.address().port}/` }] },
});
for (let number = 0; number < audiences; number++)
  await api("/audiences", {
    name: `Audience ${number}`,
    condition: conditionOf(number),
    destinationIds: [id],
  });
await api("/audiences", {
  name: "Toggled",
  condition: { kind: "trait", trait: "toggle", is: "equals", value: true },
  destinationIds: [id],
});

process.stdout.write(
  `${JSON.stringify({ port: collector.port, writeKey, adminToken, destinationId: id })}\n`,
);
process.on("message", () => {
  latencies.sort((a, b) => a - b);
  const at = (share) => latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * share))];
  process.send({
    received,
    changes: latencies.length,
    p50Ms: at(0.5),
    p99Ms: at(0.99),
    worstMs: latencies.at(-1),
  });
});
process.on("SIGTERM", async () => {
  await collector.close(1_000);
  receiver.closeAllConnections();
  receiver.close();
  rmSync(dataDirectory, { recursive: true, force: true });
  process.exit(0);
});
