import type { DatabaseSync } from "node:sqlite";
import type { RetentionOptions } from "../calls/retention-options.js";
import type { StoreTuning, WorkerOptions } from "../calls/tuning.js";

/** Settings that decide what a write does. They stand in the log, so that every copy does the same. */
export interface LoggedSettings {
  readonly dedupeWindowMs: number;
  readonly rejectionsKept: number;
  readonly retention: RetentionOptions;
  readonly tuning: Pick<StoreTuning, "segmentMessages" | "segmentBytes">;
}

/** Their name in the table `meta`. */
export const REPLICA_SETTINGS = "replica_settings";

/** The options of a copy: what the log says comes before what this process was started with. */
export function withLoggedSettings(database: DatabaseSync, options: WorkerOptions): WorkerOptions {
  const row = database.prepare("SELECT value FROM meta WHERE name = ?").get(REPLICA_SETTINGS) as
    | { value: string }
    | undefined;
  if (row === undefined) return options;
  const settings = JSON.parse(row.value) as LoggedSettings;
  return { ...options, ...settings, tuning: { ...options.tuning, ...settings.tuning } };
}

/** Within a transaction. */
export function storeLoggedSettings(database: DatabaseSync, seed: number, settings: LoggedSettings): void {
  const put = database.prepare("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)");
  put.run("seed", seed);
  put.run(REPLICA_SETTINGS, JSON.stringify(settings));
}
