import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import { createServer as createTcpServer } from "node:net";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { pause, until } from "../chaos/until.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const LOADER = join(ROOT, "scripts/source-loader.mjs");
const MAIN = join(ROOT, "apps/collector/src/process/main.ts");
export const ADMIN_TOKEN = "the-admin-token-of-the-cluster";
const SECRET_KEY = Buffer.alloc(32, 9).toString("base64");

export { pause };

/** A step of a test that takes longer says what it waited for. */
export const STEP_MS = 60_000;

/** A collector of a cluster in a process of its own. Its address and its data folder stay the same when it is started again. */
export interface ClusterProcess {
  readonly node: string;
  readonly url: string;
  readonly pid: number | undefined;
  readonly log: readonly string[];
  start(): Promise<void>;
  /** Sends the signal. For one that ends the process, resolves with its exit code when it has ended. */
  signal(name: NodeJS.Signals): Promise<number | null>;
}

export interface ClusterProcessOptions {
  readonly node: string;
  readonly port: number;
  readonly directory: string;
  readonly servers: readonly string[];
  readonly monitors: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Arguments of Node.js that run the collector. Default: from its sources. */
  readonly program?: readonly string[];
}

export function clusterProcess(options: ClusterProcessOptions): ClusterProcess {
  const { node, port } = options;
  const log: string[] = [];
  let child: ChildProcess | undefined;
  return {
    node,
    url: `http://127.0.0.1:${port}`,
    get pid() {
      return child?.pid;
    },
    log,
    async start() {
      const started = spawn(process.execPath, options.program ?? ["--import", LOADER, MAIN], {
        env: { ...process.env, ...environment(options) },
        stdio: ["ignore", "inherit", "pipe"],
      });
      child = started;
      const ended = once(started, "exit").then(() => {
        child = undefined;
      });
      await new Promise<void>((done, failed) => {
        createInterface({ input: started.stderr as NodeJS.ReadableStream }).on("line", (line) => {
          log.push(line);
          if (line.includes('"msg":"ready"')) done();
        });
        void ended.then(() => failed(new Error(`${node} ended before it was ready:\n${log.join("\n")}`)));
      });
    },
    async signal(name) {
      if (child === undefined) return null;
      const ended = once(child, "exit");
      child.kill(name);
      if (name === "SIGSTOP" || name === "SIGCONT") return null;
      const [code] = (await ended) as [number | null];
      return code;
    },
  };
}

function environment(options: ClusterProcessOptions): Record<string, string> {
  return {
    SLUICE_PORT: String(options.port),
    SLUICE_DATA_DIR: join(options.directory, options.node),
    SLUICE_ADMIN_TOKEN: ADMIN_TOKEN,
    SLUICE_SECRET_KEY: SECRET_KEY,
    SLUICE_ALLOW_TARGETS: "127.0.0.0/8",
    SLUICE_LOG_FORMAT: "json",
    SLUICE_CLUSTER_SERVERS: options.servers.join(","),
    SLUICE_CLUSTER_MONITORS: options.monitors.join(","),
    SLUICE_CLUSTER_NODE: options.node,
    SLUICE_CLUSTER_MAX_LOG_BYTES: String(256 * 1_024 * 1_024),
    ...options.env,
  };
}

