import type { DatabaseSync } from "node:sqlite";
import { crc32 } from "node:zlib";
import { readAttempts } from "../consumers/attempt-codec.js";
import { STREAM } from "../consumers/chunks.js";
import { REMOVED } from "../consumers/consumer-tables.js";
import { readOutcomes, Strings } from "../consumers/outcome-codec.js";

/** Replaces a lost text. Empty texts are never decoded. */
const LOST_TEXT = "";
/** For a retry if it is not known which URLs have the message. */
const NO_URLS = JSON.stringify({ doneUrls: [], failedUrls: [] });

/** Texts that record which of them are referred to. */
class ReferredStrings extends Strings {
  readonly numbers = new Set<number>();

  override textOf(no: number): string {
    this.numbers.add(no);
    return super.textOf(no);
  }
}

/**
 * Deletes rows that cannot be decoded, so that no reader fails on them. Returns a sentence for each loss. Within a transaction.
 */
export function checkContents(database: DatabaseSync): string[] {
  return [...checkChunks(database), ...checkJson(database), ...checkOwners(database)];
}

function checkChunks(database: DatabaseSync): string[] {
  const lost: string[] = [];
  const strings = new ReferredStrings(database);
  const isReadable = (data: unknown, base: unknown, stream: unknown, min: number, max: number): boolean => {
    try {
      const read = stream === STREAM.outcomes ? readOutcomes : readAttempts;
      const entries = read(data as Uint8Array, base as number, strings);
      return entries.every(({ offset }) => offset >= min && offset <= max);
    } catch {
      return false;
    }
  };
  const chunks = database.prepare(
    `SELECT chunks.no, stream, base, min, max, data, checksum, consumers.id FROM chunks LEFT JOIN consumers ON consumers.no = consumer`,
  );
  const drop: [table: string, no: number][] = [];
  for (const { no, stream, base, min, max, data, checksum, id } of chunks.iterate()) {
    if (
      checksum === crc32(data as Uint8Array) &&
      isReadable(data, base, stream, min as number, max as number)
    )
      continue;
    drop.push(["chunks", no as number]);
    const what = stream === STREAM.outcomes ? "outcomes" : "attempts";
    lost.push(`${what} at ${id ?? "a removed destination"} of the messages at offsets ${min} to ${max}`);
  }
  const late = database.prepare(
    `SELECT late_attempts.no, offset, data, consumers.id FROM late_attempts LEFT JOIN consumers ON consumers.no = consumer`,
  );
  for (const { no, offset, data, id } of late.iterate()) {
    if (isReadable(data, offset, STREAM.attempts, 0, Number.MAX_SAFE_INTEGER)) continue;
    drop.push(["late_attempts", no as number]);
    lost.push(`attempts at ${id ?? "a removed destination"} of the message at offset ${offset}`);
  }
  for (const [table, no] of drop) database.prepare(`DELETE FROM ${table} WHERE no = ?`).run(no);
  // A number that is assigned again would change the text of old outcomes.
  const put = database.prepare("INSERT OR IGNORE INTO strings (no, text) VALUES (?, ?)");
  const missing = [...strings.numbers].filter((no) => put.run(no, LOST_TEXT).changes > 0);
  if (missing.length > 0)
    lost.push(`${missing.length} texts of outcomes and attempts (reasons, URLs, responses)`);
  return lost;
}

function checkJson(database: DatabaseSync): string[] {
  const lost: string[] = [];
  const documents = database.prepare("SELECT no, kind, id FROM documents WHERE NOT json_valid(json)").all();
  for (const { no, kind, id } of documents) {
    database.prepare("DELETE FROM documents WHERE no = ?").run(no ?? null);
    lost.push(`${kind} ${id}`);
  }
  const rejections = database.prepare("DELETE FROM rejections WHERE NOT json_valid(json)").run();
  if (Number(rejections.changes) > 0) lost.push(`${rejections.changes} refused messages`);
  const retries = database.prepare("UPDATE retries SET urls = ? WHERE NOT json_valid(urls)").run(NO_URLS);
  if (Number(retries.changes) > 0)
    lost.push(`which URLs already have ${retries.changes} waiting messages: they are sent to all URLs again`);
  return lost;
}

/** Rows of unknown consumers would otherwise belong to the next consumer that gets their number. */
function checkOwners(database: DatabaseSync): string[] {
  const owners = database
    .prepare(
      `SELECT DISTINCT consumer FROM (SELECT consumer FROM chunks UNION SELECT consumer FROM retries
         UNION SELECT consumer FROM late_outcomes UNION SELECT consumer FROM late_attempts)
       WHERE consumer NOT IN (SELECT no FROM consumers)`,
    )
    .all() as unknown as { consumer: number }[];
  const put = database.prepare("INSERT INTO consumers (no, id, cursor) VALUES (?, ?, 0)");
  for (const { consumer } of owners) put.run(consumer, `${REMOVED}${consumer}`);
  return owners.map(
    ({ consumer }) =>
      `a destination's name and position (number ${consumer}): its outcomes and waiting retries are deleted, and it starts over`,
  );
}
