import { randomBytes } from "node:crypto";
import type { DatabaseSync } from "node:sqlite";
import { KEY } from "../../calls/append-request.js";
import { decodeRow } from "../../calls/log-row.js";
import { TUNING_DEFAULTS } from "../../calls/tuning.js";
import { OpenSegment } from "../../index/open-segment.js";
import { SEGMENT_STATE } from "../../index/segments.js";
import { Sidecars } from "../../index/sidecars.js";
import { endOfSound, type IndexedRow, logRows, RowIndexer } from "./log-rows.js";

/** How long a segment takes new messages with the default dedupe window. */
const SEGMENT_MS = 86_400_000 / 8;

interface SegmentRow {
  readonly no: number;
  readonly first: number;
  readonly end: number;
  readonly messages: number;
  readonly state: number;
}

export interface LogIndex {
  /** The index was rebuilt from the messages. */
  readonly isRebuilt: boolean;
  /** A sentence for each loss. */
  readonly lost: readonly string[];
}

/** Compares the log's index (ids, users, types) with the messages, and rebuilds it if an entry is missing. Within a transaction. */
export function checkLogIndex(database: DatabaseSync): LogIndex {
  const lost = [...nameSources(database)];
  const seed = database.prepare("SELECT value FROM meta WHERE name = 'seed'").get()?.value;
  const sidecars = new Sidecars(database);
  if (typeof seed === "number") {
    const indexer = new RowIndexer(seed, namesOf(database));
    lost.push(...checkMarks(database, sidecars));
    if (isSound(database, sidecars, indexer)) return { isRebuilt: false, lost };
    rebuild(database, sidecars, indexer);
    return { isRebuilt: true, lost };
  }
  // Without the seed, no id in the index can be found.
  const drawn = randomBytes(4).readInt32LE();
  database.prepare("INSERT OR REPLACE INTO meta (name, value) VALUES ('seed', ?)").run(drawn);
  const hadMarks = database.prepare("DELETE FROM segments WHERE state = ?").run(SEGMENT_STATE.marks);
  if (Number(hadMarks.changes) > 0) lost.push("ids of messages that retention deleted");
  rebuild(database, sidecars, new RowIndexer(drawn, namesOf(database)));
  return { isRebuilt: true, lost };
}

function namesOf(database: DatabaseSync): Map<number, string> {
  const rows = database.prepare("SELECT no, id FROM sources").all();
  return new Map(rows.map(({ no, id }) => [no as number, id as string]));
}

/** Rows name their source by number. A number whose id is lost gets a placeholder id. */
function* nameSources(database: DatabaseSync): Generator<string> {
  const names = namesOf(database);
  const nameless = new Set<number>();
  for (const row of logRows(database))
    for (const { sourceNo } of endOfSound(row) === undefined ? [] : decodeRow(row))
      if (!names.has(sourceNo)) nameless.add(sourceNo);
  for (const no of nameless) {
    const id = `src_lost_${no}`;
    database.prepare("INSERT INTO sources (no, id) VALUES (?, ?)").run(no, id);
    yield `the id of a source: its messages now appear under ${id}`;
  }
}

function segmentsOf(database: DatabaseSync): SegmentRow[] {
  return database
    .prepare('SELECT no, first, "end" AS "end", messages, state FROM segments ORDER BY no')
    .all() as unknown as SegmentRow[];
}

/** Only the index has the ids of deleted messages, so a missing id cannot be restored. */
function checkMarks(database: DatabaseSync, sidecars: Sidecars): string[] {
  const lost: string[] = [];
  for (const { no, messages, state } of segmentsOf(database)) {
    if (state !== SEGMENT_STATE.marks || messages === 0) continue;
    sidecars.dropDamaged(no);
    const left = sidecars.marks(no);
    if (left >= messages) continue;
    database.prepare("UPDATE segments SET messages = ? WHERE no = ?").run(left, no);
    lost.push(
      `${messages - left} ids of messages that retention deleted: if a client sends such a message again, it is accepted`,
    );
  }
  return lost;
}

