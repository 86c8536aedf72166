import type { Contents } from "./contents.js";

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
