import type { JetStreamManager, StreamInfo } from "@nats-io/jetstream";
import type { Clock } from "@sluice/resilience";
import {
  API_ERRORS,
  apiErrorCode,
  EngineRefused,
  isElecting,
  isWithoutResponders,
  reasonOf,
} from "../api-errors.js";
import {
  type ClusterIdentity,
  identityOf,
  type NewStream,
  type StreamNames,
  type StreamSizes,
  type WantedStream,
  wantedStreams,
  wrongSettings,
} from "./stream-settings.js";

export interface ClusterWish {
  /** What a new cluster would get. */
  readonly identity: ClusterIdentity;
  /** The id that the cluster must have. Then it must exist, too. */
  readonly expectedId: string | undefined;
  /** Whether a cluster that does not exist is made. */
  readonly create: boolean;
  readonly names: StreamNames;
  readonly sizes: StreamSizes;
}

/** An election takes up to 9 seconds. */
export const LEADER_WAIT_MS = 15_000;
/** Servers that have just started do not know how much room the others have. They tell each other every 10 seconds. */
const PEERS_WAIT_MS = 25_000;
/** How often a stream is looked for while it is made, and until it has a leader. */
const LOOK_MS = 250;

/** The information about a stream; undefined if there is none. Waits for the end of an election. */
export async function streamInfo(
  manager: JetStreamManager,
  name: string,
  clock: Clock,
): Promise<StreamInfo | undefined> {
  const since = clock.monotonic();
  for (;;) {
    try {
      return await manager.streams.info(name);
    } catch (error) {
      if (apiErrorCode(error) === API_ERRORS.streamNotFound) return undefined;
      // A stream that is being made, or has no leader, does not answer.
      const isPatient = isElecting(error) && clock.monotonic() - since < LEADER_WAIT_MS;
      if (!isPatient) throw refusalOfApi(error, name);
      await clock.sleep(LOOK_MS);
    }
  }
}

/** Translates a failed call of the JetStream API at the start. */
export function refusalOfApi(error: unknown, what: string): EngineRefused {
  const reason = reasonOf(error);
  const code = apiErrorCode(error);
  if (code === API_ERRORS.jetStreamNotEnabled || code === API_ERRORS.jetStreamNotEnabledForAccount)
    return new EngineRefused(
      "no_jetstream",
      `${reason}. Enable JetStream in the servers and for this account.`,
      error,
    );
  if (isWithoutResponders(error) || reason.includes("jetstream is not enabled"))
    return new EngineRefused(
      "no_jetstream",
      "no server answers for JetStream. Enable it in the servers, and check that a majority of them runs.",
      error,
    );
  if (/permission/i.test(reason))
    return new EngineRefused(
      "permissions",
      `${what}: ${reason}. Allow the user $JS.API.>, sluice.>, $KV.>, $O.> and _INBOX.>.`,
      error,
    );
  return new EngineRefused("unreachable", `${what}: ${reason}. A majority of the servers must run.`, error);
}

function neededRoom({ max_bytes: bytes, num_replicas: replicas }: NewStream): string {
  // A stream without a limit reserves nothing, and is refused where other streams have reserved everything.
  return bytes < 0
    ? `gets no room on ${replicas} servers`
    : `needs ${bytes} bytes on each of ${replicas} servers`;
}

/** Translates a failed creation of a stream. */
export function refusalOfCreate(error: unknown, config: NewStream): EngineRefused {
  const reason = reasonOf(error);
  switch (apiErrorCode(error)) {
    case API_ERRORS.replicasNotSupported:
      return new EngineRefused(
        "replicas",
        `the stream ${config.name} is to have ${config.num_replicas} replicas, and the server is not part of a NATS cluster. Start ${config.num_replicas} servers as one cluster, or ask for 1 replica (SLUICE_CLUSTER_REPLICAS).`,
        error,
      );
    case API_ERRORS.noPeers:
    case API_ERRORS.storageExceeded:
    case API_ERRORS.accountLimits:
    case API_ERRORS.accountStorageExceeded:
    case API_ERRORS.clusterStorageExceeded:
      // The server says which servers were too full, offline or too few, behind "no suitable peers for placement".
      return /insufficient storage|storage|resource|limit/i.test(reason)
        ? new EngineRefused(
            "room",
            `the stream ${config.name} ${neededRoom(config)}: ${reason}. The cluster reserves its log on these servers. Raise max_file_store of the servers or the limits of the account, ask for a smaller log (SLUICE_CLUSTER_MAX_LOG_BYTES), or, if fewer than ${config.num_replicas} servers run, for fewer replicas (SLUICE_CLUSTER_REPLICAS).`,
            error,
          )
        : new EngineRefused(
            "too_few",
            `the stream ${config.name} cannot have ${config.num_replicas} replicas: ${reason}. Start at least ${config.num_replicas} servers in the NATS cluster, or ask for fewer replicas (SLUICE_CLUSTER_REPLICAS).`,
            error,
          );
    case API_ERRORS.subjectsOverlap:
      return new EngineRefused(
        "settings",
        `another stream of this account takes ${config.subjects.join(", ")} already. Change the subjects of that stream.`,
        error,
      );
    default:
      return refusalOfApi(error, config.name);
  }
}

/**
 * Makes a stream, or finds the one that somebody else made at the same time. A server does not answer a request for a stream that is
 * just being made with other settings, such as another id (2.10), so this looks for it meanwhile. Resolves when the stream has a leader.
 */
