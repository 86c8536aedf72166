import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

/** Runs a script of this folder in its own process. Resolves with the last line it prints, parsed as JSON. */
export function runScript(script, args = [], { flags = [], env = {} } = {}) {
  const path = fileURLToPath(new URL(script, import.meta.url));
  const child = spawn(process.execPath, [...flags, path, ...args.map(String)], {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let stdout = "";
  let stderr = "";
  child.stdout.on("data", (chunk) => {
    stdout += chunk;
  });
  child.stderr.on("data", (chunk) => {
    stderr += chunk;
  });
  return new Promise((resolve, reject) => {
    child.on("close", (code) => {
      const line = stdout.trim().split("\n").at(-1) ?? "";
      try {
        resolve(JSON.parse(line));
      } catch {
        reject(new Error(`${script} ${args.join(" ")} ended with ${code}: ${stderr.slice(-500) || line}`));
      }
    });
  });
}

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[sorted.length >> 1];
}
