import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Collector, startCollector } from "../../src/collector.js";
import type { CollectorOptions } from "../../src/collector-options.js";
import { createLogger } from "../../src/process/telemetry/logger.js";
import { type OpenedCollector, openClusterCollector } from "../cluster/collector-on-cluster.js";
import { testStore } from "../cluster/test-store.js";

// biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape
type Json = any;

/** A webhook that remembers what it got and says when something came. */
export async function openReceiver(
  answer: () => number = () => 200,
  mayAnswer: Promise<void> = Promise.resolve(),
) {
  const got: Json[] = [];
  /** Those that were not answered yet too. */
  const came: Json[] = [];
  const waiting = new Set<() => void>();
  const server = createServer(async (request, response) => {
    const body = JSON.parse(await textOf(request));
    came.push(body);
    await mayAnswer;
    const status = answer();
    if (status < 300) got.push(body);
    response.writeHead(status).end();
    for (const notify of waiting) notify();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    got,
    came,
    /** Resolves when what came fulfils the condition. */
    until: (holds: (got: readonly Json[]) => boolean) =>
      new Promise<void>((resolve) => {
        const check = (): void => {
          if (!holds(got)) return;
          waiting.delete(check);
          resolve();
        };
        waiting.add(check);
        check();
      }),
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}

export interface CollectorWorld {
  readonly directory: string;
  readonly collector: Collector;
  readonly writeKey: string;
  readonly sourceId: string;
  /** The metrics of the processes that do the work. */
  metrics(): Promise<string>;
  api(method: string, path: string, body?: unknown): Promise<{ status: number; body: Json }>;
  /** Sends a batch with a write key (default: the first source's) and expects 200. */
  send(batch: readonly Json[], writeKey?: string): Promise<Json>;
  webhook(url: string, sourceIds: readonly string[]): Promise<string>;
  /** Closes the collector and starts it again on the same data, after something was done to it. */
  restart(whileStopped?: () => Promise<void> | void): Promise<void>;
  close(): Promise<void>;
}

type WorldOptions = Pick<CollectorOptions, "region" | "regionUrls" | "workers">;

/** How a collector is started and stopped, whatever it consists of. */
async function openAlone(options: WorldOptions): Promise<OpenedCollector> {
  const directory = await mkdtemp(join(tmpdir(), "sluice-audiences-"));
  const start = (): Promise<Collector> =>
    startCollector({ ...DEVELOPMENT, host: "127.0.0.1", port: 0, dataDirectory: directory, ...options });
  let collector = await start();
  return {
    directory,
    get collector() {
      return collector;
    },
    nextUrl: () => collector.url,
    metrics: async () => (await fetch(`${collector.url}/metrics`)).text(),
    async start() {
      collector = await start();
    },
    stop: () => collector.close(5_000),
    remove: () => rm(directory, { recursive: true }),
  };
}

const DEVELOPMENT = {
  mode: "dev",
  logger: createLogger({ level: "error" }),
  allowTargets: ["127.0.0.0/8"],
  workers: Number(process.env.SLUICE_TEST_WORKERS ?? 1),
} as const;

async function open(options: WorldOptions): Promise<OpenedCollector> {
  const store = testStore();
  if (store === "embedded") return openAlone(options);
  return openClusterCollector(store, () => ({ ...DEVELOPMENT, ...options }));
}

/**
 * A real collector in development mode, on a data folder of its own. `SLUICE_TEST_STORE` makes it a cluster of three, and
 * `SLUICE_TEST_WORKERS` gives it so many threads.
 */
export async function openCollector(options: WorldOptions = {}): Promise<CollectorWorld> {
  const opened = await open(options);
  const { adminToken, writeKey, sourceId } = opened.collector.firstRun ?? {};
  if (adminToken === undefined || writeKey === undefined || sourceId === undefined)
    throw new Error("a collector in development mode makes a source");
  const api: CollectorWorld["api"] = async (method, path, body) => {
    const response = await fetch(`${opened.nextUrl()}/api/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${adminToken}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, body: text === "" ? undefined : JSON.parse(text) };
  };
  return {
    directory: opened.directory,
    get collector() {
      return opened.collector;
    },
    writeKey,
    sourceId,
    metrics: () => opened.metrics(),
    api,
    async send(batch, key = writeKey) {
      const response = await fetch(`${opened.nextUrl()}/v1/batch`, {
        method: "POST",
        headers: { authorization: `Basic ${btoa(`${key}:`)}` },
        body: JSON.stringify({ batch }),
      });
      const body = await response.json();
      if (response.status !== 200) throw new Error(JSON.stringify(body));
      return body;
    },
    async webhook(url, sourceIds) {
      const { status, body } = await api("POST", "/destinations", {
        type: "webhooks",
        name: `hook ${url}`,
        sourceIds,
        settings: { webhooks: [{ url }] },
      });
      if (status !== 201) throw new Error(JSON.stringify(body));
      return body.id;
    },
    async restart(whileStopped) {
      await opened.stop();
      await whileStopped?.();
      await opened.start();
    },
    async close() {
      await opened.stop();
      await opened.remove();
    },
  };
}
