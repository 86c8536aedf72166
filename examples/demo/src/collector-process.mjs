import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const SLUICE = createRequire(import.meta.url).resolve("sluice/bin/sluice.cjs");

/**
 * Starts `sluice dev` in a process of its own, so that it can be killed.
 * @param {{ dataDir: string, port: number }} options port 0: any free port
 */
export async function startCollectorProcess({ dataDir, port }) {
  const child = spawn(
    process.execPath,
    [SLUICE, "dev", "--json", "--port", String(port), "--data-dir", dataDir],
    { stdio: ["ignore", "pipe", "pipe"] },
  );
  let log = "";
  child.stderr.on("data", (chunk) => {
    log = `${log}${chunk}`.slice(-4_000);
  });
  const exited = new Promise((resolve) => child.once("exit", resolve));
  const ready = await new Promise((resolve, reject) => {
    createInterface({ input: child.stdout }).once("line", (line) => resolve(JSON.parse(line)));
    exited.then((code) => reject(new Error(`sluice dev ended with ${code}:\n${log}`)));
  });
  return {
    /** @type {{ url: string, dashboardUrl: string, adminToken: string, writeKey: string, sourceId: string }} */
    ready,
    /** Ends the process without a chance to write anything: everything that is not on disk is lost. */
    async kill9() {
      child.kill("SIGKILL");
      await exited;
    },
    async stop() {
      child.kill("SIGTERM");
      return exited;
    },
  };
}
