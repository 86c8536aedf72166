import type { DatabaseSync } from "node:sqlite";
import { SEGMENT_STATE } from "../index/segments.js";

const CLEARED = [
  "log_rows",
  "segments",
  "sidecars",
  "tail",
  "chunks",
  "strings",
  "late_outcomes",
  "late_attempts",
  "retries",
  "rejections",
  "usage",
] as const;

/**
 * Deletes the log and all data about its messages, in one transaction. Stores the next offset as an empty segment, so that no offset is
 * assigned twice. `alsoWrite` runs in the same transaction.
 */
export function clearTables(
  database: DatabaseSync,
  next: { readonly segment: number; readonly offset: number },
  alsoWrite: () => void,
): void {
  const { segment, offset } = next;
  database.exec("BEGIN IMMEDIATE");
  for (const table of CLEARED) database.exec(`DELETE FROM ${table}`);
  database.prepare("UPDATE consumers SET cursor = max(cursor, ?), range = NULL").run(offset - 1);
  database
    .prepare(
      'INSERT INTO segments (no, first, "end", messages, bytes, min_ms, max_ms, state) VALUES (?, ?, ?, 0, 0, 0, 0, ?)',
    )
    .run(segment, offset, offset, SEGMENT_STATE.marks);
  alsoWrite();
  database.exec("COMMIT");
}
