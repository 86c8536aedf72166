import type { StreamInfo } from "@nats-io/jetstream";
import type { Clock } from "@sluice/resilience";
import { EngineRefused, reasonOf } from "../api-errors.js";

/** What a server says about itself on its monitoring page. */
export interface ServerFacts {
  readonly name: string;
  readonly version: string;
  /** Whether it syncs each write before it acknowledges it. */
  readonly isSynced: boolean;
  /** Bytes that it may store, and that it stores. Undefined: no limit is known. */
  readonly maxStoreBytes: number | undefined;
  readonly storedBytes: number;
}

/** What could be found out, and why not more. */
export interface FoundFacts {
  readonly facts: readonly ServerFacts[];
  readonly failures: readonly string[];
  /** Servers that may be down, because nothing could be asked there. */
  readonly unreachable: number;
}

/** A server that holds a replica. */
export interface ReplicaServer {
  readonly name: string;
  readonly isOnline: boolean;
}

/** The page `/varz`, as far as it is used. Versions before 2.10 have no `sync_always`. */
interface Varz {
  readonly server_name?: string;
  readonly version?: string;
  readonly jetstream?: {
    readonly config?: { readonly sync_always?: boolean; readonly max_storage?: number };
    readonly stats?: { readonly storage?: number };
  };
}

export function factsOf(page: unknown): ServerFacts | undefined {
  const { server_name: name, version, jetstream } = page as Varz;
  if (name === undefined || version === undefined) return undefined;
  return {
    name,
    version,
    isSynced: jetstream?.config?.sync_always === true,
    maxStoreBytes: jetstream?.config?.max_storage,
    storedBytes: jetstream?.stats?.storage ?? 0,
  };
}

const PAGE_MS = 3_000;

/** Asks the monitoring page of each server. Pages that do not answer are left out. */
export async function factsFromMonitors(monitors: readonly string[], clock: Clock): Promise<FoundFacts> {
  const failures: string[] = [];
  let unreachable = 0;
  const pages = await Promise.all(
    monitors.map(async (monitor) => {
      const ending = new AbortController();
      const cancel = clock.after(PAGE_MS, () => ending.abort(new Error("no answer")));
      try {
        const page = new URL("varz", monitor.endsWith("/") ? monitor : `${monitor}/`);
        const response = await fetch(page, { signal: ending.signal, redirect: "error" }).catch((error) => {
          unreachable += 1;
          throw error;
        });
        const facts = factsOf(await response.json());
        if (facts === undefined) failures.push(`${monitor} is not the monitoring address of a NATS server`);
        return facts;
      } catch (error) {
        const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
        failures.push(`${monitor}: ${reasonOf(cause)}`);
        return undefined;
      } finally {
        cancel();
      }
    }),
  );
  return { facts: pages.filter((page) => page !== undefined), failures, unreachable };
}

/** The servers that hold a stream's replicas. Without a NATS cluster, it is the one that is connected. */
export function replicaServers(info: StreamInfo, connectedTo: string): ReplicaServer[] {
  const { cluster } = info;
  if (cluster === undefined) return [{ name: connectedTo, isOnline: true }];
  const others = (cluster.replicas ?? []).map(({ name, offline }) => ({ name, isOnline: offline !== true }));
  return cluster.leader === undefined ? others : [{ name: cluster.leader, isOnline: true }, ...others];
}

/** Whether a version such as `2.10.27` is 2.10 or newer. */
export function isVersionSupported(version: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return major > 2 || (major === 2 && minor >= 10);
}

export function checkVersion(server: string, version: string): void {
  if (!isVersionSupported(version))
    throw new EngineRefused(
      "server_version",
      `${server} has version ${version}, and 2.10 is needed: older servers cannot sync before they acknowledge. Upgrade it.`,
    );
}

/** Below this, a server cannot take entries for long. */
export const LEAST_ROOM_BYTES: number = 64 * 1024 * 1024;

/** What `sync_interval` has to be, and what to do where that is not wanted. */
const SYNC_ADVICE =
  "Set `sync_interval: always` in the `jetstream` block of every server, or start with --cluster-accept-unsynced (SLUICE_CLUSTER_ACCEPT_UNSYNCED): then a power cut of a majority of the servers loses acknowledged messages.";

function unknownServers(servers: readonly ReplicaServer[], facts: readonly ServerFacts[]): string[] {
  const known = new Set(facts.map(({ name }) => name));
  return servers.filter(({ name, isOnline }) => isOnline && !known.has(name)).map(({ name }) => name);
}

/**
 * Whether the servers of which nothing is known may just be down. They count as online for a while, and for as long as most of them are
 * down. Once it was seen that they sync, this is no reason to doubt it: one that is down acknowledges nothing.
 */
export function mayBeDown(
  servers: readonly ReplicaServer[],
  { facts, unreachable }: Pick<FoundFacts, "facts" | "unreachable">,
): boolean {
  return unknownServers(servers, facts).length <= unreachable;
}

/** Refuses servers that are too old, too full, or may lose what they acknowledged. Servers that are offline are not asked. */
export function checkServers(
  servers: readonly ReplicaServer[],
  facts: readonly ServerFacts[],
  options: { readonly acceptUnsynced: boolean; readonly failures: readonly string[] },
): void {
  for (const { name, version } of facts) checkVersion(name, version);
  for (const { name, maxStoreBytes, storedBytes } of facts)
    if (maxStoreBytes !== undefined && maxStoreBytes > 0 && maxStoreBytes - storedBytes < LEAST_ROOM_BYTES)
      throw new EngineRefused(
        "room",
        `${name} may store ${maxStoreBytes} bytes and has stored ${storedBytes}. Raise max_file_store.`,
      );
  if (options.acceptUnsynced) return;
  const unsynced = facts.filter(({ isSynced }) => !isSynced).map(({ name }) => name);
  if (unsynced.length > 0) throw new EngineRefused("unsynced", `${unsynced.join(", ")}. ${SYNC_ADVICE}`);
  const unknown = unknownServers(servers, facts);
  if (unknown.length > 0) {
    const failures = options.failures.length === 0 ? "" : ` (${options.failures.join("; ")})`;
    const known = [...new Set(facts.map(({ name }) => name))];
    const checked =
      known.length === 0
        ? "No server is checked"
        : `Only ${known.join(", ")} ${known.length === 1 ? "is" : "are"} checked`;
    throw new EngineRefused(
      "sync_unknown",
      `${unknown.join(", ")}${failures}. ${checked}. Name the monitoring address of every server (SLUICE_CLUSTER_MONITORS). ${SYNC_ADVICE}`,
    );
  }
}
