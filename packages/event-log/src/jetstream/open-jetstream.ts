import { randomUUID } from "node:crypto";
import { type JetStreamManager, jetstream, jetstreamManager } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/transport-node";
import type { Clock } from "@sluice/resilience";
import { EngineUnavailable, type ReplicationEngine } from "../replicated/engine.js";
import { EngineRefused, isAway, isElecting } from "./api-errors.js";
import { type ConnectionTarget, connectToNats, type NatsCredentials, type NatsTls } from "./connection.js";
import { jetStreamLeases } from "./jetstream-leases.js";
import { jetStreamLog } from "./jetstream-log.js";
import { jetStreamSnapshots } from "./jetstream-snapshots.js";
import { followLink } from "./link.js";
import { ensureStreams, LEADER_WAIT_MS, refusalOfApi, streamInfo } from "./streams/ensure-streams.js";
import { type ClusterIdentity, MAX_MESSAGE_BYTES, streamNames } from "./streams/stream-settings.js";
import {
  checkServers,
  checkVersion,
  factsFromMonitors,
  mayBeDown,
  type ReplicaServer,
  replicaServers,
} from "./streams/sync-check.js";

export interface JetStreamOptions {
  /** Addresses of NATS servers, such as `nats://10.0.0.1:4222`. */
  readonly servers: readonly string[];
  /** The name of the cluster: 1 to 40 letters, digits, `-` and `_`. */
  readonly cluster: string;
  readonly clock: Clock;
  /** Copies that the servers keep of everything: 1, 3 or 5. Default: 3. */
  readonly replicas?: number;
  readonly credentials?: NatsCredentials;
  readonly tls?: NatsTls;
  /** Monitoring addresses of all servers, such as `http://10.0.0.1:8222`. They show whether the servers sync. */
  readonly monitors?: readonly string[];
  /** Goes on although the servers acknowledge before they sync, or nothing says that they do not. Default: false. */
  readonly acceptUnsynced?: boolean;
  /** A value that only the processes of this cluster share, such as a digest of the secret key. */
  readonly fingerprint?: string;
  /** The id of the cluster to which local data belongs. Then no other one is used, and none is made. */
  readonly clusterId?: string;
  /** Whether a cluster that does not exist is made. Default: true. */
  readonly create?: boolean;
  /** Bytes that a new log may use, which the servers reserve. Default: 4 GiB. */
  readonly maxLogBytes?: number;
  /** Bytes that new snapshots may use. Default: no limit but the servers'. */
  readonly maxSnapshotBytes?: number;
  /** How the servers call this process. Default: `sluice`. */
  readonly connectionName?: string;
  /** Ends the opening: it rejects with the signal's reason. An engine that is open stays open. */
  readonly signal?: AbortSignal;
}

export interface JetStreamEngine extends ReplicationEngine {
  readonly cluster: ClusterIdentity;
  /**
   * Looks again whether it is safe to acknowledge: rejects with `EngineRefused` if it is not, as at the start, and with
   * `EngineUnavailable` if nobody can be asked.
   */
  checkSafety(): Promise<void>;
}

/** How long an answer about streams and leases may take. */
const ANSWER_MS = 2_000;
const LOOK_AGAIN_MS = 500;
const DEFAULT_LOG_BYTES = 4 * 1024 ** 3;

function checkOptions(options: JetStreamOptions): void {
  if (!/^[a-zA-Z0-9_-]{1,40}$/.test(options.cluster))
    throw new EngineRefused(
      "invalid_option",
      `"${options.cluster}" is not a name of a cluster: 1 to 40 letters, digits, - and _`,
    );
  if (![1, 3, 5].includes(options.replicas ?? 3))
    throw new EngineRefused("invalid_option", `${options.replicas} replicas: choose 1, 3 or 5`);
}

/** Servers that start together with this process answer when they have elected a leader. */
async function managerOf(connection: NatsConnection, clock: Clock): Promise<JetStreamManager> {
  const since = clock.monotonic();
  for (;;) {
    try {
      return await jetstreamManager(connection, { timeout: ANSWER_MS });
    } catch (error) {
      const isPatient = isElecting(error) && clock.monotonic() - since < LEADER_WAIT_MS;
      if (!isPatient) throw refusalOfApi(error, "JetStream");
      await clock.sleep(LOOK_AGAIN_MS);
    }
  }
}

/**
 * Connects to a NATS cluster and makes the streams of a Sluice cluster, or checks the ones that exist. Rejects with `EngineRefused` if
 * it cannot be used or would not be safe.
 */
