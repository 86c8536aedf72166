import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));

export interface RunningCollector {
  /** The environment variables that the documents assume. */
  readonly env: Readonly<Record<string, string>>;
  close(): Promise<void>;
}

/** Starts the built `sluice dev` on an empty folder, as a reader of the documents does. */
export async function runCollector(): Promise<RunningCollector> {
  const dataDir = await mkdtemp(join(tmpdir(), "sluice-docs-"));
  const child = spawn(
    process.execPath,
    ["packages/cli/bin/sluice.cjs", "dev", "--json", "--port", "0", "--data-dir", dataDir],
    { cwd: ROOT, stdio: ["ignore", "pipe", "inherit"] },
  );
  const [line] = await once(createInterface(child.stdout), "line");
  const ready = JSON.parse(line as string) as Record<"url" | "adminToken" | "writeKey" | "sourceId", string>;
  return {
    env: {
      SLUICE_URL: ready.url,
      SLUICE_OREGON_URL: ready.url,
      SLUICE_ADMIN_TOKEN: ready.adminToken,
      SLUICE_WRITE_KEY: ready.writeKey,
      SLUICE_SOURCE_ID: ready.sourceId,
      SHARED_SECRET: "a secret of your own",
    },
    async close() {
      await stopProcess(child, "SIGTERM");
      await rm(dataDir, { recursive: true });
    },
  };
}

export async function stopProcess(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, "exit");
  child.kill(signal);
  await exit;
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (address === null || typeof address === "string") throw new Error("no port");
  return address.port;
}
