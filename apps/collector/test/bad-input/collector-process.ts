import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export interface CollectorProcess {
  readonly url: string;
  readonly writeKey: string;
  /** Resident memory now, and the most since the last `resetPeak`. */
  memory(): Promise<{ readonly nowBytes: number; readonly peakBytes: number }>;
  resetPeak(): Promise<void>;
  readonly isRunning: boolean;
  stderr(): string;
  close(): Promise<void>;
}

const MAIN = fileURLToPath(new URL("../../dist/main.js", import.meta.url));
const TOKEN = "test-token-0123456789";

/** The built collector as it runs in production, on a data folder of its own, with one source. */
export async function startCollectorProcess(): Promise<CollectorProcess> {
  const dataDir = await mkdtemp(join(tmpdir(), "sluice-memory-"));
  const child = spawn(process.execPath, [MAIN], {
    env: {
      PATH: process.env.PATH ?? "",
      SLUICE_PORT: "0",
      SLUICE_DATA_DIR: dataDir,
      SLUICE_ADMIN_TOKEN: TOKEN,
    },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let stderr = "";
  const url = await new Promise<string>((resolve, reject) => {
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      stderr += text;
      const ready = /"msg":"ready".*?"url":"([^"]+)"/.exec(stderr);
      if (ready?.[1] !== undefined) resolve(ready[1]);
    });
    child.once("exit", () => reject(new Error(`The collector ended: ${stderr}`)));
  });
  const response = await fetch(`${url}/api/v1/sources`, {
    method: "POST",
    headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
    body: JSON.stringify({ name: "memory" }),
  });
  const source = (await response.json()) as { writeKeys: [{ key: string }] };
  const ended = new Promise((resolve) => child.once("exit", resolve));
  return {
    url,
    writeKey: source.writeKeys[0].key,
    async memory() {
      const status = await readFile(`/proc/${child.pid}/status`, "utf8");
      const bytesOf = (name: string): number =>
        Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)?.[1]) * 1_024;
      return { nowBytes: bytesOf("VmRSS"), peakBytes: bytesOf("VmHWM") };
    },
    resetPeak: () => writeFile(`/proc/${child.pid}/clear_refs`, "5"),
    get isRunning() {
      return child.exitCode === null && child.signalCode === null;
    },
    stderr: () => stderr,
    async close() {
      child.kill("SIGTERM");
      await ended;
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}
