import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { findNatsServer } from "./nats-server.ts";

export interface NatsClusterOptions {
  /** Where the nodes keep their configuration, logs and data. It must exist. */
  readonly directory: string;
  /** Default: 3. One node is a server without a cluster. */
  readonly nodes?: number;
  /** Default: `always`. With anything else, the servers acknowledge before they sync. */
  readonly syncInterval?: string;
  /** Bytes that a node may store. Default: `1GB`. */
  readonly maxStore?: string;
  /** Bytes of a message at most. Default: the server's own, 1 MB. */
  readonly maxPayload?: string;
  /** Clients use only the addresses that they were given: the servers do not tell them of each other. Default: false. */
  readonly isHidden?: boolean;
  /** Default: true. */
  readonly jetStream?: boolean;
  /** Lines that are added to each node's configuration, such as users. */
  readonly configuration?: string;
  /** The scheme of the addresses for clients. Default: `nats`. */
  readonly scheme?: "nats" | "tls";
}

/** One nats-server on loopback. Its ports and its data stay the same when it is started again. */
export interface NatsNode {
  readonly name: string;
  /** The address for clients. */
  readonly url: string;
  /** The address of its monitoring pages. */
  readonly monitor: string;
  /** Undefined while it does not run. */
  readonly pid: number | undefined;
  /** Starts it. Resolves when it listens. */
  start(): Promise<void>;
  /** Ends it with SIGKILL. */
  kill(): Promise<void>;
  /** Ends it in order. */
  stop(): Promise<void>;
  /** Stops it with SIGSTOP: its connections stay open and it answers nothing. */
  pause(): void;
  continue(): void;
  /** Removes its data. It must not run. */
  wipe(): void;
  log(): string;
  /** Resolves with how it ended. */
  ended(): Promise<string>;
}

export interface NatsCluster {
  readonly nodes: readonly NatsNode[];
  readonly urls: readonly string[];
  readonly monitors: readonly string[];
  /** Resolves when every node that runs has a leader and is up to date. */
  ready(): Promise<void>;
  /** The node that leads a stream. */
  leaderOf(stream: string): Promise<NatsNode>;
  /** Kills all nodes. The files stay. */
  close(): Promise<void>;
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Ports that nobody uses. All are taken before the first is released, so that they differ. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(
    Array.from({ length: count }, async () => {
      const server = createServer().listen(0, "127.0.0.1");
      await once(server, "listening");
      return server;
    }),
  );
  const ports = servers.map((server) => (server.address() as { port: number }).port);
  await Promise.all(servers.map((server) => once(server.close(), "close")));
  return ports;
}

/** An election takes up to 9 seconds, and some start behind one that came to nothing. */
const GIVE_UP_MS = 90_000;

/** Looks again and again. Rejects after that time, and says what was missing. */
async function untilFound<T>(
  look: () => Promise<{ readonly found: T } | { readonly missing: string }>,
): Promise<T> {
  const sinceMs = performance.now();
  for (;;) {
    const seen = await look();
    if ("found" in seen) return seen.found;
    if (performance.now() - sinceMs > GIVE_UP_MS)
      throw new Error(`waited ${GIVE_UP_MS / 1_000} s for ${seen.missing}`);
    await pause(50);
  }
}

async function jsonFrom(url: string): Promise<unknown> {
  const response = await fetch(url, { signal: AbortSignal.timeout(2_000) });
  return response.json();
}

interface NodePlan {
  readonly name: string;
  readonly directory: string;
  readonly client: number;
  readonly monitor: number;
  readonly route: number;
}

function jetStreamBlock(plan: NodePlan, options: NatsClusterOptions): string {
  const sizes = `max_file_store: ${options.maxStore ?? "1GB"}, max_memory_store: 64MB`;
  const store = JSON.stringify(join(plan.directory, "data"));
  return `jetstream { store_dir: ${store}, sync_interval: ${options.syncInterval ?? "always"}, ${sizes} }`;
}

function configurationOf(plan: NodePlan, all: readonly NodePlan[], options: NatsClusterOptions): string {
  const routes = all.map(({ route }) => `nats://127.0.0.1:${route}`).join(", ");
  return [
    `server_name: ${plan.name}`,
    `listen: 127.0.0.1:${plan.client}`,
    `http: 127.0.0.1:${plan.monitor}`,
    options.maxPayload === undefined ? "" : `max_payload: ${options.maxPayload}`,
    options.jetStream === false ? "" : jetStreamBlock(plan, options),
    all.length === 1
      ? ""
      : `cluster { name: sluice-test, listen: 127.0.0.1:${plan.route}, no_advertise: ${options.isHidden ?? false}, routes: [${routes}] }`,
    options.configuration ?? "",
  ].join("\n");
}

