import { randomUUID } from "node:crypto";
import { openReplica, type RetentionOptions } from "@sluice/event-log";
import { type Clock, systemClock } from "@sluice/resilience";
import type { Collector } from "../collector.js";
import type { CollectorOptions } from "../collector-options.js";
import { decodeKey } from "../destinations/secret-box.js";
import { HTTP_LIMITS } from "../http/limits.js";
import { makeDataFolder, makeOwnerOnly } from "../process/data-folder.js";
import { defined } from "../process/defined.js";
import { announceRetention, resolveRetention } from "../process/retention-defaults.js";
import { type Stages, startWithStages } from "../process/stages.js";
import type { Logger } from "../process/telemetry/logger.js";
import { createMetrics } from "../process/telemetry/metrics.js";
import { buildMetric } from "../process/telemetry/store-metrics.js";
import { VERSION } from "../process/version.js";
import { ClusterCounts } from "./cluster-counts.js";
import { markClusterFolder, readClusterFolder } from "./cluster-folder.js";
import type { ClusterOptions } from "./cluster-options.js";
import { ClusterState } from "./cluster-state.js";
import type { Front, openFront } from "./front/front.js";
import { keyFingerprint, peerToken } from "./front/peer.js";
import { Membership } from "./membership/membership.js";
import { type FrontParts, openNodeFront, type Standing } from "./open-node-front.js";
import type { Ownership } from "./ownership/ownership.js";
import type { LeadParts } from "./partitions/lead-partition.js";
import {
  closeEngine,
  type OpenedPartition,
  openEngines,
  openReplicas,
  shareOf,
  type Waiting,
} from "./partitions/open-partitions.js";
import { ownPartition } from "./partitions/own-partition.js";
import { Partition } from "./partitions/partition.js";
import { type SeveralPartitions, severalPartitions } from "./partitions/several-partitions.js";
import { waitForEngine } from "./wait-for-engine.js";

export interface ClusterNodeOptions extends CollectorOptions {
  readonly clusterOptions: ClusterOptions;
  readonly startCollector: (options: CollectorOptions) => Promise<Collector>;
  /** Opens the copy. Default: `openReplica`. Only the simulation replaces it. */
  readonly openReplica?: typeof openReplica;
  /** Listens for requests. Default: over the network. Only the simulation replaces it. */
  readonly openFront?: typeof openFront;
}

/** A process of a cluster. It serves requests whether it owns the partition or not. */
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
  readonly opened: readonly OpenedPartition[];
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
  const open = (clusterId: string | undefined, partition: number, isNewPartition: boolean) =>
    clusterOptions.openEngine({
      ...{ node, clock, clusterId, partition, isNewPartition },
      fingerprint: keyFingerprint(key, name),
    });
  const waiting: Waiting = (ask, drop) => waitWhileAway(ask, frontParts, standing, drop);
  const first = await waiting(() => open(mark?.id, 0, false), closeEngine);
  const engine = stages.keep(first, closeEngine);
  await markClusterFolder(dataDirectory, { name, ...defined({ id: engine.cluster?.id }) });
  const retention = await resolveRetention(options.retention ?? NO_RETENTION, dataDirectory);
  announceRetention(logger, retention);
  const opening = {
    ...{ stages, clock, logger, cluster: name, node, dataDirectory, retention, engine },
    counts,
    dedupeWindowMs: options.dedupeWindowMs,
    openReplica: options.openReplica ?? openReplica,
    waiting,
    openEngine: (partition: number, isNew: boolean) => open(engine.cluster?.id, partition, isNew),
  };
  const engines = await openEngines(opening, clusterOptions.partitions ?? 1);
  const opened = await openReplicas(opening, engines);
  return connectParts(stages, {
    ...{ ...frontParts, front, standing, opened },
    retention: shareOf(retention, opened.length),
  });
}

