import { appendFileSync, closeSync, fsyncSync, ftruncateSync, openSync, readFileSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { decodeBatch } from "../../../message/decode-batch.js";
import { decodeRow, type LogRow } from "../../calls/log-row.js";
import { TUNING_DEFAULTS } from "../../calls/tuning.js";
import { Segments } from "../../index/segments.js";
import { emptyRow, NOTHING } from "../../log/page-waste.js";
import { endOfSound } from "./log-rows.js";

interface Stretch {
  /** The offset of its first message. */
  readonly first: number;
  /** The offset after its last one. */
  readonly end: number;
}

/** A stretch of the log whose bytes have changed since they were written. */
export interface DamagedStretch extends Stretch {
  /** How many messages were in it, according to the index. If the index was rebuilt: how many there were at most. */
  readonly messages: number;
  /** Ids of its messages, as far as they can still be read. An id may be damaged itself. */
  readonly messageIds: readonly string[];
  /** Whether `keptIn` holds bytes of its requests: false if the row is missing or only zeros. */
  readonly isKept: boolean;
}

export interface RepairedRows {
  /** How many rows of the log were read. */
  readonly rows: number;
  /** How many messages are in the sound rows. */
  readonly messages: number;
  readonly damaged: readonly DamagedStretch[];
  /** The file that holds the original bytes of all damaged rows. Absent if there were none. */
  readonly keptIn?: string;
}

/**
 * Reads the whole log. Replaces rows that are damaged or missing by empty ones, after writing their bytes to `keptIn`. Offsets and the ids known to dedupe stay.
 */
export function repairRows(database: DatabaseSync, keptIn: string, isIndexRebuilt: boolean): RepairedRows {
  const segments = new Segments(database, {
    directory: "",
    dedupeWindowMs: Number.MAX_SAFE_INTEGER,
    rejectionsKept: 0,
    retention: {},
    tuning: TUNING_DEFAULTS,
  });
  const { rows, messages, found } = readAll(database, segments);
  if (found.length === 0) return { rows, messages, damaged: [] };
  const damaged = found.map((stretch) => {
    const row = rowAt(database, stretch.first);
    return {
      ...stretch,
      messageIds: readableIds(row),
      isKept: row?.body.some((byte) => byte !== 0) ?? false,
    };
  });
  keep(
    keptIn,
    damaged.map(({ first, end, messageIds }) => ({
      ...{ first, end, messageIds },
      ...bytesOf(rowAt(database, first)),
    })),
  );
  database.exec("BEGIN IMMEDIATE");
  const report = damaged.map((stretch) => {
    const { first, end } = stretch;
    const forgotten = segments.forget(first, end);
    // A row must not reach into the next segment.
    for (const part of segments.split(first, end))
      putRow(database, emptyRow(someSource(database), part.first, part.end, segments.timeOf(part.first)));
    return { ...stretch, messages: isIndexRebuilt ? end - first : forgotten };
  });
  database.exec("COMMIT");
  return { rows, messages, damaged: report, keptIn };
}

interface Findings {
  readonly rows: number;
  readonly messages: number;
  /** What is damaged or missing. */
  readonly found: readonly Stretch[];
}

function readAll(database: DatabaseSync, segments: Segments): Findings {
  const found: Stretch[] = [];
  /** The first offset of a damaged row. Only the next row shows where it ends. */
  let damagedFrom: number | undefined;
  let rows = 0;
  let messages = 0;
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
    if (rowEnd !== undefined && !isEmpty(row)) messages += rowEnd - row.first;
    end = rowEnd ?? end;
  }
  const last = damagedFrom ?? end;
  if (last < segments.end) found.push({ first: last, end: segments.end });
  return { rows, messages, found };
}

/** Whether an earlier repair replaced a lost row by this one. */
function isEmpty({ body }: LogRow): boolean {
  return Buffer.compare(body, NOTHING) === 0;
}

function rowAt(database: DatabaseSync, first: number): LogRow | undefined {
  const statement = database.prepare("SELECT first, meta, body FROM log_rows WHERE first = ?");
  return statement.get(first) as unknown as LogRow | undefined;
}

/** Finds ids in requests that can no longer be parsed. A property of a message may match, too. */
const MESSAGE_ID = /"messageId"\s*:\s*"([^"\\]{1,99})"/g;

function readableIds(row: LogRow | undefined): string[] {
  if (row === undefined) return [];
  try {
    return decodeRow(row).flatMap((batch) =>
      decodeBatch({ ...batch, sourceId: "" }).map(({ messageId }) => messageId),
    );
  } catch {
    const text = Buffer.from(row.body).toString("utf8");
    return Array.from(text.matchAll(MESSAGE_ID), ([, id]) => id ?? "");
  }
}

/** The original bytes of a row. The text of its requests is for people to read. */
function bytesOf(row: LogRow | undefined): object {
  if (row === undefined) return {};
  const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64");
  return {
    meta: base64(row.meta),
    body: base64(row.body),
    text: Buffer.from(row.body).toString("utf8"),
  };
}

/**
 * Appends lines to a file that only the owner can read, and syncs it. Overwrites an incomplete last line: the run that wrote it was
 * interrupted before it changed the database.
 */
export function keep(file: string, lines: readonly object[]): void {
  const descriptor = openSync(file, "a+", 0o600);
  try {
    ftruncateSync(descriptor, readFileSync(descriptor).lastIndexOf("\n") + 1);
    for (const line of lines) appendFileSync(descriptor, `${JSON.stringify(line)}\n`);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

function putRow(database: DatabaseSync, { first, meta, body }: LogRow): void {
  database
    .prepare("INSERT OR REPLACE INTO log_rows (first, meta, body) VALUES (?, ?, ?)")
    .run(first, meta, body);
}

/** If no source is left, any number will do. */
function someSource(database: DatabaseSync): number {
  return (database.prepare("SELECT coalesce(min(no), 1) AS no FROM sources").get() as { no: number }).no;
}
