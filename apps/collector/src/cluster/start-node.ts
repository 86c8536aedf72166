import { randomUUID } from "node:crypto";
import { openReplica, type Replica, type RetentionOptions } from "@sluice/event-log";
import { type Clock, systemClock } from "@sluice/resilience";
import type { Collector } from "../collector.js";
import type { CollectorOptions } from "../collector-options.js";
import { decodeKey } from "../destinations/secret-box.js";
import { HTTP_LIMITS } from "../http/limits.js";
import { announceRetention, resolveRetention } from "../process/config.js";
import { makeDataFolder, makeOwnerOnly } from "../process/data-folder.js";
import { defined } from "../process/defined.js";
import { type Stages, startWithStages } from "../process/stages.js";
import type { Logger } from "../process/telemetry/logger.js";
import { createMetrics } from "../process/telemetry/metrics.js";
import { buildMetric } from "../process/telemetry/store-metrics.js";
import { VERSION } from "../process/version.js";
import type { ClusterEngine, ClusterOptions } from "./cluster-options.js";
import { markClusterFolder, readClusterFolder } from "./cluster-options.js";
import { waitForEngine } from "./configured-engine.js";
import type { Front, openFront } from "./front/front.js";
import { keyFingerprint, peerToken } from "./front/peer.js";
import { type LeadParts, leadLog } from "./lead.js";
import { Membership } from "./membership/membership.js";
import { type FrontParts, openNodeFront, type Standing } from "./open-node-front.js";
import { OWNER_KEY } from "./ownership/lease.js";
import { Ownership } from "./ownership/ownership.js";
import { ClusterCounts, showClusterMetrics } from "./state/cluster-metrics.js";
import { ClusterState } from "./state/cluster-state.js";

export interface ClusterNodeOptions extends CollectorOptions {
  readonly clusterOptions: ClusterOptions;
  readonly startCollector: (options: CollectorOptions) => Promise<Collector>;
  /** Opens the copy. Default: `openReplica`. Only the simulation replaces it. */
  readonly openReplica?: typeof openReplica;
  /** Listens for requests. Default: over the network. Only the simulation replaces it. */
  readonly openFront?: typeof openFront;
}

/** A process of a cluster. It serves requests whether it owns the log or not. */
export interface ClusterNode extends Omit<Collector, "store" | "firstRun"> {
  readonly firstRun: undefined;
  /** The cluster as this process sees it. */
  readonly state: ClusterState;
  /** Rejects when the process must end. Never resolves. */
  readonly failed: Promise<never>;
}

const LEASE_MS = 3_000;
const MEMBER_HEARTBEAT_MS = 2_000;
const SAFETY_CHECK_MS = 60_000;
const WAIT_MS = 60_000;

/** Starts a process of a cluster: it follows the log, answers requests, and becomes the owner when it is its turn. */
export function startClusterNode(options: ClusterNodeOptions): Promise<ClusterNode> {
  return startWithStages(options, (stages) => startStages(options, stages));
}

interface NodeParts extends Omit<FrontParts, "options"> {
  readonly options: ClusterNodeOptions;
  readonly front: Front;
  readonly standing: Standing;
  readonly engine: ClusterEngine;
  readonly replica: Replica;
  readonly retention: RetentionOptions;
}

