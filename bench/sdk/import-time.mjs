/** Milliseconds that importing the SDK adds to a bare start of Node.js: the difference of medians. */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { median } from "./run-script.mjs";

const cwd = fileURLToPath(new URL(".", import.meta.url));
const ROUNDS = 21;

function startMs(source) {
  const before = performance.now();
  spawnSync(process.execPath, ["--input-type=module", "-e", source], { cwd });
  return performance.now() - before;
}

const bare = [];
const withSdk = [];
for (let round = 0; round < ROUNDS; round++) {
  bare.push(startMs(""));
  withSdk.push(startMs('import "@sluice/node"'));
}
console.log(JSON.stringify({ bareMs: median(bare), addedMs: median(withSdk) - median(bare) }));
