import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const SCRIPT = fileURLToPath(new URL("ingest-load.mjs", import.meta.url));

/** Runs `ingest-load.mjs` in a process of its own, with its options. Throws if a request failed. */
export async function runLoad(options) {
  const child = spawn(process.execPath, [SCRIPT, JSON.stringify(options)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = await once(createInterface({ input: child.stdout }), "line");
  const result = JSON.parse(line);
  if (result.failed > 0) throw new Error(`${result.failed} requests failed`);
  return result;
}