function natsNode(program: string, plan: NodePlan, scheme: string): NatsNode {
  let child: ChildProcess | undefined;
  let ended: Promise<string> = Promise.resolve("not started");
  const logFile = join(plan.directory, "log");
  const monitor = `http://127.0.0.1:${plan.monitor}`;

  async function end(signal: NodeJS.Signals): Promise<void> {
    child?.kill(signal);
    // A stopped process sees the signal when it continues.
    child?.kill("SIGCONT");
    await ended;
  }

  function listening(of: ChildProcess): Promise<boolean> {
    return untilFound(async () => {
      if (of.exitCode !== null || of.signalCode !== null)
        throw new Error(`${plan.name} ended: ${readFileSync(logFile, "utf8").slice(-2_000)}`);
      // Its page about health is also there when the cluster is not healthy yet.
      return jsonFrom(`${monitor}/healthz?js-enabled-only=true`).then(
        () => ({ found: true }),
        (error) => ({ missing: `${plan.name} to listen: ${monitor} does not answer: ${String(error)}` }),
      );
    });
  }

  return {
    name: plan.name,
    url: `${scheme}://127.0.0.1:${plan.client}`,
    monitor,
    get pid() {
      return child?.pid;
    },
    async start() {
      if (child !== undefined) throw new Error(`${plan.name} runs already`);
      const started = spawn(program, ["--config", join(plan.directory, "server.conf"), "--log", logFile], {
        stdio: "ignore",
      });
      child = started;
      ended = once(started, "exit").then(([code, signal]) => {
        child = undefined;
        return signal ?? `code ${code}`;
      });
      await listening(started);
    },
    kill: () => end("SIGKILL"),
    stop: () => end("SIGTERM"),
    pause: () => void child?.kill("SIGSTOP"),
    continue: () => void child?.kill("SIGCONT"),
    wipe: () => rmSync(join(plan.directory, "data"), { recursive: true, force: true }),
    log: () => readFileSync(logFile, "utf8"),
    ended: () => ended,
  };
}

/** The page `/healthz?details=true`. */
export interface HealthPage {
  readonly status?: string;
  readonly error?: string;
  readonly errors?: readonly { readonly type: string; readonly error: string }[];
}

/**
 * What keeps a node from being ready; undefined if nothing does. Consumers do not count: after a change of the leader, a server may miss
 * one for ever that its reader has left long ago (nats-server 2.10.27). Readers make a new one wherever there is a leader.
 */
export function healthTrouble({ status, error, errors }: HealthPage): string | undefined {
  if (status === "ok") return undefined;
  const serious = (errors ?? []).filter(({ type }) => type !== "CONSUMER");
  if (errors !== undefined && errors.length > 0 && serious.length === 0) return undefined;
  return serious[0]?.error ?? error ?? `its status is ${status}`;
}

/** Why a node is not ready; undefined if it is. */
async function troubleOf(node: NatsNode, isClustered: boolean): Promise<string | undefined> {
  try {
    const trouble = healthTrouble((await jsonFrom(`${node.monitor}/healthz?details=true`)) as HealthPage);
    if (trouble !== undefined || !isClustered) return trouble;
    const jsz = (await jsonFrom(`${node.monitor}/jsz`)) as { meta_cluster?: { leader?: string } };
    return (jsz.meta_cluster?.leader ?? "") === "" ? "it knows no leader" : undefined;
  } catch (error) {
    return `${node.monitor} does not answer: ${String(error)}`;
  }
}

/** After this time, a server that has missed what the cluster's leader says misses it for ever (nats-server 2.10.27, in 2 of 115 chaos rounds). */
const STUCK_AFTER_MS = 20_000;
const STUCK = "not current with the meta leader";

/** Resolves when the node is up to date, or does not run. A node that is stuck is started again, once. */
async function untilReady(node: NatsNode, all: readonly NatsNode[]): Promise<void> {
  let startAgainAtMs = performance.now() + STUCK_AFTER_MS;
  await untilFound(async () => {
    const trouble = node.pid === undefined ? undefined : await troubleOf(node, all.length > 1);
    if (trouble === undefined) return { found: true };
    if (trouble.includes(STUCK) && performance.now() > startAgainAtMs) {
      startAgainAtMs = Number.POSITIVE_INFINITY;
      process.stderr.write(`${node.name} is ${STUCK}: it is started again\n`);
      await node.kill();
      await node.start();
    }
    return { missing: `${node.name} to be ready: ${trouble}\n${all.map(endOfLog).join("\n")}` };
  });
}

