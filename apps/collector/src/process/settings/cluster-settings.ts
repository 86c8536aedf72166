import { KB } from "@sluice/protocol";
import { flag, httpUrl, integer, listOf, oneOf, text } from "./parse-setting.js";
import type { Setting } from "./setting.js";

/** How a collector takes part in a cluster. */
export interface ClusterConfig {
  /** Empty: it runs on its own. */
  readonly clusterServers: readonly string[];
  readonly clusterName: string;
  readonly clusterNode: string | undefined;
  readonly clusterAdvertise: string | undefined;
  readonly clusterReplicas: number;
  readonly clusterLeaseMs: number;
  readonly clusterWaitMs: number;
  readonly clusterMonitors: readonly string[];
  readonly clusterAcceptUnsynced: boolean;
  readonly clusterMaxLogBytes: number;
  readonly clusterUser: string | undefined;
  readonly clusterPassword: string | undefined;
  readonly clusterToken: string | undefined;
  readonly clusterNkey: string | undefined;
  readonly clusterCredsFile: string | undefined;
  readonly clusterTlsCaFile: string | undefined;
  readonly clusterTlsCertFile: string | undefined;
  readonly clusterTlsKeyFile: string | undefined;
}

const file = { default: undefined, rule: "the path of a file", parse: text } as const;
const secret = { default: undefined, rule: "a text", parse: text, isSecret: true } as const;

export const CLUSTER_SETTINGS: { readonly [K in keyof ClusterConfig]: Setting<ClusterConfig[K]> } = {
  clusterServers: {
    env: "SLUICE_CLUSTER_SERVERS",
    default: [],
    rule: "a list of addresses of NATS servers (`nats://10.0.0.1:4222`, `tls://nats.internal:4222`), separated by commas, without user and password: `clusterUser` and `clusterPassword` are for them",
    parse: listOf(natsUrl),
    meaning: "The NATS servers of a cluster of collectors. Empty: the collector runs on its own.",
  },
  clusterName: {
    env: "SLUICE_CLUSTER_NAME",
    default: "sluice",
    rule: "1 to 40 letters, digits, `-` and `_`",
    parse: matching(/^[A-Za-z0-9_-]{1,40}$/),
    meaning:
      "The name of the cluster. All of its collectors have the same; several clusters can share NATS servers.",
  },
  clusterNode: {
    env: "SLUICE_CLUSTER_NODE",
    default: undefined,
    rule: "1 to 63 letters, digits, `-` and `_`, the first a letter or digit",
    parse: matching(/^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$/),
    meaning: "The name of this collector in the cluster; each has its own. Absent: the name of the machine.",
  },
  clusterAdvertise: {
    env: "SLUICE_CLUSTER_ADVERTISE",
    default: undefined,
    rule: "an http or https URL",
    parse: httpUrl,
    meaning:
      "The URL at which the other collectors reach this one. Absent: `host` and `port`. Needed if `host` stands for all addresses.",
  },
  clusterReplicas: {
    env: "SLUICE_CLUSTER_REPLICAS",
    default: 3,
    rule: "1, 3 or 5",
    parse: oneOfNumbers(["1", "3", "5"]),
    meaning: "How many NATS servers keep each message. 3 survives the loss of one of them, 1 of none.",
  },
  clusterLeaseMs: {
    env: "SLUICE_CLUSTER_LEASE_MS",
    default: 3_000,
    rule: "an integer from 1000 to 60000",
    parse: integer(1_000, 60_000),
    meaning:
      "How long the owner may be silent before another collector takes over. The same for all collectors of the cluster.",
  },
  clusterWaitMs: {
    env: "SLUICE_CLUSTER_WAIT_MS",
    default: 60_000,
    rule: "an integer from 0 to 3600000",
    parse: integer(0, 3_600_000),
    meaning:
      "How long a collector that starts waits for NATS servers that cannot be reached, or have no leader yet. Then it ends with the reason. 0: it does not wait.",
  },
  clusterMonitors: {
    env: "SLUICE_CLUSTER_MONITORS",
    default: [],
    rule: "a list of http or https URLs, separated by commas",
    parse: listOf(httpUrl),
    meaning:
      "The monitoring addresses of all NATS servers, such as `http://10.0.0.1:8222`. They show whether the servers sync before they acknowledge.",
  },
  clusterAcceptUnsynced: {
    env: "SLUICE_CLUSTER_ACCEPT_UNSYNCED",
    default: false,
    rule: "`true` or `false`",
    parse: flag,
    meaning:
      "Start although the NATS servers acknowledge before they sync, or nothing shows whether they do. If the machines of most servers lose power at once, acknowledged messages are lost.",
  },
  clusterMaxLogBytes: {
    env: "SLUICE_CLUSTER_MAX_LOG_BYTES",
    default: 4 * KB ** 3,
    rule: "an integer of at least 67108864 (64 MB)",
    parse: integer(64 * KB * KB),
    meaning: "Disk space that a new cluster's log reserves on each NATS server.",
  },
  clusterUser: {
    ...{ env: "SLUICE_CLUSTER_USER", default: undefined, rule: "a text", parse: text },
    meaning: "The user name for the NATS servers.",
  },
  clusterPassword: {
    ...{ ...secret, env: "SLUICE_CLUSTER_PASSWORD" },
    meaning: "The password of `clusterUser`.",
  },
  clusterToken: {
    ...{ ...secret, env: "SLUICE_CLUSTER_TOKEN" },
    meaning: "The token for the NATS servers.",
  },
  clusterNkey: {
    ...{ ...secret, env: "SLUICE_CLUSTER_NKEY" },
    meaning: "The seed of the nkey for the NATS servers (`SU…`).",
  },
  clusterCredsFile: {
    ...{ ...file, env: "SLUICE_CLUSTER_CREDS_FILE" },
    meaning: "A `.creds` file for the NATS servers: a JWT and its seed.",
  },
  clusterTlsCaFile: {
    ...{ ...file, env: "SLUICE_CLUSTER_TLS_CA_FILE" },
    meaning: "Certificates that are trusted for the NATS servers, as PEM. Absent: those of Node.js.",
  },
  clusterTlsCertFile: {
    ...{ ...file, env: "SLUICE_CLUSTER_TLS_CERT_FILE" },
    meaning: "The certificate with which the collector shows itself to the NATS servers, as PEM.",
  },
  clusterTlsKeyFile: {
    ...{ ...file, env: "SLUICE_CLUSTER_TLS_KEY_FILE" },
    meaning: "The key of `clusterTlsCertFile`, as PEM.",
  },
};

