import type { RetentionOptions } from "./retention-options.js";

/** SQLite's setting of that name. */
export type Synchronous = "FULL" | "NORMAL";

/** Sizes of the embedded store's parts. Nobody but tests and benchmarks has a reason to change them. */
export interface StoreTuning {
  /** Messages (and gaps) in a segment, at most 131,072. Default: 131_072. */
  readonly segmentMessages: number;
  /** Bytes of bodies in a segment; one batch more is taken. Default: 128 MiB. */
  readonly segmentBytes: number;
  /** Batches of one commit are put together into rows of the log of up to this many bytes. Default: 128 KiB. */
  readonly rowBytes: number;
  /** When the write-ahead log has grown by this much, it is brought into the database. Default: 4 MiB, about 5 ms. */
  readonly checkpointBytes: number;
  /** `NORMAL` loses acknowledged messages in a power cut: it is there to show that the power-cut test sees it. Default: `FULL`. */
  readonly synchronous: Synchronous;
}

export const TUNING_DEFAULTS: StoreTuning = {
  segmentMessages: 131_072,
  segmentBytes: 128 * 1024 * 1024,
  rowBytes: 128 * 1024,
  checkpointBytes: 4 * 1024 * 1024,
  synchronous: "FULL",
};

/** All that the worker is told when it starts. */
export interface WorkerOptions {
  readonly directory: string;
  readonly dedupeWindowMs: number;
  readonly rejectionsKept: number;
  readonly retention: RetentionOptions;
  readonly tuning: StoreTuning;
}
