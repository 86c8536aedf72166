import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));

/** The cluster cannot be started, for a reason that the person at the terminal can remove. */
export class ClusterRefused extends Error {}

/**
 * Starts `npm run cluster` in a process of its own: three NATS servers and three collectors behind one address.
 * @param {{ dataDir: string }} options
 */
export async function startClusterProcess({ dataDir }) {
  const child = spawn(
    process.execPath,
    [
      "--import",
      "./scripts/source-loader.mjs",
      "scripts/cluster/main.ts",
      ...["--json", "--port", "0", "--data-dir", dataDir],
    ],
    { cwd: ROOT, stdio: ["ignore", "pipe", "pipe"] },
  );
  let log = "";
  child.stderr.on("data", (chunk) => {
    log = `${log}${chunk}`.slice(-4_000);
  });
  const exited = new Promise((resolve) => child.once("exit", resolve));
  const { processes, ...ready } = await new Promise((resolve, reject) => {
    createInterface({ input: child.stdout }).once("line", (line) => resolve(JSON.parse(line)));
    exited.then(() => reject(new ClusterRefused(log.trim())));
  });
  const ask = (path) =>
    fetch(`${ready.url}${path}`, { headers: { authorization: `Bearer ${ready.adminToken}` } });
  /** The name of the collector that does the work. */
  async function owner() {
    const answer = await ask("/api/v1/cluster");
    if (!answer.ok) throw new Error(`The cluster was not shown: ${await answer.text()}`);
    return (await answer.json()).owner.node;
  }
  return {
    /** @type {{ url: string, dashboardUrl: string, adminToken: string, writeKey: string, sourceId: string }} */
    ready,
    /** Ends the owner without a chance to write anything. Another one takes over, at the same address. Resolves with its name. */
    async killOwner() {
      const name = `collector ${await owner()}`;
      process.kill(processes.find((one) => one.name === name).pid, "SIGKILL");
      return name;
    },
    owner,
    async stop() {
      child.kill("SIGTERM");
      return exited;
    },
  };
}
