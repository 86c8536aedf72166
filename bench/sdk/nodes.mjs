/**
 * The SDK and the floor on several versions of Node.js, one run each: `node bench/sdk/nodes.mjs [--rounds N] NODE…`, where NODE is the
 * path of a `node`.
 */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { parseArgs, promisify } from "node:util";

const { values, positionals } = parseArgs({
  options: { rounds: { type: "string", default: "5" } },
  allowPositionals: true,
});
const run = promisify(execFile);
const script = fileURLToPath(new URL("one-node.mjs", import.meta.url));

const lines = [
  "| Node.js | CPU µs a message, stream: floor | SDK | × floor | paced: floor | SDK | × floor | `track()` p50 / p99 |",
  "|---|---:|---:|---:|---:|---:|---:|---:|",
];
for (const node of positionals) {
  const { stdout } = await run(node, [script, values.rounds]);
  const { version, stream, paced, p50, p99 } = JSON.parse(stdout);
  const cells = [stream, paced].flatMap(({ floor, sluice }) => [
    floor.toFixed(1),
    sluice.toFixed(1),
    (sluice / floor).toFixed(2),
  ]);
  lines.push(`| ${version} | ${cells.join(" | ")} | ${p50.toFixed(1)} µs / ${p99.toFixed(1)} µs |`);
  console.error(lines.at(-1));
}
console.log(lines.join("\n"));
