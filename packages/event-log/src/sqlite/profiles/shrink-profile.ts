import type { DatabaseSync } from "node:sqlite";
import { PROFILE_LIMITS } from "../../ports/profiles.js";

/** Larger than any aggregate state or computed trait that this version stores. Older versions had no limit. */
const MOST_STATE_BYTES = 1_024 * 1_024;

/**
 * Cuts a stored profile down to `PROFILE_LIMITS` and returns its body. Keeps the oldest ids and traits. Removes aggregate states and
 * computed traits larger than `MOST_STATE_BYTES`; they restart from zero. Works in SQLite's memory, because the whole body of an older
 * version might not fit into the thread's heap.
 */
export function shrinkProfile(database: DatabaseSync, number: number): string {
  dropLarge(database, number);
  const ids = fitting(database, number, "ids", PROFILE_LIMITS.ids - 1, PROFILE_LIMITS.bytes);
  const traits = fitting(database, number, "traits", PROFILE_LIMITS.traits, PROFILE_LIMITS.bytes - ids.bytes);
  const read = "SELECT body FROM profiles WHERE number = ?";
  if (ids.left + traits.left === 0) return (database.prepare(read).get(number) as { body: string }).body;
  database.exec("BEGIN");
  try {
    database
      .prepare(
        `DELETE FROM identities WHERE profile = :number AND identity IN
           (SELECT value FROM profiles, json_each(body, '$.ids') WHERE number = :number AND key >= :kept)`,
      )
      .run({ number, kept: ids.kept.length });
    const { body } = database
      .prepare(
        `UPDATE profiles SET body = json_set(json_remove(body, '$.ids', '$.traits'),
           '$.ids', json(:ids), '$.traits', json(:traits),
           '$.left', json_array(coalesce(json_extract(body, '$.left[0]'), 0) + :leftTraits,
                                coalesce(json_extract(body, '$.left[1]'), 0) + :leftIds))
         WHERE number = :number RETURNING body`,
      )
      .get({
        number,
        ids: `[${ids.kept.join(",")}]`,
        traits: `[${traits.kept.join(",")}]`,
        leftTraits: traits.left,
        leftIds: ids.left,
      }) as { body: string };
    database.exec("COMMIT");
    return body;
  } catch (error) {
    if (database.isTransaction) database.exec("ROLLBACK");
    throw error;
  }
}

function dropLarge(database: DatabaseSync, number: number): void {
  for (const field of ["aspects", "computed"])
    database
      .prepare(
        `UPDATE profiles SET body = json_set(body, '$.${field}', (
           SELECT json_group_array(json(value)) FROM json_each(body, '$.${field}') WHERE octet_length(value) <= :most))
         WHERE number = :number
           AND EXISTS (SELECT 1 FROM json_each(body, '$.${field}') WHERE octet_length(value) > :most)`,
      )
      .run({ number, most: MOST_STATE_BYTES });
  database
    .prepare(
      `UPDATE profiles SET body = json_remove(body, '$.joined')
       WHERE number = :number AND octet_length(json_extract(body, '$.joined')) > :most`,
    )
    .run({ number, most: PROFILE_LIMITS.bytes });
}

interface Fitting {
  /** The JSON of the items that are kept. */
  readonly kept: readonly string[];
  readonly bytes: number;
  /** How many items are left out. */
  readonly left: number;
}

/** The items of an array of a body, up to the first that does not fit. */
function fitting(
  database: DatabaseSync,
  number: number,
  field: "ids" | "traits",
  most: number,
  mostBytes: number,
): Fitting {
  // A trait is an array of name and value, so its text is JSON already.
  const json = field === "ids" ? "json_quote(value)" : "value";
  const rows = database
    .prepare(
      `SELECT octet_length(${json}) AS bytes, iif(octet_length(${json}) <= :mostBytes, ${json}, NULL) AS json
       FROM profiles, json_each(body, '$.${field}') WHERE number = :number`,
    )
    .iterate({ number, mostBytes }) as Iterable<{ readonly bytes: number; readonly json: string | null }>;
  const kept: string[] = [];
  let bytes = 0;
  let left = 0;
  for (const row of rows) {
    if (left > 0 || row.json === null || kept.length >= most || bytes + row.bytes + 1 > mostBytes) {
      left += 1;
      continue;
    }
    kept.push(row.json);
    bytes += row.bytes + 1;
  }
  return { kept, bytes, left };
}