export async function openJetStream(options: JetStreamOptions): Promise<JetStreamEngine> {
  checkOptions(options);
  const target: ConnectionTarget = {
    servers: options.servers,
    name: options.connectionName ?? "sluice",
    ...(options.credentials === undefined ? {} : { credentials: options.credentials }),
    ...(options.tls === undefined ? {} : { tls: options.tls }),
  };
  const { signal } = options;
  const connection = await connectToNats(target, signal);
  // Whatever waits for an answer ends with the connection.
  const end = (): void => void connection.close();
  signal?.addEventListener("abort", end);
  try {
    signal?.throwIfAborted();
    const engine = await engineOver(connection, options);
    signal?.throwIfAborted();
    return engine;
  } catch (error) {
    await connection.close();
    throw signal?.aborted === true ? signal.reason : error;
  } finally {
    signal?.removeEventListener("abort", end);
  }
}

interface CheckedReplicas {
  readonly options: JetStreamOptions;
  readonly manager: JetStreamManager;
  /** Of the log. */
  readonly stream: string;
  /** The name of the server that is connected. */
  readonly connectedTo: () => string;
}

/**
 * Looks at the servers that hold the log's replicas. A server that has just started or ended may count as online and not answer yet, or not
 * any more. At the start, all must answer; later, one that may be down is `EngineUnavailable`.
 */
async function checkReplicas(parts: CheckedReplicas, isStart: boolean): Promise<void> {
  const { options } = parts;
  const { clock, acceptUnsynced = false } = options;
  const since = clock.monotonic();
  for (;;) {
    const seen = await factsFromMonitors(options.monitors ?? [], options.clock);
    const servers = await replicasOf(parts);
    const { facts, failures } = seen;
    try {
      return checkServers(servers, facts, { acceptUnsynced, failures });
    } catch (error) {
      if (!isSyncUnknown(error)) throw error;
      if (!isStart && mayBeDown(servers, seen)) throw new EngineUnavailable(error.message, { cause: error });
      if (failures.length === 0 || clock.monotonic() - since >= LEADER_WAIT_MS) throw error;
      await clock.sleep(LOOK_AGAIN_MS);
    }
  }
}

async function replicasOf(parts: CheckedReplicas): Promise<readonly ReplicaServer[]> {
  const { options, manager, stream, connectedTo } = parts;
  const info = await streamInfo(manager, stream, options.clock);
  if (info === undefined) throw new EngineRefused("unknown_cluster", `"${options.cluster}": its log is gone`);
  return replicaServers(info, connectedTo());
}

function isSyncUnknown(error: unknown): error is EngineRefused {
  return error instanceof EngineRefused && error.code === "sync_unknown";
}

async function engineOver(connection: NatsConnection, options: JetStreamOptions): Promise<JetStreamEngine> {
  const { clock, cluster: name } = options;
  const server = connection.info;
  checkVersion(server?.server_name ?? "the server", server?.version ?? "0");
  const manager = await managerOf(connection, clock);
  const names = streamNames(name);
  const acceptUnsynced = options.acceptUnsynced === true;

  // Before anything is made: a cluster on servers that are not safe is refused without a trace.
  const connectedTo = (): string => connection.info?.server_name ?? "the server";
  const found = await factsFromMonitors(options.monitors ?? [], options.clock);
  checkServers([{ name: connectedTo(), isOnline: true }], found.facts, {
    acceptUnsynced,
    failures: found.failures,
  });
  const sizes = {
    replicas: options.replicas ?? 3,
    maxLogBytes: options.maxLogBytes ?? DEFAULT_LOG_BYTES,
    maxSnapshotBytes: options.maxSnapshotBytes ?? -1,
  };
  const identity = {
    name,
    id: options.clusterId ?? randomUUID(),
    fingerprint: options.fingerprint ?? "",
    createdAt: new Date(clock.now()).toISOString(),
  };
  const wish = {
    ...{ names, sizes, identity, expectedId: options.clusterId, create: options.create ?? true },
  };
  const cluster = await ensureStreams(manager, wish, clock);

  const replicas = { options, manager, stream: names.log, connectedTo };
  await checkReplicas(replicas, true);

  const link = followLink(connection, clock);
  const access = {
    client: jetstream(connection),
    manager,
    link,
    clock,
    maxPayloadBytes: () => connection.info?.max_payload ?? MAX_MESSAGE_BYTES,
  };
  return {
    cluster,
    checkSafety: async () => {
      try {
        await checkReplicas(replicas, false);
      } catch (error) {
        throw isAway(error) ? new EngineUnavailable(error.message, { cause: error }) : error;
      }
    },
    log: jetStreamLog(access, {
      stream: names.log,
      subject: names.logSubject,
      maxMessageBytes: MAX_MESSAGE_BYTES,
    }),
    leases: jetStreamLeases(access, { stream: names.leases, bucket: names.leaseBucket }),
    snapshots: jetStreamSnapshots(access, { stream: names.snapshots, bucket: names.snapshotBucket }),
    health: link.health,
    onHealth: link.onHealth,
    close: () => connection.close(),
  };
}