async function createStream(manager: JetStreamManager, config: NewStream, clock: Clock): Promise<StreamInfo> {
  const since = clock.monotonic();
  let askedMs = since;
  let refused: { readonly by: EngineRefused; readonly isFinal: boolean } | undefined;
  const add = async (): Promise<void> => {
    askedMs = clock.monotonic();
    try {
      await manager.streams.add(config);
      refused = undefined;
    } catch (error) {
      const code = apiErrorCode(error);
      // Nobody answered, or the name is that of a stream that is there, or will be soon.
      if (code === undefined || code === API_ERRORS.streamNameInUse) {
        refused = undefined;
        return;
      }
      const isEarly = code === API_ERRORS.noPeers && clock.monotonic() - since < PEERS_WAIT_MS;
      refused = { by: refusalOfCreate(error, config), isFinal: !isEarly };
      if (isEarly) return clock.sleep(LOOK_MS).then(add);
    }
  };
  await Promise.race([add(), clock.sleep(LOOK_MS)]);
  for (;;) {
    const found = await streamInfo(manager, config.name, clock);
    if (found !== undefined && hasLeader(found)) return found;
    if (refused?.isFinal === true) throw refused.by;
    if (refused === undefined && clock.monotonic() - askedMs > LEADER_WAIT_MS)
      throw new EngineRefused(
        "too_few",
        found === undefined
          ? `nobody answered the request to make the stream ${config.name}. A majority of the servers must run.`
          : `the stream ${config.name} has no leader. A majority of the servers that hold it must run.`,
      );
    await clock.sleep(LOOK_MS);
  }
}

function hasLeader(info: StreamInfo): boolean {
  return info.cluster === undefined || (info.cluster.leader ?? "") !== "";
}

function checkIdentity(found: ClusterIdentity, wish: ClusterWish): void {
  const { name } = wish.identity;
  if (wish.expectedId !== undefined && found.id !== wish.expectedId)
    throw new EngineRefused(
      "other_cluster",
      `this data folder belongs to the cluster "${name}" with the id ${wish.expectedId}, and the one at these servers has the id ${found.id}, made on ${found.createdAt}. Check the servers, or start with an empty data folder.`,
    );
  if (wish.identity.fingerprint !== found.fingerprint)
    throw new EngineRefused(
      "other_cluster",
      `the cluster "${name}" was made on ${found.createdAt} with another SLUICE_SECRET_KEY. Give all processes of a cluster the same key, or choose another name for this one.`,
    );
}

function checkSettings(info: StreamInfo, wanted: WantedStream): void {
  const wrong = wrongSettings(info.config, wanted);
  if (wrong.length > 0)
    throw new EngineRefused(
      "settings",
      `${info.config.name}: ${wrong.join(", ")}. Change it back with the tools of NATS.`,
    );
  const asked = wanted.config.num_replicas;
  if (info.config.num_replicas < asked)
    throw new EngineRefused(
      "replicas",
      `the stream ${info.config.name} has ${info.config.num_replicas} replicas, and ${asked} are asked for. Raise them with "nats stream edit ${info.config.name} --replicas ${asked}", or ask for fewer.`,
    );
}

async function clusterNames(manager: JetStreamManager): Promise<string[]> {
  const names: string[] = [];
  for await (const name of manager.streams.names()) {
    const cluster = /^sluice-(.+)-log$/.exec(name)?.[1];
    if (cluster !== undefined) names.push(cluster);
  }
  return names.sort();
}

async function refusalOfUnknown(manager: JetStreamManager, wish: ClusterWish): Promise<EngineRefused> {
  const names = await clusterNames(manager).catch(() => []);
  const there = names.length === 0 ? "There is none at these servers." : `There is: ${names.join(", ")}.`;
  const why =
    wish.expectedId === undefined
      ? ""
      : ` This data folder belongs to it, so it is not made again. Check the servers; if NATS lost its data, restore a backup.`;
  return new EngineRefused("unknown_cluster", `"${wish.identity.name}". ${there}${why}`);
}

/** Makes the cluster's streams, or checks the ones that exist and leaves them as they are. */
export async function ensureStreams(
  manager: JetStreamManager,
  wish: ClusterWish,
  clock: Clock,
): Promise<ClusterIdentity> {
  const existing = await streamInfo(manager, wish.names.log, clock);
  const mayBeMade = wish.create && wish.expectedId === undefined;
  if (existing === undefined && !mayBeMade) throw await refusalOfUnknown(manager, wish);
  let identity = wish.identity;
  if (existing !== undefined) {
    identity = identityOf(existing.config);
    checkIdentity(identity, wish);
  }
  // All that exists is checked before anything is made.
  const [log] = wantedStreams(wish.names, wish.sizes, identity);
  if (log === undefined) throw new Error("a cluster has streams");
  if (existing !== undefined) checkSettings(existing, log);
  const made = existing ?? (await createStream(manager, log.config, clock));
  identity = identityOf(made.config);
  checkIdentity(identity, wish);
  const others = wantedStreams(wish.names, wish.sizes, identity).slice(1);
  await Promise.all(others.map((wanted) => ensureStream(manager, wanted, wish, clock)));
  return identity;
}

async function ensureStream(
  manager: JetStreamManager,
  wanted: WantedStream,
  wish: ClusterWish,
  clock: Clock,
): Promise<void> {
  const info =
    (await streamInfo(manager, wanted.config.name, clock)) ??
    (await createStream(manager, wanted.config, clock));
  const { id } = identityOf(info.config);
  const logId = wanted.config.metadata?.["sluice-cluster-id"];
  if (id !== logId)
    throw new EngineRefused(
      "other_cluster",
      `the stream ${wanted.config.name} is left from another cluster "${wish.identity.name}" (id ${id} instead of ${logId}). Remove it if nobody uses it.`,
    );
  checkSettings(info, wanted);
}
