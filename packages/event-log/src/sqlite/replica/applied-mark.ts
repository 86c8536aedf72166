import type { DatabaseSync, StatementSync } from "node:sqlite";
import { type Applied, NOTHING_APPLIED } from "../calls/applied.js";
import type { RetentionOptions, StoreTuning, WorkerOptions } from "../calls/tuning.js";

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

/** The place of `Applied` in a database, and of the parts of an entry that is not complete. */
export class AppliedMark {
  /** SQL that removes it from a database. */
  static readonly removal = "DROP TABLE IF EXISTS replica; DROP TABLE IF EXISTS replica_parts";

  readonly #read: StatementSync;
  readonly #write: StatementSync;
  readonly #putPart: StatementSync;
  readonly #parts: StatementSync;
  readonly #dropParts: StatementSync;

  constructor(database: DatabaseSync) {
    database.exec(
      "CREATE TABLE IF NOT EXISTS replica (only INTEGER PRIMARY KEY CHECK (only = 1), applied TEXT NOT NULL) STRICT",
    );
    database.exec(
      "CREATE TABLE IF NOT EXISTS replica_parts (place INTEGER PRIMARY KEY, data BLOB NOT NULL) STRICT",
    );
    this.#putPart = database.prepare("INSERT OR REPLACE INTO replica_parts (place, data) VALUES (?, ?)");
    this.#parts = database.prepare("SELECT data FROM replica_parts ORDER BY place");
    this.#dropParts = database.prepare("DELETE FROM replica_parts");
    this.#read = database.prepare("SELECT applied FROM replica");
    this.#write = database.prepare("INSERT OR REPLACE INTO replica (only, applied) VALUES (1, ?)");
  }

  get value(): Applied {
    const row = this.#read.get() as { applied: string } | undefined;
    return row === undefined ? NOTHING_APPLIED : (JSON.parse(row.applied) as Applied);
  }

  set(applied: Applied): void {
    this.move(applied);
    this.dropParts();
  }

  /** Every entry but a part ends the parts before it: they belong to it, or their session was replaced. Within a transaction. */
  dropParts(): void {
    this.#dropParts.run();
  }

  /** Within a transaction. */
  move(applied: Applied): void {
    this.#write.run(JSON.stringify(applied));
  }

  get parts(): readonly Uint8Array[] {
    return this.#parts.all().map(({ data }) => data as Uint8Array);
  }

  /** Within a transaction. */
  addPart(place: number, data: Uint8Array): void {
    this.#putPart.run(place, data);
  }
}
