import type { ReplicationEngine } from "@sluice/event-log";
import type { Clock } from "@sluice/resilience";

/** The engine of a cluster, as far as a process uses it besides the port. */
export interface ClusterEngine extends ReplicationEngine {
  /** Which cluster it is. A cluster of the same name that was made again has another id. */
  readonly cluster?: { readonly id: string };
  /** Rejects if it is not safe to acknowledge: too few copies, or servers that acknowledge before they sync. */
  checkSafety?(): Promise<void>;
}

export interface OpenEngineParts {
  readonly node: string;
  /** A value that only the processes of this cluster share. */
  readonly fingerprint: string;
  /** The cluster to which the data folder belongs; undefined for a new folder. */
  readonly clusterId: string | undefined;
  readonly clock: Clock;
}

export interface ClusterOptions {
  readonly name: string;
  /** The name of this process in the cluster. */
  readonly node: string;
  /** Where other processes reach this one. Default: the address on which it listens. */
  readonly advertise?: string;
  /** After this time without a heartbeat of the owner, another process takes over. Default: 3_000. */
  readonly leaseMs?: number;
  /** How long to try again if the engine cannot be reached at the start. Default: 60_000. */
  readonly waitMs?: number;
  /** Ends that waiting. */
  readonly signal?: AbortSignal;
  /** Rejects with `EngineUnavailable` if it may help to try again, and with another readable reason if the engine cannot be used. */
  readonly openEngine: (parts: OpenEngineParts) => Promise<ClusterEngine>;
}
