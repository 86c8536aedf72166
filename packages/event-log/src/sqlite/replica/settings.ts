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
  const logged = loggedText(database);
  if (logged === undefined) return options;
  const settings = JSON.parse(logged) as LoggedSettings;
  return { ...options, ...settings, tuning: { ...options.tuning, ...settings.tuning } };
}

/** Within a transaction. */
export function storeLoggedSettings(database: DatabaseSync, seed: number, settings: LoggedSettings): void {
  const put = database.prepare("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)");
  put.run("seed", seed);
  put.run(REPLICA_SETTINGS, JSON.stringify(settings));
}

export function settingsOf({
  dedupeWindowMs,
  rejectionsKept,
  retention,
  tuning,
}: WorkerOptions): LoggedSettings {
  const { segmentMessages, segmentBytes } = tuning;
  return { dedupeWindowMs, rejectionsKept, retention, tuning: { segmentMessages, segmentBytes } };
}

/** Whether these are the settings that are stored. */
export function areLogged(database: DatabaseSync, settings: LoggedSettings): boolean {
  return loggedText(database) === JSON.stringify(settings);
}

function loggedText(database: DatabaseSync): string | undefined {
  const row = database.prepare("SELECT value FROM meta WHERE name = ?").get(REPLICA_SETTINGS);
  return (row as { value: string } | undefined)?.value;
}
