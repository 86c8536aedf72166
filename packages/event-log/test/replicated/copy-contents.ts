import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { decodeRow, type LogRow } from "../../src/sqlite/calls/log-row.js";
import { readAttempts } from "../../src/sqlite/consumers/attempt-codec.js";
import { type ChunkRow, STREAM } from "../../src/sqlite/consumers/chunks.js";
import { readOutcomes, Strings } from "../../src/sqlite/consumers/outcome-codec.js";
import { DATABASE_FILE } from "../../src/sqlite/database/database-files.js";
import { PROFILES_FILE } from "../../src/sqlite/profiles/profiles-file.js";

/**
 * Everything that a closed copy contains, in a form that is equal for equal copies. Left out is what depends on the time that the thread had:
 * how batches share rows, whether a full segment is sealed, and what is deleted but not yet gone. So is where chunks end: a copy that is
 * opened again begins new ones. And so is the order among different messages, because a deletion sorts each chunk that it writes again.
 */
export function contentsOf(folder: string): { readonly [table: string]: unknown } {
  const store = new DatabaseSync(join(folder, "copy", DATABASE_FILE), { readOnly: true });
  const profiles = new DatabaseSync(join(folder, "copy", PROFILES_FILE), { readOnly: true });
  try {
    const all = (database: DatabaseSync, sql: string): unknown[] => database.prepare(sql).all();
    const dropped = `SELECT coalesce(max("end"), 0) AS "end" FROM segments WHERE state <> 0`;
    const { end } = store.prepare(dropped).get() as { end: number };
    const rows = all(store, "SELECT first, meta, body FROM log_rows ORDER BY first") as LogRow[];
    return {
      batches: rows
        .flatMap((row) => decodeRow(row))
        .filter(({ first }) => first >= end)
        .map((batch) => ({ ...batch, body: Buffer.from(batch.body).toString("latin1") })),
      segments: all(store, `SELECT "end" FROM segments WHERE state <> 0 ORDER BY no`).slice(-1),
      retries: all(store, "SELECT * FROM retries ORDER BY consumer, offset"),
      rejections: all(store, "SELECT * FROM rejections ORDER BY no"),
      usage: all(store, "SELECT * FROM usage ORDER BY source, day"),
      sources: all(store, "SELECT * FROM sources ORDER BY no"),
      consumers: all(store, "SELECT * FROM consumers ORDER BY no"),
      documents: all(store, "SELECT * FROM documents ORDER BY kind, id"),
      strings: all(store, "SELECT * FROM strings ORDER BY no"),
      chunks: entriesOf(all(store, "SELECT * FROM chunks ORDER BY no") as StoredChunk[], store, end),
      lateOutcomes: all(
        store,
        `SELECT * FROM late_outcomes WHERE offset >= ${end} ORDER BY consumer, offset`,
      ),
      lateAttempts: all(
        store,
        `SELECT * FROM late_attempts WHERE offset >= ${end} ORDER BY consumer, offset, no`,
      ),
      meta: all(store, "SELECT * FROM meta ORDER BY name"),
      applied: all(store, "SELECT * FROM replica"),
      ...Object.fromEntries(
        ["profiles", "identities", "members", "held", "owed", "documents", "progress"].map((table) => [
          `profiles: ${table}`,
          all(profiles, `SELECT * FROM ${table} ORDER BY 1, 2`),
        ]),
      ),
    };
  } finally {
    store.close();
    profiles.close();
  }
}

interface StoredChunk extends ChunkRow {
  readonly consumer: number;
}

/** The outcomes and attempts of each consumer by message, and those of a message in the order in which they were stored. */
function entriesOf(
  chunks: readonly StoredChunk[],
  store: DatabaseSync,
  end: number,
): Readonly<Record<string, readonly { readonly offset: number }[]>> {
  const strings = new Strings(store);
  const entries: Record<string, { readonly offset: number }[]> = {};
  for (const { consumer, stream, data, base } of chunks) {
    const read =
      stream === STREAM.outcomes ? readOutcomes(data, base, strings) : readAttempts(data, base, strings);
    const kept = read.filter(({ offset }) => offset >= end);
    const key = `${consumer} ${stream}`;
    if (kept.length > 0) entries[key] = [...(entries[key] ?? []), ...kept];
  }
  for (const of of Object.values(entries)) of.sort((a, b) => a.offset - b.offset);
  return entries;
}