/** Calls the control API of any process. */
export async function api<T>(url: string, method: string, path: string, body?: object): Promise<T> {
  const response = await fetch(`${url}/api/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${ADMIN_TOKEN}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  return (text === "" ? undefined : JSON.parse(text)) as T;
}

/** The name of the owner, asked of one of the processes, as soon as there is one other than `not`. */
export async function ownerOf(asked: readonly ClusterProcess[], not?: string): Promise<string> {
  let owner: string | undefined;
  const said = new Map<string, string>();
  const isKnown = async (): Promise<boolean> => {
    for (const one of asked) {
      const ready = await readinessOf(one).catch((error: unknown): Readiness => ({ role: String(error) }));
      said.set(one.node, ready.role ?? "no role");
      if (ready.role === "owner" && ready.node !== not) owner = ready.node;
    }
    return owner !== undefined;
  };
  await until("a process says that it is the owner", isKnown, STEP_MS).catch((error: unknown) => {
    throw new Error(`${String(error)}; they said ${JSON.stringify([...said])}`, { cause: error });
  });
  return owner as string;
}

export interface Readiness {
  readonly role?: string;
  readonly node?: string;
}

export async function readinessOf({ url }: Pick<ClusterProcess, "url">): Promise<Readiness> {
  const answer = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(2_000) });
  return (await answer.json()) as Readiness;
}

/** Counts how often each message arrived. */
export async function startReceiver() {
  const received = new Map<string, number>();
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk) => chunks.push(chunk));
    request.on("end", () => {
      const { messageId } = JSON.parse(Buffer.concat(chunks).toString()) as { messageId: string };
      received.set(messageId, (received.get(messageId) ?? 0) + 1);
      response.end();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    received,
    url: `http://127.0.0.1:${(server.address() as { port: number }).port}/`,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Connects a new source with a webhook. Resolves with the write key. */
export async function connectSource(url: string, webhook: string): Promise<string> {
  const source = await api<{ id: string; writeKeys: { key: string }[] }>(url, "POST", "/sources", {
    name: "shop",
  });
  await api(url, "POST", "/destinations", {
    type: "webhooks",
    sourceIds: [source.id],
    settings: { webhooks: [{ url: webhook }] },
    enabled: true,
  });
  return source.writeKeys[0]?.key as string;
}

export interface Load {
  /** Ids of the messages that were answered with 200. */
  readonly acknowledged: ReadonlySet<string>;
  readonly answers: ReadonlyMap<number | "no answer", number>;
  /** The longest time without a 200, in milliseconds. */
  readonly longestGapMs: number;
  /** Begins to measure the longest time again. */
  mark(): void;
  stop(): Promise<void>;
}

/** Sends batches to all processes in turns, from several clients, and repeats none. */
export function startLoad(urls: readonly string[], writeKey: string, clients = 4, prefix = ""): Load {
  const acknowledged = new Set<string>();
  const answers = new Map<number | "no answer", number>();
  let isStopped = false;
  let sent = 0;
  let longestGapMs = 0;
  let lastMs = performance.now();
  const send = async (): Promise<void> => {
    sent += 1;
    const ids = Array.from({ length: 5 }, (_, i) => `${prefix}m${sent}-${i}`);
    const url = urls[sent % urls.length];
    const response = await fetch(`${url}/v1/batch`, {
      method: "POST",
      signal: AbortSignal.timeout(15_000),
      headers: { authorization: `Basic ${Buffer.from(`${writeKey}:`).toString("base64")}` },
      body: JSON.stringify({
        batch: ids.map((messageId) => ({ type: "track", event: "Ordered", userId: "u1", messageId })),
      }),
    }).catch(() => undefined);
    const body = await response?.text().catch(() => undefined);
    const status = body === undefined ? "no answer" : (response?.status ?? "no answer");
    answers.set(status, (answers.get(status) ?? 0) + 1);
    if (status === 200) {
      for (const id of ids) acknowledged.add(id);
      longestGapMs = Math.max(longestGapMs, performance.now() - lastMs);
      lastMs = performance.now();
    } else await pause(50);
  };
  const running = Array.from({ length: clients }, async () => {
    while (!isStopped) {
      await send();
      await pause(5);
    }
  });
  return {
    acknowledged,
    answers,
    get longestGapMs() {
      return Math.max(longestGapMs, performance.now() - lastMs);
    },
    mark() {
      longestGapMs = 0;
      lastMs = performance.now();
    },
    async stop() {
      isStopped = true;
      await Promise.all(running);
    },
  };
}

/** NATS servers that have just started do not know each other's free space yet. */
export async function startWhenPlaced(one: ClusterProcess): Promise<void> {
  const sinceMs = performance.now();
  for (;;) {
    try {
      await one.start();
      return;
    } catch (error) {
      const isEarly = performance.now() - sinceMs < STEP_MS;
      if (!isEarly || !String(error).includes("no suitable peers")) throw error;
      await pause(500);
    }
  }
}

/** Ports that are free now. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createTcpServer().listen(0, "127.0.0.1"));
  await Promise.all(servers.map((one) => new Promise((done) => one.once("listening", done))));
  const ports = servers.map((one) => (one.address() as { port: number }).port);
  await Promise.all(servers.map((one) => new Promise((done) => one.close(done))));
  return ports;
}
