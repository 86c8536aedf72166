/** The SDK and the floor under the Node.js that runs this script: `node one-node.mjs ROUNDS`. Prints one line of JSON. */
import { cpuTable } from "./cpu.mjs";
import { runScript } from "./run-script.mjs";

const rounds = Number(process.argv[2]);
const CLIENTS = ["clients/none", "clients/floor", "clients/sluice"];

async function costs(manner) {
  const rows = await cpuTable(manner, rounds, CLIENTS);
  const [floor, sluice] = rows.map(({ cpuMicros }) => cpuMicros);
  return { floor, sluice };
}

const stream = await costs("stream");
const paced = await costs("paced");
const latencies = [];
for (let run = 0; run < 3; run++) latencies.push(await runScript("latency.mjs"));
const best = latencies.map(([first]) => first).sort((a, b) => a.p50 - b.p50)[0];
console.log(JSON.stringify({ version: process.version, stream, paced, p50: best.p50, p99: best.p99 }));
