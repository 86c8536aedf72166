import type { DatabaseSync } from "node:sqlite";
import { type OutcomeEntry, readOutcomes, Strings } from "../consumers/outcome-codec.js";
import type { Value } from "./pages/read-cells.js";
import type { Salvage } from "./salvage.js";

/** What each table holds, in words for the report. Other tables are derived, or reported row by row. */
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
  usage: "message counts per day",
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
 * Restores lost rows as far as the indexes allow, and returns a sentence for each loss. Within a transaction. `nowMs` is when restored
 * retries are due.
 */
export function restoreRows(
  database: DatabaseSync,
  { unreadable, orphans }: Salvage,
  nowMs: number,
): string[] {
  const entriesOf = (index: string): Entries => orphans.get(index) ?? [];
  restoreSources(database, entriesOf("sqlite_autoindex_sources_1"));
  return [
    ...restoreConsumers(database, entriesOf("sqlite_autoindex_consumers_1")),
    ...restoreRetries(database, entriesOf("retries_by_due"), nowMs),
    ...entriesOf("sqlite_autoindex_documents_1").map(([kind, id]) => `${kind} ${id}`),
    ...lostHistory(database, entriesOf),
    ...unreadableTables(unreadable),
  ];
}

/** Entries of an index: the values of each in the index's order. */
type Entries = readonly (readonly Value[])[];

function restoreSources(database: DatabaseSync, entries: Entries): void {
  const put = database.prepare("INSERT OR IGNORE INTO sources (no, id) VALUES (?, ?)");
  for (const [id, no] of entries) put.run(no ?? null, id ?? null);
}

function restoreConsumers(database: DatabaseSync, entries: Entries): string[] {
  const put = database.prepare("INSERT OR IGNORE INTO consumers (no, id, cursor) VALUES (?, ?, ?)");
  return entries.map(([id, no]) => {
    const cursor = cursorFromOutcomes(database, Number(no));
    put.run(no ?? null, id ?? null, cursor ?? -1);
    return cursor === undefined
      ? `the position of ${id} in the log: it restarts at the oldest message`
      : `the position of ${id} in the log: it continues at offset ${cursor + 1}, where its outcomes end`;
  });
}

function restoreRetries(database: DatabaseSync, entries: Entries, nowMs: number): string[] {
  const put = database.prepare(
    `INSERT OR IGNORE INTO retries (consumer, offset, due_ms, put_ms, rounds, first_ms, reason, urls, replay)
     VALUES (?, ?, ?, ?, 1, ?, 'restored by sluice repair', '{"doneUrls":[],"failedUrls":[]}', 0)`,
  );
  return entries.map(([consumer, dueMs, offset]) => {
    put.run(consumer ?? null, offset ?? null, dueMs ?? null, nowMs, nowMs);
    return `which URLs of ${idOf(database, consumer)} already have the message at offset ${offset}: it is sent to all of them again`;
  });
}

/** Outcomes and attempts that are lost. */
function lostHistory(database: DatabaseSync, entriesOf: (index: string) => Entries): string[] {
  const chunks = entriesOf("chunks_by_offset").map(
    ([consumer, stream, max, min]) =>
      `${stream === 0 ? "outcomes" : "attempts"} at ${idOf(database, consumer)} of the messages at offsets ${min} to ${max}`,
  );
  const late = entriesOf("late_attempts_by_offset").map(
    ([consumer, offset]) => `attempts at ${idOf(database, consumer)} of the message at offset ${offset}`,
  );
  return [...chunks, ...late];
}

function unreadableTables(unreadable: Salvage["unreadable"]): string[] {
  return Object.entries(CONTENTS).flatMap(([table, content]) => {
    const index = INDEXES[table];
    // If the table's index is whole, its entries have named the lost rows already.
    const isNamed = index !== undefined && !unreadable.has(index);
    return unreadable.has(table) && !isNamed
      ? [`${content}: some of them could not be read (table ${table})`]
      : [];
  });
}

function idOf(database: DatabaseSync, consumer: Value | undefined): string {
  const row = database.prepare("SELECT id FROM consumers WHERE no = ?").get(consumer ?? null);
  return (row?.id as string | undefined) ?? "a removed destination";
}

/**
 * The cursor of a consumer whose cursor is lost: just before the first message that has neither an outcome nor a retry. Undefined if the
 * consumer has no outcomes. Messages beyond the cursor that have an outcome are not sent again.
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
