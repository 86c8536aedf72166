import type { Batch, LostMessage } from "../message/batch.js";

/** A batch that is kept on disk. */
export interface SpooledBatch {
  /** Empty if the whole file is damaged. */
  readonly batch: Batch;
  /** The path of its file, for error texts. */
  readonly file: string;
  /** Messages of the same file that cannot be read any more. The id is `""` if it is damaged, too. */
  readonly damaged: readonly LostMessage[];
  /** Deletes it from the disk. */
  remove(): Promise<void>;
}

/** Whether a batch was written, or why not. */
export type Kept = "kept" | { readonly reason: string };

/** Keeps batches on disk, in order, beyond the life of the process. No call throws or rejects. */
export interface Spool {
  /** Looks for batches of earlier processes. Nothing else may be called before it resolves. */
  open(): Promise<void>;
  /** Messages on disk now. */
  readonly messages: number;
  /** Adds a batch behind the others, or says why it cannot. */
  append(batch: Batch): Promise<Kept>;
  /** The oldest batch, or undefined if the spool is empty. Files that cannot be read are removed. */
  oldest(): Promise<SpooledBatch | undefined>;
  /** Lets other processes send what is on disk. `oldest` is not called any more; `append` may be. */
  release(): Promise<void>;
}