async function startStages(options: ClusterNodeOptions, stages: Stages): Promise<ClusterNode> {
  const { clock = systemClock, clusterOptions, dataDirectory } = options;
  const { name, node } = clusterOptions;
  const logger = options.logger.with({ component: "cluster", node });
  const key = secretKeyOf(options);
  await makeDataFolder(dataDirectory);
  await makeOwnerOnly(dataDirectory);
  const mark = await readClusterFolder(dataDirectory, name);
  const metrics = createMetrics({ withProcess: true });
  buildMetric(metrics, VERSION);
  const counts = new ClusterCounts();
  counts.showIn(metrics);
  const limits = { ...HTTP_LIMITS, ...options.httpLimits };
  const frontParts = { options, limits, logger, metrics, counts, token: peerToken(key, name) };
  const standing: Standing = { reason: "the collector starts" };
  // It listens before the engine is there, so that load balancers see that the process runs and is not ready.
  const front = stages.keep(await openNodeFront(frontParts, standing), (it) => it.close(0));
  const first = await waitWhileAway(
    () =>
      clusterOptions.openEngine({
        ...{ node, clock, clusterId: mark?.id },
        fingerprint: keyFingerprint(key, name),
      }),
    frontParts,
    standing,
    (late) => late.close(),
  );
  const engine = stages.keep(first, (it) => it.close());
  // It may be there, and answer nothing yet.
  await waitWhileAway(() => engine.leases.get(OWNER_KEY), frontParts, standing);
  await markClusterFolder(dataDirectory, { name, ...defined({ id: engine.cluster?.id }) });
  const retention = await resolveRetention(options.retention ?? NO_RETENTION, dataDirectory);
  announceRetention(logger, retention);
  const replica = stages.keep(
    await (options.openReplica ?? openReplica)({
      ...{ directory: dataDirectory, engine, clock, node, retention },
      ...defined({ dedupeWindowMs: options.dedupeWindowMs }),
      onDamage: (what) => logger.error("stored data is damaged", { what }),
      onProblem(what, againAfterMs) {
        if (againAfterMs !== undefined) counts.add("sluice_cluster_copy_load_failures_total");
        logger.warn("the copy does not follow the log", { what, againAfterMs });
      },
    }),
    (it) => it.close(),
  );
  return connectParts(stages, { ...frontParts, front, standing, engine, replica, retention });
}

/** Waits for an engine that cannot be reached. Logs each reason once. */
function waitWhileAway<T>(
  ask: () => Promise<T>,
  { options, logger }: FrontParts,
  standing: Standing,
  drop?: (late: T) => unknown,
): Promise<T> {
  const { clock = systemClock, clusterOptions } = options;
  const { waitMs: timeoutMs = WAIT_MS, signal } = clusterOptions;
  let last = "";
  return waitForEngine({
    ...{ ask, clock, timeoutMs, signal, ...defined({ drop }) },
    onAway(reason) {
      standing.reason = "the cluster's engine cannot be reached";
      if (reason !== last) logger.warn("waits for the cluster's engine", { reason, atMostMs: timeoutMs });
      last = reason;
    },
  });
}

const NO_RETENTION = { retentionMs: "none", retentionBytes: "none" } as const;

/** Front, membership and ownership, which tell each other of changes. */
async function connectParts(stages: Stages, parts: NodeParts): Promise<ClusterNode> {
  const { options, logger, counts, metrics, front, standing, engine, replica } = parts;
  const { clock = systemClock, clusterOptions } = options;
  const { name, node, leaseMs = LEASE_MS } = clusterOptions;
  const instance = randomUUID();
  const fatal = Promise.withResolvers<never>();
  fatal.promise.catch(() => {});
  const problem = problemLog(logger);
  let isConnected = false;
  const changed = (): void => {
    if (!isConnected) return;
    state.look();
    front.ownerChanged();
  };

  const address = clusterOptions.advertise ?? front.url;
  const state: ClusterState = new ClusterState({
    ...{ name, node, instance, version: VERSION, address, clock, engine, replica },
    ownership: () => ownership,
    membership: () => membership,
  });
  const { leases } = engine;
  const membership: Membership = new Membership({
    leases,
    clock,
    heartbeatMs: MEMBER_HEARTBEAT_MS,
    self: () => state.facts(),
    onChange: () => isConnected && ownership.wake(),
    onNameTaken: (by) => fatal.reject(nameTaken(node, by.address)),
    onProblem: problem,
  });
  const leading = leadParts(parts, state, membership);
  const ownership: Ownership = new Ownership({
    ...{ leases, key: OWNER_KEY, clock, leaseMs, self: { node, instance, address } },
    heartbeatMs: leaseMs / 3,
    facts: () => ({
      isReady: state.isReady,
      isDrained: membership.isDrained(node),
      hasSuccessor: state.hasSuccessor(),
    }),
    lead: (term, lost, signal) => leadLog(leading, { term, lost, signal }),
    onChange: () => {
      changed();
      if (isConnected) membership.beat();
    },
    onStepDown(how, reason) {
      counts.add("sluice_cluster_step_downs_total", how);
      if (how === "lost") logger.warn("stops being the owner", { how, reason });
      else logger.info("stops being the owner", { how, reason });
    },
    onProblem: problem,
  });
  isConnected = true;
  standing.state = state;
  showClusterMetrics(state, metrics, () => front.waiting);
  await joinCluster(stages, ownership, leading, membership);
  keepLooking(stages, parts, state, () => {
    changed();
    ownership.wake();
  });
  logger.info("joined the cluster", { cluster: name, address });
  const { publicUrl, region } = options;
  return {
    ...{ url: front.url, port: front.port, adminUrl: front.adminUrl, publicUrl, region },
    firstRun: undefined,
    state,
    failed: fatal.promise,
    close: (graceMs) => closeNode(stages, ownership, clock, graceMs),
  };
}

