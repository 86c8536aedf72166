/** Milliseconds that importing the SDK adds to the start of Node.js: the difference of the fastest of many starts, because noise only adds. */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const cwd = fileURLToPath(new URL(".", import.meta.url));
const ROUNDS = 31;

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
const bareMs = Math.min(...bare);
console.log(JSON.stringify({ bareMs, addedMs: Math.min(...withSdk) - bareMs }));