/** Waits for an engine that cannot be reached. Logs each reason once. */
function waitWhileAway<T>(
  ask: () => Promise<T>,
  { options, logger }: FrontParts,
  standing: Standing,
  drop: ((late: T) => unknown) | undefined,
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
  const { options, logger, metrics, front, standing, opened } = parts;
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
  const wakeAll = (): void => {
    for (const ownership of ownerships) ownership.wake();
  };

  const address = clusterOptions.advertise ?? front.url;
  const state: ClusterState = new ClusterState({
    ...{ name, node, instance, version: VERSION, address, clock },
    partitions: opened.map(
      ({ engine, replica }, partition) =>
        new Partition({
          ...{ partition, instance, clock, engine, replica },
          ownership: () => ownerships[partition] as Ownership,
        }),
    ),
    membership: () => membership,
  });
  const { leases } = controlOf(opened).engine;
  const membership: Membership = new Membership({
    leases,
    clock,
    heartbeatMs: MEMBER_HEARTBEAT_MS,
    self: () => state.facts(),
    onChange: () => isConnected && wakeAll(),
    onNameTaken: (by) => fatal.reject(nameTaken(node, by.address)),
    onProblem: problem,
  });
  const leading = leadParts(parts, state, membership);
  const ownerships: readonly Ownership[] = state.partitions.map((partition) =>
    ownPartition(partition, {
      ...{ leases, clock, leaseMs, state, membership, leading, problem },
      self: { node, instance, address },
      onChange: () => {
        changed();
        if (!isConnected) return;
        membership.beat();
        // Who owns one partition decides who takes the others.
        if (ownerships.length > 1) queueMicrotask(wakeAll);
      },
    }),
  );
  isConnected = true;
  standing.state = state;
  standing.several = leading.several;
  state.showMetrics(metrics, () => front.waiting);
  await joinCluster(stages, ownerships, leading);
  keepLooking(stages, parts, state, () => {
    changed();
    wakeAll();
  });
  logger.info("joined the cluster", { cluster: name, address });
  const { publicUrl, region } = options;
  return {
    ...{ url: front.url, port: front.port, adminUrl: front.adminUrl, publicUrl, region },
    firstRun: undefined,
    state,
    failed: fatal.promise,
    close: (graceMs) => closeNode(stages, ownerships, clock, graceMs),
  };
}

async function joinCluster(
  { keep }: Stages,
  ownerships: readonly Ownership[],
  { membership, several, front }: LeadParts,
): Promise<void> {
  for (const ownership of ownerships) keep(ownership, (it) => it.close());
  keep(membership, (it) => it.close());
  if (several !== undefined) keep(several.peers, (it) => it.close());
  // It closes first: the requests that it has still need to know the next owner.
  keep(front, (it, leftMs) => it.close(leftMs));
  await membership.start();
  if (several !== undefined) await readSources(keep, several);
  for (const ownership of ownerships) await ownership.start();
}

/** A copy that is being loaded has no sources yet: they are read again when it is whole. */
async function readSources(
  keep: Stages["keep"],
  { sources, control }: Pick<SeveralPartitions, "sources" | "control">,
): Promise<void> {
  const over = keep(new AbortController(), (it) => it.abort());
  const isRead = await sources.refresh().then(
    () => control.status().role !== "loading",
    () => false,
  );
  if (isRead) return;
  void control
    .caughtUp(over.signal)
    .then(() => sources.refresh())
    // The first request with an unknown key reads them.
    .catch(() => {});
}

function controlOf(opened: readonly OpenedPartition[]): OpenedPartition {
  return opened[0] as OpenedPartition;
}

/** What leading a partition needs. */
function leadParts(parts: NodeParts, state: ClusterState, membership: Membership): LeadParts {
  const { options, logger, counts, front, retention, opened, token } = parts;
  const { clock = systemClock, clusterOptions } = options;
  const { name, node } = clusterOptions;
  const control = {
    name,
    node,
    view: () => state.view(),
    drain: (wanted: string) => membership.drain(wanted),
    undrain: (wanted: string) => membership.cancelDrain(wanted),
    move: (partition: number, to: string | undefined) => membership.move(partition, to),
  };
  return {
    ...{ options, logger, counts, front, state, membership, retention, control },
    several:
      opened.length === 1
        ? undefined
        : severalPartitions(controlOf(opened).replica, { front: () => front, token, node, clock }),
  };
}

/** Hands over first, so that requests which arrive meanwhile can still be passed on to the next owner. */
async function closeNode(
  stages: Stages,
  ownerships: readonly Ownership[],
  clock: Clock,
  graceMs: number,
): Promise<void> {
  const deadlineMs = clock.monotonic() + graceMs;
  const isOver = new AbortController();
  // Without the engine, what is under way cannot be finished: closing the copy rejects it.
  const left = Promise.all(ownerships.map((ownership) => ownership.leave()));
  await Promise.race([left, clock.sleep(graceMs, isOver.signal).catch(() => {})]);
  isOver.abort();
  await stages.close(Math.max(0, deadlineMs - clock.monotonic()));
}

/** Calls `look` after changes of the copy and the engine, and every now and then checks whether it is still safe to acknowledge. */
function keepLooking(
  { keep }: Stages,
  { opened, options, logger, standing }: NodeParts,
  state: ClusterState,
  look: () => void,
): void {
  const { clock = systemClock } = options;
  for (const { replica, engine } of opened) {
    keep(replica.onStatus(look), (stop) => stop());
    keep(engine.onHealth(look), (stop) => stop());
  }
  const stop = keep(new AbortController(), (it) => it.abort());
  const check = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      await clock.sleep(SAFETY_CHECK_MS, stop.signal);
      // What this process was not told, because it was away.
      await standing.several?.documents.changed(undefined).catch(() => {});
      await Promise.all(opened.map(({ engine }) => engine.checkSafety?.())).then(
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