/** What a node logged last. */
function endOfLog(node: NatsNode): string {
  const lines = node.log().split("\n");
  const told = lines.filter((line) => !line.includes("Healthcheck failed"));
  return `${node.name} logged last:\n${told.slice(-20).join("\n")}`;
}

interface StreamPage {
  readonly account_details?: readonly {
    readonly stream_detail?: readonly {
      readonly name: string;
      readonly cluster?: { readonly leader?: string };
    }[];
  }[];
}

async function leaderSeenBy(node: NatsNode, stream: string): Promise<string | undefined> {
  try {
    const page = (await jsonFrom(`${node.monitor}/jsz?streams=1`)) as StreamPage;
    const streams = (page.account_details ?? []).flatMap(({ stream_detail = [] }) => stream_detail);
    return streams.find(({ name }) => name === stream)?.cluster?.leader;
  } catch {
    return undefined;
  }
}

/** Starts servers on loopback, with free ports, and waits until they are a cluster. */
export async function startNatsCluster(options: NatsClusterOptions): Promise<NatsCluster> {
  const server = findNatsServer();
  if (server.kind === "missing") throw new Error(server.reason);
  const count = options.nodes ?? 3;
  const ports = await freePorts(3 * count);
  const plans = Array.from({ length: count }, (_, index): NodePlan => {
    const [client = 0, monitor = 0, route = 0] = ports.slice(3 * index);
    const name = `n${index + 1}`;
    return { name, directory: join(options.directory, name), client, monitor, route };
  });
  for (const plan of plans) {
    mkdirSync(plan.directory, { recursive: true });
    writeFileSync(join(plan.directory, "server.conf"), configurationOf(plan, plans, options));
  }
  const nodes = plans.map((plan) => natsNode(server.path, plan, options.scheme ?? "nats"));

  const cluster: NatsCluster = {
    nodes,
    urls: nodes.map(({ url }) => url),
    monitors: nodes.map(({ monitor }) => monitor),
    async ready() {
      for (const node of nodes) await untilReady(node, nodes);
    },
    leaderOf(stream) {
      return untilFound(async () => {
        const running = nodes.filter(({ pid }) => pid !== undefined);
        for (const node of running) {
          const leader = await leaderSeenBy(node, stream);
          const found = running.find(({ name }) => name === leader);
          if (found !== undefined) return { found };
        }
        return {
          missing: `a leader of ${stream}, and ${running.map(({ name }) => name).join(", ")} know none`,
        };
      });
    },
    async close() {
      await Promise.all(nodes.map((node) => node.kill()));
    },
  };
  const isNew = plans.every(({ directory }) => !existsSync(join(directory, "data")));
  try {
    for (let start = 1; ; start++) {
      await Promise.all(nodes.map((node) => node.start()));
      await cluster.ready();
      if (count === 1 || !isNew || (await areTogether(nodes))) return cluster;
      if (start === STARTS) throw new Error(`the NATS servers left one of them out, ${STARTS} times`);
      await cluster.close();
      for (const node of nodes) node.wipe();
    }
  } catch (error) {
    await cluster.close();
    throw error;
  }
}

const STARTS = 3;
const TOGETHER_MS = 5_000;

/**
 * Whether every node is a member for all others. On a busy machine, servers that start for the first time can become a cluster of which one
 * of them is no member, and stay so (nats-server 2.10.27): they say that they are healthy, and make no stream of three replicas.
 */
async function areTogether(nodes: readonly NatsNode[]): Promise<boolean> {
  const sizeSeenBy = async ({ monitor }: NatsNode): Promise<number | undefined> => {
    const page = (await jsonFrom(`${monitor}/jsz`)) as { meta_cluster?: { cluster_size?: number } };
    return page.meta_cluster?.cluster_size;
  };
  const sinceMs = performance.now();
  for (;;) {
    const sizes = await Promise.all(nodes.map((node) => sizeSeenBy(node).catch(() => undefined)));
    if (sizes.every((size) => size === nodes.length)) return true;
    if (performance.now() - sinceMs > TOGETHER_MS) return false;
    await pause(50);
  }
}
