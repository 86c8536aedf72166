import type { Batch } from "../message/batch.js";
import type { LostMessage } from "../reporting/reports.js";

/** A batch that waits on disk. */
export interface SpooledBatch {
  /** May be empty where all of the file is damaged. */
  readonly batch: Batch;
  /** Its path, for people. */
  readonly file: string;
  /** Messages that stood beside these and cannot be read any more; the id is `""` where that is lost, too. */
  readonly damaged: readonly LostMessage[];
  /** Takes it off the disk. */
  remove(): Promise<void>;
}

/** Whether a batch was kept, or why it could not be. */
export type Kept = "kept" | { readonly reason: string };

/** Keeps batches beyond the life of the process, in order. No call throws or rejects. */
export interface Spool {
  /** Looks for what earlier processes left. Nothing else is called before it has resolved. */
  open(): Promise<void>;
  /** Messages kept now. */
  readonly messages: number;
  /** Keeps a batch behind the others, or says why it cannot. */
  append(batch: Batch): Promise<Kept>;
  /** The oldest batch, or undefined where none is kept. What cannot be read is taken away. */
  oldest(): Promise<SpooledBatch | undefined>;
}
