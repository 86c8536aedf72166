/**
 * The SDK's cost, compared with the minimum and the public SDKs: `node bench/sdk/main.mjs [--rounds N] [--runs N] [--own]`.
 * `--own` leaves the public SDKs out. See README.md for them.
 */
import { parseArgs } from "node:util";
import { reportFigures } from "../figures.mjs";
import { ALL, cpuTable, OWN, peersAreInstalled } from "./cpu.mjs";
import { runScript } from "./run-script.mjs";

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "3" },
    runs: { type: "string", default: "5" },
    own: { type: "boolean" },
  },
});
const rounds = Number(values.rounds);

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

const clients = values.own ? OWN : ALL;
const stream = await cpuTable("stream", rounds, clients);
const paced = await cpuTable("paced", rounds, clients);
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

/** The fastest of several runs, because noise only adds. */
async function best(script, badness) {
  const results = [];
  for (let run = 0; run < Number(values.runs); run++) results.push(await runScript(script));
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
console.log(lines.join("\n"));
if (!peersAreInstalled) console.error("\nThe public SDKs are not installed: see bench/sdk/README.md.");

const cpuOf = (rows, name) => rows.find(({ client }) => client === name).cpuMicros;
const against = (rows, manner) =>
  rows
    .filter(({ client }) => !client.startsWith("clients/sluice"))
    .map(({ client, cpuMicros }) => {
      const ours = client.endsWith("gzip") ? "clients/sluice-gzip" : "clients/sluice";
      const name = `CPU a message, ${manner}, against ${NAMES[client]}`;
      return { name, unit: "µs", ours: cpuOf(rows, ours), peer: cpuMicros, peerName: NAMES[client] };
    });
reportFigures([
  ...against(stream, "stream"),
  ...against(paced, "paced"),
  ...latency.map(({ held, p99 }) => ({
    name: `p99 of \`track()\` with ${held.toLocaleString("en")} queued`,
    unit: "µs",
    ours: p99,
  })),
  { name: "heap a held message", unit: "bytes", ours: heap.bytesPerMessage },
  { name: "import", unit: "ms", ours: importTime.addedMs },
  { name: "at 200 ms a round trip, `maxInFlight` 8", unit: "messages/s", ours: distant[8] },
  { name: "end of a script after its last of 10,000 calls", unit: "ms", ours: exit.exitMs },
]);
