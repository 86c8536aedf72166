import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const MAIN = fileURLToPath(new URL("../../apps/collector/dist/main.js", import.meta.url));
export const ADMIN_TOKEN = "an-admin-token-of-the-bench";

/**
 * Runs Node.js with `args`, which start a collector on a data folder. `listening` resolves with its URL when it accepts requests,
 * and rejects with its log if it ends before.
 */
export function spawnCollector(args, dataDirectory) {
  const startedMs = performance.now();
  const child = spawn(process.execPath, args, {
    env: {
      ...process.env,
      SLUICE_PORT: "0",
      SLUICE_DATA_DIR: dataDirectory,
      SLUICE_ADMIN_TOKEN: ADMIN_TOKEN,
      SLUICE_ALLOW_TARGETS: "127.0.0.0/8",
      SLUICE_LOG_FORMAT: "json",
      SLUICE_MESSAGES_PER_SECOND: "none",
    },
    stdio: ["ignore", "ignore", "pipe"],
  });
  const exited = once(child, "exit");
  const listening = new Promise((resolve, reject) => {
    let log = "";
    createInterface({ input: child.stderr }).on("line", (line) => {
      log += `${line}\n`;
      if (line.includes('"msg":"ready"')) resolve(JSON.parse(line).url);
    });
    child.once("exit", (code) => reject(new Error(`the collector ended with ${code}: ${log}`)));
  });
  return {
    startedMs,
    pid: child.pid,
    listening,
    async end(signal) {
      child.kill(signal);
      await exited;
    },
  };
}

/** Starts the built collector on a data folder. Resolves when it accepts requests. */
export async function startCollector(dataDirectory) {
  const { pid, listening, end } = spawnCollector([MAIN], dataDirectory);
  return { url: await listening, pid, end };
}
