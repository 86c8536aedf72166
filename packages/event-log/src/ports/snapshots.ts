/** A file of a store as it was at one moment. */
export interface SnapshotInfo {
  /** Its name in the data folder. */
  readonly file: string;
  readonly bytes: number;
  /** The version of its layout. An older program refuses a higher one. */
  readonly layout: number;
}

/**
 * Reads what a store had on disk at one moment, while the store goes on. There is one snapshot at a time.
 *
 * Every method rejects with a `StoreError`: `conflict` if a snapshot is open already, and `storage_unavailable` if it has ended, because
 * the store was reopened or cleared, or because the disk is full.
 */
export interface Snapshots {
  /** Keeps the state of all commits so far. */
  begin(): Promise<SnapshotInfo>;
  /** Bytes of the file. Read it from the beginning to the end, in steps of whole pages (multiples of 64 KB). */
  read(at: number, bytes: number): Promise<Uint8Array>;
  /** Ends the snapshot, if there is one. */
  end(): Promise<void>;
}
