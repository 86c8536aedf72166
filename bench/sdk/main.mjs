/**
 * The SDK's cost, compared with the minimum and the public SDKs: `node bench/sdk/main.mjs [--rounds N] [--write]`.
 * `--write` updates the tables in docs/guide/sdk-performance.md. See README.md for the public SDKs.
 */
import { readFile, writeFile } from "node:fs/promises";
import { cpus } from "node:os";
import { parseArgs } from "node:util";
import { cpuTable, peersAreInstalled } from "./cpu.mjs";
import { runScript } from "./run-script.mjs";

const { values } = parseArgs({
  options: { rounds: { type: "string", default: "3" }, write: { type: "boolean" } },
});
const rounds = Number(values.rounds);
if (values.write && !peersAreInstalled) {
  console.error("--write would remove the public SDKs from the page: install them first, see README.md.");
  process.exit(2);
}

const NAMES = {
  "clients/floor": "floor",
  "clients/sluice": "**@sluice/node**",
  "clients/floor-gzip": "floor, gzip",
  "clients/sluice-gzip": "**@sluice/node, gzip**",
  "peers/segment": "@segment/analytics-node 3.1.0",
  "peers/posthog": "posthog-node 5.70.0",
  "peers/analytics-node": "analytics-node 6.2.0",
  "peers/rudder": "@rudderstack/rudder-sdk-node 3.0.13",
};

const stream = await cpuTable("stream", rounds);
const paced = await cpuTable("paced", rounds);
const pacedOf = new Map(paced.map((row) => [row.client, row]));
const floorOf = (rows, client) =>
  rows.find((row) => row.client === (client.endsWith("gzip") ? "clients/floor-gzip" : "clients/floor"));

const lines = [
  "| client | CPU µs a message, stream | × floor | CPU µs a message, paced | × floor | bytes a message on the wire | arrived |",
  "|---|---:|---:|---:|---:|---:|---:|",
];
for (const row of stream) {
  const pacedRow = pacedOf.get(row.client);
  const times = (own, floor) => (own / floor).toFixed(2);
  lines.push(
    `| ${NAMES[row.client]} | ${row.cpuMicros.toFixed(1)} | ${times(row.cpuMicros, floorOf(stream, row.client).cpuMicros)} | ${pacedRow.cpuMicros.toFixed(1)} | ${times(pacedRow.cpuMicros, floorOf(paced, row.client).cpuMicros)} | ${row.bytes.toFixed(1)} | ${Math.round(row.arrived * 100)} % |`,
  );
}

/** The fastest of five runs, because noise only adds. */
async function best(script, badness) {
  const results = [];
  for (let run = 0; run < 5; run++) results.push(await runScript(script));
  return results.sort((a, b) => badness(a) - badness(b))[0];
}

const latency = await best("latency.mjs", (rows) => rows.reduce((sum, { p50, p99 }) => sum + p50 + p99, 0));
const heap = await runScript("heap.mjs", [], { flags: ["--expose-gc"] });
const importTime = await runScript("import-time.mjs");
const distant = await runScript("distant.mjs");
const exit = await best("exit-time.mjs", ({ exitMs }) => exitMs);

lines.push(
  "",
  "| measure | bound | measured |",
  "|---|---:|---:|",
  ...latency.map(
    ({ held, p50, p99 }) =>
      `| \`track()\` with ${held.toLocaleString("en")} queued, p50 / p99 | 4 µs / 40 µs | ${p50.toFixed(1)} µs / ${p99.toFixed(1)} µs |`,
  ),
  `| heap a held message (of 670 bytes of JSON) | 1,229 bytes | ${Math.round(heap.bytesPerMessage)} bytes |`,
  `| import, above a bare start of Node.js (${importTime.bareMs.toFixed(0)} ms) | 25 ms | ${importTime.addedMs.toFixed(1)} ms |`,
  `| messages a second at 200 ms a round trip, \`maxInFlight\` 8 | 2,000 | ${Math.round(distant[8]).toLocaleString("en")} |`,
  `| the same, \`maxInFlight\` 1 | | ${Math.round(distant[1]).toLocaleString("en")} |`,
  `| end of a script of 10,000 messages after its last call | 1,000 ms | ${exit.exitMs} ms (${exit.messages.toLocaleString("en")} arrived) |`,
);
const table = lines.join("\n");
console.log(table);
if (!peersAreInstalled) console.error("\nThe public SDKs are not installed: see bench/sdk/README.md.");

if (values.write) {
  const page = new URL("../../docs/guide/sdk-performance.md", import.meta.url);
  const text = await readFile(page, "utf8");
  const machine = `Measured on ${cpus().length} cores (${cpus()[0].model.trim()}), Node.js ${process.version}, CPU: medians of ${rounds} rounds; times: the best of five runs.`;
  const replaced = text.replace(
    /(<!-- tables -->\n)[\s\S]*?(\n<!-- end -->)/,
    `$1\n${machine}\n\n${table}\n$2`,
  );
  await writeFile(page, replaced);
}
