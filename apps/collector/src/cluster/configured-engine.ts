import { readFileSync } from "node:fs";
import { EngineUnavailable } from "@sluice/event-log";
import type { Clock } from "@sluice/resilience";
import { defined } from "../process/defined.js";
import type { ClusterConfig } from "../process/settings/cluster-settings.js";

interface EngineWait<T> {
  /** Rejects with `EngineUnavailable` if the engine may answer later, and with another error if trying again is of no use. */
  readonly ask: () => Promise<T>;
  readonly clock: Clock;
  /** How long to try. 0: once. */
  readonly timeoutMs: number;
  /** Called after each attempt that is followed by another one. */
  readonly onAway: (reason: string) => void;
  /** Ends the waiting: it rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** Takes what an attempt brings after that. */
  readonly drop?: (late: T) => unknown;
}

const AGAIN_MS = 1_000;

/** Opens or asks the engine. While it cannot be reached, tries again until the time is over. Then it rejects with the last reason. */
export async function waitForEngine<T>(wait: EngineWait<T>): Promise<T> {
  const { clock, timeoutMs, onAway, signal } = wait;
  const deadlineMs = clock.monotonic() + timeoutMs;
  for (;;) {
    try {
      return await unlessEnded(wait);
    } catch (error) {
      if (!(error instanceof EngineUnavailable)) throw error;
      const leftMs = deadlineMs - clock.monotonic();
      if (leftMs <= 0) throw timeoutMs === 0 ? error : givenUp(error, timeoutMs);
      onAway(error.message);
      await clock.sleep(Math.min(AGAIN_MS, leftMs), signal);
    }
  }
}

/** One attempt. An engine may leave a question without an answer for long. */
async function unlessEnded<T>({ ask, signal, drop }: EngineWait<T>): Promise<T> {
  if (signal === undefined) return ask();
  signal.throwIfAborted();
  const asked = ask();
  const ended = Promise.withResolvers<never>();
  const end = (): void => ended.reject(signal.reason);
  signal.addEventListener("abort", end);
  try {
    return await Promise.race([asked, ended.promise]);
  } catch (error) {
    if (signal.aborted) asked.then(drop).catch(() => {});
    throw error;
  } finally {
    signal.removeEventListener("abort", end);
  }
}

function givenUp(error: EngineUnavailable, timeoutMs: number): Error {
  return new Error(`${error.message} The collector waited for ${timeoutMs / 1_000} s (clusterWaitMs)`, {
    cause: error,
  });
}

interface ConfiguredEngineParts {
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
