import {
  DiscardPolicy,
  PersistMode,
  RetentionPolicy,
  StorageType,
  StoreCompression,
  type StreamConfig,
} from "@nats-io/jetstream";
import { EngineRefused } from "../api-errors.js";

/** The format of the streams. Another number means: this program does not understand them. */
export const FORMAT = 1;

/** What the log stream says about the cluster. */
export interface ClusterIdentity {
  readonly name: string;
  /** Random, made with the streams. */
  readonly id: string;
  /** The fingerprint that the creator gave, or an empty text. */
  readonly fingerprint: string;
  readonly createdAt: string;
}

const METADATA = {
  format: "sluice-format",
  name: "sluice-cluster",
  id: "sluice-cluster-id",
  fingerprint: "sluice-fingerprint",
  createdAt: "sluice-created-at",
} as const;

/** The names of what a cluster uses in NATS. The key-value bucket and the object store follow the conventions of NATS. */
export interface StreamNames {
  readonly log: string;
  readonly logSubject: string;
  readonly leaseBucket: string;
  readonly leases: string;
  readonly snapshotBucket: string;
  readonly snapshots: string;
}

export function streamNames(cluster: string): StreamNames {
  const leaseBucket = `sluice-${cluster}`;
  const snapshotBucket = `sluice-${cluster}-snapshots`;
  return {
    log: `sluice-${cluster}-log`,
    logSubject: `sluice.${cluster}.log`,
    leaseBucket,
    leases: `KV_${leaseBucket}`,
    snapshotBucket,
    snapshots: `OBJ_${snapshotBucket}`,
  };
}

export interface StreamSizes {
  readonly replicas: number;
  readonly maxLogBytes: number;
  readonly maxSnapshotBytes: number;
}

/** The settings of a new stream that matter to Sluice. The server adds its defaults. */
export type NewStream = Partial<StreamConfig> &
  Pick<StreamConfig, "name" | "subjects" | "num_replicas" | "max_bytes">;

/** Settings without which an acknowledged entry could get lost or be changed. */
export interface WantedStream {
  readonly config: NewStream;
  /** Names of settings that may differ in a stream that exists: somebody gave it more room, for example. */
  readonly adjustable: readonly (keyof StreamConfig)[];
}

const COMMON = {
  retention: RetentionPolicy.Limits,
  storage: StorageType.File,
  discard: DiscardPolicy.New,
  compression: StoreCompression.None,
  max_age: 0,
  max_msgs: -1,
  max_consumers: -1,
  no_ack: false,
  sealed: false,
  deny_purge: false,
  // The server would answer from a replica that is behind.
  allow_direct: false,
} as const;

/** Entries of a longer message would keep other messages waiting. */
export const MAX_MESSAGE_BYTES: number = 8 * 1024 * 1024;

const ADJUSTABLE = ["max_bytes", "max_msg_size", "max_consumers", "compression"] as const;

/** The streams of a cluster, in the order in which they are made. The first one holds the cluster's identity. */
export function wantedStreams(
  names: StreamNames,
  sizes: StreamSizes,
  cluster: ClusterIdentity,
): WantedStream[] {
  const metadata = {
    [METADATA.format]: String(FORMAT),
    [METADATA.name]: cluster.name,
    [METADATA.id]: cluster.id,
    [METADATA.fingerprint]: cluster.fingerprint,
    [METADATA.createdAt]: cluster.createdAt,
  };
  const base = { ...COMMON, num_replicas: sizes.replicas, metadata };
  return [
    {
      config: {
        ...base,
        name: names.log,
        subjects: [names.logSubject],
        max_bytes: sizes.maxLogBytes,
        max_msg_size: MAX_MESSAGE_BYTES,
        max_msgs_per_subject: -1,
        allow_rollup_hdrs: false,
      },
      adjustable: ADJUSTABLE,
    },
    {
      config: {
        ...base,
        name: names.leases,
        subjects: [`$KV.${names.leaseBucket}.>`],
        max_bytes: -1,
        max_msg_size: -1,
        max_msgs_per_subject: 1,
        allow_rollup_hdrs: true,
      },
      adjustable: ADJUSTABLE,
    },
    {
      config: {
        ...base,
        name: names.snapshots,
        subjects: [`$O.${names.snapshotBucket}.C.>`, `$O.${names.snapshotBucket}.M.>`],
        max_bytes: sizes.maxSnapshotBytes,
        max_msg_size: -1,
        max_msgs_per_subject: -1,
        allow_rollup_hdrs: true,
      },
      adjustable: ADJUSTABLE,
    },
  ];
}

/** The identity in a stream's metadata. Refuses streams that are not Sluice's, or of another format. */
export function identityOf(config: StreamConfig): ClusterIdentity {
  const metadata = config.metadata ?? {};
  const format = metadata[METADATA.format];
  if (format === undefined)
    throw new EngineRefused(
      "format",
      `the stream ${config.name} exists and was not made by Sluice. Choose another name for the cluster, or remove the stream.`,
    );
  if (format !== String(FORMAT))
    throw new EngineRefused(
      "format",
      `the stream ${config.name} has format ${format}; this version of Sluice reads format ${FORMAT}. ${Number(format) > FORMAT ? "Install the newer version that made it." : "Migrate the cluster first."}`,
    );
  return {
    name: metadata[METADATA.name] ?? "",
    id: metadata[METADATA.id] ?? "",
    fingerprint: metadata[METADATA.fingerprint] ?? "",
    createdAt: metadata[METADATA.createdAt] ?? "",
  };
}

/** Servers leave out settings that have their default. */
const DEFAULTS: Partial<Record<keyof StreamConfig, unknown>> = {
  max_age: 0,
  compression: "none",
  no_ack: false,
  sealed: false,
  deny_purge: false,
  allow_direct: false,
  allow_rollup_hdrs: false,
};

/** Settings of an existing stream that a cluster never has, because they change or remove entries. */
const NEVER: readonly (keyof StreamConfig)[] = ["mirror", "sources", "subject_transform", "republish"];

/** What is wrong with the settings of a stream that exists, as texts such as `discard is "old" instead of "new"`. */
export function wrongSettings(found: StreamConfig, wanted: WantedStream): string[] {
  const wrong: string[] = [];
  const names = Object.keys(wanted.config) as (keyof NewStream)[];
  for (const name of names) {
    if (name === "metadata" || name === "num_replicas" || wanted.adjustable.includes(name)) continue;
    const value = found[name] ?? DEFAULTS[name];
    const want = wanted.config[name];
    if (JSON.stringify(value) !== JSON.stringify(want))
      wrong.push(`${name} is ${JSON.stringify(value)} instead of ${JSON.stringify(want)}`);
  }
  // Servers from 2.12 on: such a stream acknowledges before it syncs, whatever the server is told.
  if (found.persist_mode === PersistMode.Async) wrong.push('persist_mode is "async"');
  for (const name of NEVER) if (found[name] != null) wrong.push(`${name} is set`);
  return wrong;
}