/** What is wrong about these settings together. */
export function clusterProblems(config: ClusterConfig & { readonly host: string }): readonly string[] {
  if (config.clusterServers.length === 0) {
    const isMeant = config.clusterNode !== undefined || config.clusterAdvertise !== undefined;
    return isMeant
      ? ["clusterServers (SLUICE_CLUSTER_SERVERS) must be set for a collector of a cluster"]
      : [];
  }
  const problems: string[] = [];
  const given = [config.clusterUser, config.clusterToken, config.clusterNkey, config.clusterCredsFile].filter(
    (one) => one !== undefined,
  );
  if (given.length > 1)
    problems.push("only one of clusterUser, clusterToken, clusterNkey and clusterCredsFile can be set");
  if ((config.clusterUser === undefined) !== (config.clusterPassword === undefined))
    problems.push("clusterUser and clusterPassword must be set together");
  if ((config.clusterTlsCertFile === undefined) !== (config.clusterTlsKeyFile === undefined))
    problems.push("clusterTlsCertFile and clusterTlsKeyFile must be set together");
  if (config.clusterAdvertise === undefined && ["0.0.0.0", "::"].includes(config.host))
    problems.push(
      `clusterAdvertise (SLUICE_CLUSTER_ADVERTISE) must be set, because other collectors cannot reach this one at host ${config.host}`,
    );
  return problems;
}

function natsUrl(value: string): string | undefined {
  if (!URL.canParse(value) || !/^(?:nats|tls):\/\//.test(value)) return undefined;
  const { username, password } = new URL(value);
  return username + password === "" ? value : undefined;
}

function matching(pattern: RegExp): (value: unknown) => string | undefined {
  return (value) => (typeof value === "string" && pattern.test(value) ? value : undefined);
}

function oneOfNumbers(numbers: readonly string[]): (value: unknown) => number | undefined {
  return (value) => {
    const known = oneOf(numbers)(String(value));
    return known === undefined ? undefined : Number(known);
  };
}
