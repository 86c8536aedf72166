import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "vite";
import { vi } from "vitest";

/** The used part of the collector. */
interface CollectorModule {
  startCollector(options: object): Promise<{
    readonly url: string;
    readonly port: number;
    readonly firstRun: { readonly sourceId: string; readonly writeKey: string; readonly adminToken: string };
    close(graceMs: number): Promise<void>;
  }>;
  createLogger(options: object): unknown;
}

/** The collector depends on the dashboard, so it is imported by path, not as a dependency. */
const COLLECTOR = fileURLToPath(new URL("../../collector/src/index.ts", import.meta.url));
const ROOT = fileURLToPath(new URL("..", import.meta.url));

export interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** A webhook receiver. Tests set its responses by path. */
export interface Receiver {
  readonly url: string;
  readonly received: readonly Received[];
  answer(path: string, status: number, body?: string): void;
}

export interface RunningDashboard {
  readonly url: string;
  /** The URL that `sluice dev` prints. It signs in. */
  readonly signInUrl: string;
  readonly adminToken: string;
  readonly writeKey: string;
  readonly sourceId: string;
  readonly receiver: Receiver;
  /** Calls the control API. Throws unless it succeeds. */
  api<T>(method: string, path: string, body?: unknown): Promise<T>;
  /** Sends messages in one batch, as a client does. */
  send(...messages: readonly object[]): Promise<void>;
  /** Stops the collector. `start` starts it again with the same address and data. */
  stop(): Promise<void>;
  start(): Promise<void>;
  close(): Promise<void>;
}

/** Builds the dashboard and serves it from a collector in development mode. `options`: more of the collector's. */
export async function runDashboard(options: object = {}): Promise<RunningDashboard> {
  const directory = await mkdtemp(join(tmpdir(), "sluice-dashboard-"));
  const dashboardDirectory = await buildDashboard(join(directory, "dashboard"));
  const { startCollector, createLogger } = (await import(/* @vite-ignore */ COLLECTOR)) as CollectorModule;
  const receiver = await startReceiver();
  const begin = (port: number) =>
    startCollector({
      mode: "dev",
      host: "127.0.0.1",
      port,
      dataDirectory: join(directory, "data"),
      dashboardDirectory,
      logger: createLogger({ level: "error" }),
      allowTargets: ["127.0.0.0/8"],
      ...options,
    });
  let collector = await begin(0);
  const { adminToken, writeKey, sourceId } = collector.firstRun;
  return {
    url: collector.url,
    signInUrl: `${collector.url}/#token=${adminToken}`,
    adminToken,
    writeKey,
    sourceId,
    receiver,
    async api<T>(method: string, path: string, body?: unknown) {
      const response = await fetch(`${collector.url}/api/v1${path}`, {
        method,
        headers: { authorization: `Bearer ${adminToken}`, "content-type": "application/json" },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text}`);
      return (text === "" ? undefined : JSON.parse(text)) as T;
    },
    async send(...messages) {
      const response = await fetch(`${collector.url}/v1/batch`, {
        method: "POST",
        headers: { authorization: `Basic ${btoa(`${writeKey}:`)}` },
        body: JSON.stringify({ batch: messages }),
      });
      if (response.status !== 200) throw new Error(await response.text());
    },
    stop: () => collector.close(0),
    async start() {
      collector = await begin(collector.port);
    },
    async close() {
      await collector.close(1_000);
      await receiver.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** The built files by path. Test files that share a process share them. */
let built: Promise<ReadonlyMap<string, Buffer>> | undefined;

/** Builds the dashboard for production into a folder and returns the folder. */
export async function buildDashboard(folder: string): Promise<string> {
  built ??= filesOfBuild();
  for (const [path, content] of await built) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), content);
  }
  return folder;
}

async function filesOfBuild(): Promise<ReadonlyMap<string, Buffer>> {
  const folder = await mkdtemp(join(tmpdir(), "sluice-dashboard-built-"));
  // With Vitest's `test`, React's development checks would be in the build.
  vi.stubEnv("NODE_ENV", "production");
  await build({ root: ROOT, logLevel: "error", build: { outDir: folder, emptyOutDir: true } });
  vi.unstubAllEnvs();
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = new Map<string, Buffer>();
  for (const entry of entries.filter((one) => one.isFile())) {
    const path = join(entry.parentPath, entry.name);
    files.set(relative(folder, path), await readFile(path));
  }
  await rm(folder, { recursive: true });
  return files;
}

async function startReceiver(): Promise<Receiver & { close(): Promise<void> }> {
  const received: Received[] = [];
  const answers = new Map<string, { readonly status: number; readonly body: string }>();
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const path = request.url ?? "/";
      received.push({ path, headers: request.headers, body: Buffer.concat(chunks).toString() });
      const { status, body } = answers.get(path) ?? { status: 200, body: "ok" };
      response.writeHead(status).end(body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    received,
    answer: (path, status, body = "") => void answers.set(path, { status, body }),
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
