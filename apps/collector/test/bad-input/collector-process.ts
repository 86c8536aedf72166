import { spawn } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, rmdir, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export interface CollectorProcess {
  readonly url: string;
  readonly writeKey: string;
  readonly sourceId: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape
  api(method: string, path: string, body?: unknown): Promise<{ status: number; body: any }>;
  /** Resident memory now, and the most since the last `resetPeak`. */
  memory(): Promise<{ readonly nowBytes: number; readonly peakBytes: number }>;
  resetPeak(): Promise<void>;
  readonly isRunning: boolean;
  stderr(): string;
  close(): Promise<void>;
}

const MAIN = fileURLToPath(new URL("../../dist/main.js", import.meta.url));
const TOKEN = "test-token-0123456789";

/** A control group, which the kernel does not let take more memory; undefined where this user may not make one. */
async function limitedGroup(name: string, mostBytes: number): Promise<string | undefined> {
  const isFirst = (await stat("/sys/fs/cgroup/memory").catch(() => undefined)) !== undefined;
  const group = join("/sys/fs/cgroup", isFirst ? "memory" : "", name);
  try {
    await mkdir(group);
    await writeFile(join(group, isFirst ? "memory.limit_in_bytes" : "memory.max"), String(mostBytes));
    return group;
  } catch {
    await rmdir(group).catch(() => undefined);
    return undefined;
  }
}

/** The built collector as it runs in production, on a data folder of its own, with one source. `mostBytes`: of memory, if it can be limited. */
export async function startCollectorProcess(
  options: { readonly mostBytes?: number } = {},
): Promise<CollectorProcess> {
  const dataDir = await mkdtemp(join(tmpdir(), "sluice-memory-"));
  const { mostBytes } = options;
  const group = mostBytes && (await limitedGroup(`sluice-test-${process.pid}`, mostBytes));
  const enter = group ? `echo $$ > ${group}/cgroup.procs; ` : "";
  const child = spawn("sh", ["-c", `${enter}exec "$0" "$1"`, process.execPath, MAIN], {
    env: {
      PATH: process.env.PATH ?? "",
      SLUICE_PORT: "0",
      SLUICE_DATA_DIR: dataDir,
      SLUICE_ADMIN_TOKEN: TOKEN,
      SLUICE_ALLOW_TARGETS: "127.0.0.1/32",
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
  const api: CollectorProcess["api"] = async (method, path, body) => {
    const response = await fetch(`${url}/api/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: await response.json() };
  };
  const { body: source } = await api("POST", "/sources", { name: "memory" });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  return {
    url,
    api,
    sourceId: source.id,
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
      if (group) await rmdir(group);
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}
