import type { Contents } from "./contents.js";

/** Why a migration was refused. Nothing was taken for whole. */
export type MigrationRefusal =
  /** The cluster has messages or settings already. */
  | "cluster_has_data"
  /** Another folder's migration into the cluster has begun. */
  | "other_migration"
  /** There is nothing in the cluster. */
  | "cluster_is_empty"
  /** The folder has no data of a collector. */
  | "no_data"
  /** Another process uses the folder. */
  | "folder_in_use"
  /** The folder's data is damaged, or a newer version wrote it. */
  | "folder_unusable"
  /** The folder to make has something in it. */
  | "folder_not_empty"
  /** The log went on, or ends elsewhere, while it was read. */
  | "not_at_the_end"
  /** There is no room in the log. */
  | "no_room";

/** The message says what was wrong, where, and what to do. */
export class MigrationRefused extends Error {
  override readonly name = "MigrationRefused";
  readonly code: MigrationRefusal;

  constructor(code: MigrationRefusal, message: string) {
    super(message);
    this.code = code;
  }
}

/** The result does not have the same contents as the source. It was not made valid. */
export class MigrationDiffers extends Error {
  override readonly name = "MigrationDiffers";
  readonly source: Contents;
  readonly result: Contents;

  constructor(message: string, source: Contents, result: Contents) {
    super(message);
    this.source = source;
    this.result = result;
  }
}

export interface MigrationProgress {
  readonly step: "count source" | "copy" | "upload" | "download" | "read log" | "check";
  /** Absent: it is not known how much there is to do. */
  readonly done?: number;
  readonly total?: number;
  readonly unit?: "bytes" | "entries";
}

export interface MigrationResult {
  /** `done before`: an earlier run finished, and the source has not changed since. */
  readonly kind: "done" | "done before";
  readonly source: Contents;
  readonly result: Contents;
}