/** A stretch of the log with its own index: a sealed segment, or one whose keys are in the tail. */
interface Stretch {
  readonly no: number;
  readonly first: number;
  readonly end: number;
  readonly lacks: (segment: OpenSegment) => boolean;
}

function isSound(database: DatabaseSync, sidecars: Sidecars, indexer: RowIndexer): boolean {
  const stretches = [...sealedStretches(database, sidecars), ...tailStretches(database)];
  let end = stretches[0]?.first ?? 0;
  if (hasRows(database, 0, end)) return false;
  for (const stretch of stretches) {
    if (stretch.first < end || stretch.end < stretch.first) return false;
    if (hasRows(database, end, stretch.first) || !isIndexed(database, stretch, indexer)) return false;
    end = stretch.end;
  }
  return !hasRows(database, end);
}

function hasRows(database: DatabaseSync, from: number, to?: number): boolean {
  for (const _ of logRows(database, from, to)) return true;
  return false;
}

function isIndexed(database: DatabaseSync, { no, first, end, lacks }: Stretch, indexer: RowIndexer): boolean {
  const segment = new OpenSegment(no, first, Math.max(1, end - first));
  segment.end = end;
  for (const row of rowsOf(database, indexer, first, end)) {
    if (row.end > end) return false;
    add(segment, row);
  }
  return !lacks(segment);
}

function* rowsOf(
  database: DatabaseSync,
  indexer: RowIndexer,
  from?: number,
  to?: number,
): Generator<IndexedRow> {
  for (const row of logRows(database, from, to)) if (endOfSound(row) !== undefined) yield indexer.index(row);
}

function add(segment: OpenSegment, { keys, offsets }: IndexedRow): void {
  for (const [i, offset] of offsets.entries()) segment.add(offset - segment.first, keys, i * KEY.size);
}

function sealedStretches(database: DatabaseSync, sidecars: Sidecars): Stretch[] {
  return segmentsOf(database)
    .filter(({ state }) => state !== SEGMENT_STATE.marks)
    .map(({ no, first, end, messages }) => ({
      no,
      first,
      end,
      lacks: (segment) =>
        sidecars.lacks(segment) ||
        sidecars.classes(no).reduce((count, found) => count + Number(found !== 0), 0) !== messages,
    }));
}

interface TailRow {
  readonly segment: number;
  readonly first: number;
  readonly end: number;
  readonly keys: Uint8Array;
}

function tailStretches(database: DatabaseSync): Stretch[] {
  const lastSealed = segmentsOf(database).at(-1)?.no ?? 0;
  const rows = database
    .prepare('SELECT segment, first, "end" AS "end", keys FROM tail WHERE segment > ? ORDER BY first')
    .all(lastSealed) as unknown as TailRow[];
  const bySegment = new Map<number, TailRow[]>();
  for (const row of rows) bySegment.set(row.segment, [...(bySegment.get(row.segment) ?? []), row]);
  return [...bySegment].map(([no, ofSegment]) => ({
    no,
    first: ofSegment[0]?.first ?? 0,
    end: ofSegment.at(-1)?.end ?? 0,
    lacks: (segment) => tailLacks(ofSegment, segment),
  }));
}

function tailLacks(rows: readonly TailRow[], segment: OpenSegment): boolean {
  const { ids, users, checks, classes, length } = segment;
  const isThere = new Uint8Array(length);
  let end = segment.first;
  for (const row of rows) {
    if (row.first !== end || row.keys.length % (KEY.size * 4) !== 0) return true;
    end = row.end;
    const keys = new Uint32Array(row.keys.slice().buffer);
    for (let at = 0; at < keys.length; at += KEY.size) {
      const position = keys[at + KEY.index] ?? 0;
      if (position >= length) return true;
      isThere[position] = Number(
        keys[at + KEY.idHi] === ids.hi[position] &&
          keys[at + KEY.idLo] === ids.lo[position] &&
          keys[at + KEY.idCheck] === checks[position] &&
          keys[at + KEY.userHi] === users.hi[position] &&
          keys[at + KEY.userLo] === users.lo[position] &&
          keys[at + KEY.class] === classes[position],
      );
    }
  }
  return classes.some((code, position) => code !== 0 && isThere[position] === 0);
}

