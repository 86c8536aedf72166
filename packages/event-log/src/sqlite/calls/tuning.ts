/** How long messages are kept. Retention drops whole segments, and never one that a consumer still needs. */
export interface RetentionOptions {
  /** Maximum age of messages and refused messages, in milliseconds. Default: unlimited. */
  readonly maxAgeMs?: number;
  /** Maximum size on disk, in bytes: the oldest messages are dropped. Default: unlimited. */
  readonly maxBytes?: number;
}

/** Sizes inside the embedded store. Only tests and benchmarks change them. */
export interface StoreTuning {
  /** Messages (and gaps) in a segment, at most 131,072. Default: 131_072. */
  readonly segmentMessages: number;
  /** Bytes of bodies in a segment; the last batch may exceed it. Default: 128 MiB. */
  readonly segmentBytes: number;
  /** Batches of one commit share rows of the log up to this size. Default: 128 KiB. */
  readonly rowBytes: number;
  /** Growth of the write-ahead log after which a checkpoint runs. Default: 4 MiB, 10 to 25 ms. */
  readonly checkpointBytes: number;
  /** Without it, a power cut loses acknowledged messages. For tests, one of which proves that the power-cut test notices. Default: true. */
  readonly syncLog: boolean;
}

export const TUNING_DEFAULTS: StoreTuning = {
  segmentMessages: 131_072,
  segmentBytes: 128 * 1024 * 1024,
  rowBytes: 128 * 1024,
  checkpointBytes: 4 * 1024 * 1024,
  syncLog: true,
};

export const STORE_DEFAULTS = { dedupeWindowMs: 86_400_000, rejectionsKept: 10_000, retention: {} } as const;

/** The worker's options. */
export interface WorkerOptions {
  readonly directory: string;
  readonly dedupeWindowMs: number;
  readonly rejectionsKept: number;
  readonly retention: RetentionOptions;
  readonly tuning: StoreTuning;
  /** The folder is a copy of a replicated log: it changes only by `apply`. Its settings are those in the log. Default: false. */
  readonly isReplica?: boolean;
}