async function joinCluster(
  { keep }: Stages,
  ownership: Ownership,
  { front }: LeadParts,
  membership: Membership,
): Promise<void> {
  keep(ownership, (it) => it.close());
  keep(membership, (it) => it.close());
  // It closes first: the requests that it has still need to know the next owner.
  keep(front, (it, leftMs) => it.close(leftMs));
  await membership.start();
  await ownership.start();
}

/** What leading the log needs. */
function leadParts(parts: NodeParts, state: ClusterState, membership: Membership): LeadParts {
  const { options, logger, counts, front, retention, replica } = parts;
  const { name, node } = options.clusterOptions;
  const control = {
    name,
    node,
    view: () => state.view(),
    drain: (wanted: string) => membership.drain(wanted),
    undrain: (wanted: string) => membership.cancelDrain(wanted),
  };
  return { ...{ options, logger, counts, front, state, replica, retention, control } };
}

/** Hands over first, so that requests which arrive meanwhile can still be passed on to the next owner. */
async function closeNode(stages: Stages, ownership: Ownership, clock: Clock, graceMs: number): Promise<void> {
  const deadlineMs = clock.monotonic() + graceMs;
  const isOver = new AbortController();
  // Without the engine, what is under way cannot be finished: closing the copy rejects it.
  const left = ownership.leave();
  await Promise.race([left, clock.sleep(graceMs, isOver.signal).catch(() => {})]);
  isOver.abort();
  await stages.close(Math.max(0, deadlineMs - clock.monotonic()));
}

/** Calls `look` after changes of the copy and the engine, and every now and then checks whether it is still safe to acknowledge. */
function keepLooking(
  { keep }: Stages,
  { engine, replica, options, logger }: NodeParts,
  state: ClusterState,
  look: () => void,
): void {
  const { clock = systemClock } = options;
  keep(replica.onStatus(look), (stop) => stop());
  keep(engine.onHealth(look), (stop) => stop());
  const stop = keep(new AbortController(), (it) => it.abort());
  const check = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      await clock.sleep(SAFETY_CHECK_MS, stop.signal);
      await Promise.resolve(engine.checkSafety?.()).then(
        () => {
          state.unsafe = undefined;
        },
        (error: unknown) => {
          // An engine that cannot be reached shows in its health.
          if ((error as Error).name !== "EngineRefused") return;
          if (state.unsafe === undefined) logger.error("acknowledged messages may be lost", { error });
          state.unsafe = (error as Error).message;
        },
      );
    }
  };
  check().catch(() => {});
}

function secretKeyOf({ secretKey }: CollectorOptions): Uint8Array {
  if (secretKey === undefined || secretKey === "")
    throw new Error(
      "A cluster needs SLUICE_SECRET_KEY, the same for all of its processes. Run `openssl rand -base64 32` to generate a key",
    );
  const key = decodeKey(secretKey);
  if (key === undefined)
    throw new Error(
      "SLUICE_SECRET_KEY must be 32 bytes in hex or base64. Run `openssl rand -base64 32` to generate a key",
    );
  return key;
}

function nameTaken(node: string, address: string): Error {
  return new Error(
    `Another process of the cluster has the name "${node}": the one at ${address}. Give each process a clusterNode (SLUICE_CLUSTER_NODE) of its own`,
  );
}

/** Logs each problem once until it changes: the loops try again every second. */
function problemLog(logger: Logger): (what: string, error: unknown) => void {
  const last = new Map<string, string>();
  return (what, error) => {
    const text = String(error);
    if (last.get(what) === text) return;
    last.set(what, text);
    logger.warn(what, { error });
  };
}