/** Rebuilds the segments over all messages and seals each of them. The next segment begins with the next message. */
function rebuild(database: DatabaseSync, sidecars: Sidecars, indexer: RowIndexer): void {
  const old = segmentsOf(database);
  const whole = old.filter(({ state, first }) => state !== SEGMENT_STATE.marks && first >= 0);
  const end = endOfEverything(database);
  const lastMarks = old.filter(({ state }) => state === SEGMENT_STATE.marks).at(-1);
  database.prepare("DELETE FROM segments WHERE state != ?").run(SEGMENT_STATE.marks);
  database.exec("DELETE FROM sidecars WHERE key / 256 NOT IN (SELECT no FROM segments); DELETE FROM tail");
  const firstNo = (lastMarks?.no ?? 0) + 1;
  let no = firstNo;
  let rowsEnd = lastMarks?.end ?? 0;
  let segment: OpenSegment | undefined;
  const seal = (): void => {
    if (segment === undefined) return;
    for (const _ of sidecars.write(segment));
    put(database, segment);
    segment = undefined;
    no += 1;
  };
  for (const row of rowsOf(database, indexer)) {
    if (segment !== undefined && needsNew(segment, row)) seal();
    if (segment === undefined) {
      // Includes messages that were lost before the oldest one, so that `repairRows` reports them.
      const first = no === firstNo ? Math.min(row.first, whole[0]?.first ?? row.first) : row.first;
      segment = new OpenSegment(no, first, Math.max(TUNING_DEFAULTS.segmentMessages, row.end - first));
    }
    extend(segment, row);
    rowsEnd = row.end;
  }
  seal();
  if (rowsEnd < end) putEnd(database, no, end);
}

function extend(segment: OpenSegment, row: IndexedRow): void {
  add(segment, row);
  segment.end = row.end;
  segment.bytes += row.bytes;
  segment.minMs = Math.min(segment.minMs, row.minMs);
  segment.maxMs = Math.max(segment.maxMs, row.maxMs);
}

function needsNew({ first, bytes, minMs, capacity }: OpenSegment, row: IndexedRow): boolean {
  const { segmentMessages, segmentBytes } = TUNING_DEFAULTS;
  return (
    row.end - first > Math.max(capacity, segmentMessages) ||
    bytes >= segmentBytes ||
    row.maxMs - minMs > SEGMENT_MS
  );
}

function put(database: DatabaseSync, { no, first, end, messages, bytes, minMs, maxMs }: OpenSegment): void {
  database
    .prepare(
      `INSERT INTO segments (no, first, "end", messages, bytes, min_ms, max_ms, state) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    )
    .run(no, first, end, messages, bytes, minMs, maxMs, SEGMENT_STATE.whole);
}

/** Stores the next offset, as an empty segment. */
function putEnd(database: DatabaseSync, no: number, end: number): void {
  database
    .prepare(
      `INSERT INTO segments (no, first, "end", messages, bytes, min_ms, max_ms, state) VALUES (?, ?, ?, 0, 0, 0, 0, ?)`,
    )
    .run(no, end, end, SEGMENT_STATE.marks);
}

/** The next offset. It is beyond every offset that any table refers to, so that no offset is assigned twice. */
function endOfEverything(database: DatabaseSync): number {
  const { end } = database
    .prepare(
      `SELECT max(coalesce((SELECT max("end") FROM segments), 0), coalesce((SELECT max("end") FROM tail), 0),
         coalesce((SELECT max(cursor) + 1 FROM consumers), 0), coalesce((SELECT max(max) + 1 FROM chunks), 0),
         coalesce((SELECT max(first) + 1 FROM log_rows), 0), coalesce((SELECT max(offset) + 1 FROM retries), 0),
         coalesce((SELECT max(offset) + 1 FROM late_outcomes), 0)) AS "end"`,
    )
    .get() as { end: number };
  return end;
}
