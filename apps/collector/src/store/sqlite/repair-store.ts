import { closeSync, existsSync, fsyncSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { CollectorError, StorageUnavailable } from "../../errors.js";
import { checkRow, decodeRow, type LogRow, MetaWriter } from "./log-row.js";
import { TUNING_DEFAULTS } from "./tuning.js";
import { endOf } from "./worker/log.js";
import { Segments } from "./worker/segments.js";

/** A stretch of the log whose bytes are not those that were written. */
export interface DamagedStretch {
  /** The offset of its first message. */
  readonly first: number;
  /** The offset after its last one. */
  readonly end: number;
  /** How many messages were in it, as the indexes tell. */
  readonly messages: number;
}

export interface RepairReport {
  /** Rows of the log that were read. */
  readonly rows: number;
  readonly damaged: readonly DamagedStretch[];
  /** The file that has the damaged rows' bytes now; absent where there were none. */
  readonly keptIn?: string;
}

/** JSON lines; a stretch that is missing altogether has no bytes. */
const KEPT_FILE = "damaged-rows.jsonl";

/** Stands where messages stood that cannot be read: no reader finds a message in it. */
const NOTHING = new TextEncoder().encode("null");

/**
 * Reads a stopped collector's whole log. What is damaged or missing is taken out, after its bytes were written to a file beside the
 * database; offsets, and the ids known to dedupe, stay. Then the folder can be opened, and no destination stops at it.
 * Rejects with `StorageUnavailable` where the folder cannot be opened at all, or a collector has it.
 */
export async function repairStore({ directory }: { readonly directory: string }): Promise<RepairReport> {
  // Not before it is needed: Node.js 22 warns of its SQLite where it is loaded.
  const { CannotOpen, DATABASE_FILE, openDatabase } = await import("./worker/database.js");
  if (!existsSync(join(directory, DATABASE_FILE))) {
    throw new CollectorError("not_found", `there is no data folder at ${directory}`);
  }
  let database: DatabaseSync;
  try {
    database = openDatabase(directory, "FULL");
  } catch (error) {
    throw error instanceof CannotOpen ? new StorageUnavailable(error.message, error) : error;
  }
  try {
    const segments = new Segments(database, {
      directory,
      dedupeWindowMs: Number.MAX_SAFE_INTEGER,
      rejectionsKept: 0,
      retention: {},
      tuning: TUNING_DEFAULTS,
    });
    const { rows, found } = readAll(database, segments);
    if (found.length === 0) return { rows, damaged: [] };
    const keptIn = join(directory, KEPT_FILE);
    keep(database, keptIn, found);
    database.exec("BEGIN IMMEDIATE");
    const damaged = found.map(({ first, end }) => ({
      first,
      end,
      messages: segments.forget(first, end),
    }));
    for (const { first, end } of damaged) replace(database, first, end, segments.timeOf(first));
    database.exec("COMMIT");
    return { rows, damaged, keptIn };
  } finally {
    database.close();
  }
}

interface Stretch {
  readonly first: number;
  readonly end: number;
}

function readAll(
  database: DatabaseSync,
  segments: Segments,
): { readonly rows: number; readonly found: readonly Stretch[] } {
  const found: Stretch[] = [];
  /** Where the row begins that is damaged and whose end the next row tells. */
  let damagedFrom: number | undefined;
  let rows = 0;
  let end = segments.start;
  const statement = database.prepare(
    "SELECT first, meta, body FROM log_rows WHERE first >= ? ORDER BY first",
  );
  for (const raw of statement.iterate(segments.start)) {
    const row = raw as unknown as LogRow;
    rows += 1;
    if (damagedFrom !== undefined) found.push({ first: damagedFrom, end: row.first });
    else if (row.first > end) found.push({ first: end, end: row.first });
    const rowEnd = endOfSound(row);
    damagedFrom = rowEnd === undefined ? row.first : undefined;
    end = rowEnd ?? end;
  }
  const last = damagedFrom ?? end;
  if (last < segments.end) found.push({ first: last, end: segments.end });
  return { rows, found };
}

/** The offset after a row's last message; undefined where the row is damaged. */
function endOfSound(row: LogRow): number | undefined {
  try {
    checkRow(row);
    return endOf(decodeRow(row));
  } catch {
    return undefined;
  }
}

/** Appends the rows as they are, and the requests' text for people to read, to a file that only the owner can read, synced. */
function keep(database: DatabaseSync, file: string, stretches: readonly Stretch[]): void {
  const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64");
  const descriptor = openSync(file, "a", 0o600);
  try {
    const rowAt = database.prepare("SELECT first, meta, body FROM log_rows WHERE first = ?");
    for (const { first, end } of stretches) {
      const row = rowAt.get(first) as unknown as LogRow | undefined;
      const bytes =
        row === undefined
          ? {}
          : { meta: base64(row.meta), body: base64(row.body), text: Buffer.from(row.body).toString("utf8") };
      writeSync(descriptor, `${JSON.stringify({ first, end, ...bytes })}\n`);
    }
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Puts a row without messages in the place of a stretch. */
function replace(database: DatabaseSync, first: number, end: number, receivedAtMs: number): void {
  const meta = new MetaWriter();
  const { no } = database.prepare("SELECT min(no) AS no FROM sources").get() as { no: number };
  meta.add({
    sourceNo: no,
    receivedAtMs,
    flags: 0,
    itemCount: end - first,
    bodyBytes: NOTHING.length,
    skipped: [],
    extras: new Uint8Array(0),
  });
  database
    .prepare("INSERT OR REPLACE INTO log_rows (first, meta, body) VALUES (?, ?, ?)")
    .run(first, meta.seal(NOTHING), NOTHING);
}
