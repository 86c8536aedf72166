import type { DatabaseSync } from "node:sqlite";
import { type OutcomeEntry, readOutcomes } from "../consumers/outcome-codec.js";
import { Strings } from "../consumers/strings.js";
import type { Value } from "./read-cells.js";
import type { Salvage } from "./salvage.js";

/** What each table holds, for people. Tables that are missing here are derived, or reported row by row. */
const CONTENTS: Readonly<Record<string, string>> = {
  sources: "names of sources",
  consumers: "destinations' positions in the log",
  strings: "texts of outcomes and attempts",
  chunks: "outcomes and attempts",
  late_outcomes: "outcomes of retries and replays",
  late_attempts: "attempts of retries and replays",
  retries: "waiting retries",
  documents: "configuration documents",
  rejections: "refused messages",
  usage: "counts of messages a day",
};

/** Indexes that have an entry for every row of their table. */
const INDEXES: Readonly<Record<string, string>> = {
  sources: "sqlite_autoindex_sources_1",
  consumers: "sqlite_autoindex_consumers_1",
  documents: "sqlite_autoindex_documents_1",
  chunks: "chunks_by_offset",
  late_attempts: "late_attempts_by_offset",
  retries: "retries_by_due",
};

/**
 * Puts back what the indexes still tell of lost rows, and names what is lost. Within a transaction. `nowMs` is when restored retries are due.
 */
export function restoreRows(
  database: DatabaseSync,
  { unreadable, orphans }: Salvage,
  nowMs: number,
): string[] {
  const of = (index: string): readonly (readonly Value[])[] => orphans.get(index) ?? [];
  const lost: string[] = [];
  for (const [id, no] of of("sqlite_autoindex_sources_1"))
    database.prepare("INSERT OR IGNORE INTO sources (no, id) VALUES (?, ?)").run(no ?? null, id ?? null);
  for (const [id, no] of of("sqlite_autoindex_consumers_1")) {
    const cursor = cursorFromOutcomes(database, Number(no));
    database
      .prepare("INSERT OR IGNORE INTO consumers (no, id, cursor) VALUES (?, ?, ?)")
      .run(no ?? null, id ?? null, cursor ?? -1);
    lost.push(
      cursor === undefined
        ? `the position of ${id} in the log: it begins with the oldest message`
        : `the position of ${id} in the log: it goes on at offset ${cursor + 1}, where its outcomes end`,
    );
  }
  const idOf = (consumer: Value | undefined): string =>
    (database.prepare("SELECT id FROM consumers WHERE no = ?").get(consumer ?? null)?.id as
      | string
      | undefined) ?? "a removed destination";
  for (const [consumer, dueMs, offset] of of("retries_by_due")) {
    database
      .prepare(
        `INSERT OR IGNORE INTO retries (consumer, offset, due_ms, put_ms, rounds, first_ms, reason, urls, replay)
         VALUES (?, ?, ?, ?, 1, ?, 'restored by sluice repair', '{"doneUrls":[],"failedUrls":[]}', 0)`,
      )
      .run(consumer ?? null, offset ?? null, dueMs ?? null, nowMs, nowMs);
    lost.push(
      `which URLs of ${idOf(consumer)} have the message at offset ${offset}: it is sent to all again`,
    );
  }
  for (const [kind, id] of of("sqlite_autoindex_documents_1")) lost.push(`${kind} ${id}`);
  for (const [consumer, stream, max, min] of of("chunks_by_offset"))
    lost.push(
      `${stream === 0 ? "outcomes" : "attempts"} at ${idOf(consumer)} of the messages at offsets ${min} to ${max}`,
    );
  for (const [consumer, offset] of of("late_attempts_by_offset"))
    lost.push(`attempts at ${idOf(consumer)} of the message at offset ${offset}`);
  for (const [table, content] of Object.entries(CONTENTS)) {
    const index = INDEXES[table];
    // Where its index is whole, that has told which rows they were.
    if (unreadable.has(table) && (index === undefined || unreadable.has(index)))
      lost.push(`${content}: parts of them could not be read (table ${table})`);
  }
  return lost;
}

/**
 * Where a consumer goes on whose cursor is lost: before the first message that has neither an outcome nor a retry. Undefined where nothing
 * tells; what has an outcome beyond the cursor is not sent again.
 */
function cursorFromOutcomes(database: DatabaseSync, consumer: number): number | undefined {
  const { first, last } = database
    .prepare("SELECT min(min) AS first, max(max) AS last FROM chunks WHERE consumer = ? AND stream = 0")
    .get(consumer) as { first: number | null; last: number | null };
  if (first === null || last === null) return undefined;
  const settled = new Uint8Array(last - first + 1);
  const strings = new Strings(database);
  const chunks = database.prepare("SELECT base, data FROM chunks WHERE consumer = ? AND stream = 0");
  for (const { base, data } of chunks.iterate(consumer)) {
    for (const { offset } of outcomesIn(data as Uint8Array, base as number, strings))
      settled[offset - first] = 1;
  }
  for (const table of ["late_outcomes", "retries"]) {
    const rows = database.prepare(`SELECT offset FROM ${table} WHERE consumer = ?`);
    for (const { offset } of rows.iterate(consumer)) settled[(offset as number) - first] = 1;
  }
  const unsettled = settled.indexOf(0);
  return unsettled < 0 ? last : first + unsettled - 1;
}

function outcomesIn(data: Uint8Array, base: number, strings: Strings): readonly OutcomeEntry[] {
  try {
    return readOutcomes(data, base, strings);
  } catch {
    return [];
  }
}
