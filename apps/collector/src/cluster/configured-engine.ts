import { readFileSync } from "node:fs";
import { EngineUnavailable } from "@sluice/event-log";
import type { Clock } from "@sluice/resilience";
import { defined } from "../process/defined.js";
import type { ClusterConfig } from "../process/settings/cluster-settings.js";

export interface ConfiguredEngineParts {
  readonly fingerprint: string;
  /** The cluster to which local data belongs. */
  readonly clusterId: string | undefined;
  readonly clock: Clock;
  /** How the servers call this process. */
  readonly connectionName: string;
  /** Whether a cluster that does not exist is made. Default: true. */
  readonly create?: boolean;
  /** Ends the opening. */
  readonly signal?: AbortSignal | undefined;
}

/** As `openConfiguredEngine`, but rejects with `EngineUnavailable` if the servers are not there, or have no leader yet. */
export async function openEngineIfThere(config: ClusterConfig, parts: ConfiguredEngineParts) {
  const { isAway } = await import("@sluice/event-log/jetstream");
  return openConfiguredEngine(config, parts).catch((error: unknown) => {
    throw isAway(error) ? new EngineUnavailable(error.message, { cause: error }) : error;
  });
}

/** Connects to the NATS servers that the configuration names. Rejects with `EngineRefused`. */
export async function openConfiguredEngine(config: ClusterConfig, parts: ConfiguredEngineParts) {
  const { fingerprint, clusterId, clock, connectionName, create, signal } = parts;
  const { openJetStream } = await import("@sluice/event-log/jetstream");
  return openJetStream({
    ...{ servers: config.clusterServers, cluster: config.clusterName, clock, fingerprint, connectionName },
    replicas: config.clusterReplicas,
    monitors: config.clusterMonitors,
    acceptUnsynced: config.clusterAcceptUnsynced,
    maxLogBytes: config.clusterMaxLogBytes,
    ...defined({ clusterId, create, signal }),
    ...defined({ credentials: credentialsOf(config), tls: tlsOf(config) }),
  });
}

function credentialsOf({
  clusterUser,
  clusterPassword = "",
  clusterToken,
  clusterNkey,
  clusterCredsFile,
}: ClusterConfig) {
  if (clusterUser !== undefined)
    return { kind: "user", user: clusterUser, password: clusterPassword } as const;
  if (clusterToken !== undefined) return { kind: "token", token: clusterToken } as const;
  if (clusterNkey !== undefined) return { kind: "nkey", seed: clusterNkey } as const;
  if (clusterCredsFile !== undefined) return { kind: "creds", creds: readCreds(clusterCredsFile) } as const;
  return undefined;
}

/** Undefined: the servers say whether they want TLS. */
function tlsOf({ clusterTlsCaFile, clusterTlsCertFile, clusterTlsKeyFile }: ClusterConfig) {
  const files = { caFile: clusterTlsCaFile, certFile: clusterTlsCertFile, keyFile: clusterTlsKeyFile };
  return Object.values(files).some((file) => file !== undefined) ? defined(files) : undefined;
}

function readCreds(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw new Error(`clusterCredsFile ${file} cannot be read: ${(error as Error).message}`, { cause: error });
  }
}
