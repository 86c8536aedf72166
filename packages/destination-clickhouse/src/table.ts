import { hash } from "node:crypto";
import { type MessageRow, type OutgoingMessage, rowOf } from "@sluice/destination";

/** The columns of the table, with their types. Later versions add no column to a table that exists. */
const COLUMNS = {
  message_id: "String",
  source_id: "LowCardinality(String)",
  type: "LowCardinality(String)",
  event: "LowCardinality(Nullable(String))",
  name: "Nullable(String)",
  user_id: "Nullable(String)",
  anonymous_id: "Nullable(String)",
  group_id: "Nullable(String)",
  previous_id: "Nullable(String)",
  timestamp: "DateTime64(3, 'UTC')",
  received_at: "DateTime64(3, 'UTC')",
  position: "UInt64",
  message: "JSON",
} as const satisfies { readonly [Column in keyof MessageRow]-?: string };

interface TableName {
  readonly database: string;
  readonly table: string;
}

/** As the settings' pattern allows it, so it needs no escape. */
function nameOf({ database, table }: TableName): string {
  return `\`${database}\`.\`${table}\``;
}

/** An insert that is repeated with the same rows adds nothing. Of rows that come in another insert again, merges leave one. */
export function creation(name: TableName): string {
  const columns = Object.entries(COLUMNS).map(([column, type]) => `${column} ${type}`);
  return `CREATE TABLE IF NOT EXISTS ${nameOf(name)} (${columns.join(", ")}) ENGINE = ReplacingMergeTree PARTITION BY toYYYYMM(received_at) ORDER BY (source_id, received_at, message_id) SETTINGS non_replicated_deduplication_window = 1000`;
}

/** One insert of all messages. */
export function insertion(name: TableName, messages: readonly OutgoingMessage[]): string {
  const token = hash("sha256", messages.map(({ sourceId, id }) => `${sourceId} ${id}`).join("\n"));
  const settings = `insert_deduplication_token = '${token}', date_time_input_format = 'best_effort', async_insert = 0`;
  const rows = messages.map((message) => JSON.stringify(rowOf(message))).join("\n");
  return `INSERT INTO ${nameOf(name)} (${Object.keys(COLUMNS).join(", ")}) SETTINGS ${settings} FORMAT JSONEachRow\n${rows}\n`;
}

/**
 * Removes what belongs to a user, as the collector does: what names the user id, and what came without one from the user's devices, which
 * are those of the user's messages and of aliases. Of an anonymous id, what came without a user id. The devices come first: a table is
 * changed part by part, and the user's messages say which they are.
 */
export function erasure(name: TableName, column: "user_id" | "anonymous_id", id: string): readonly string[] {
  const table = nameOf(name);
  const text = `'${id.replace(/[\\']/g, "\\$&")}'`;
  if (column === "anonymous_id")
    return [`DELETE FROM ${table} WHERE user_id IS NULL AND anonymous_id = ${text}`];
  const devices = ["anonymous_id", "previous_id"]
    .map((device) => `SELECT ${device} FROM ${table} WHERE user_id = ${text}`)
    .join(" UNION ALL ");
  return [
    `DELETE FROM ${table} WHERE user_id IS NULL AND anonymous_id IN (${devices})`,
    `DELETE FROM ${table} WHERE user_id = ${text}`,
  ];
}
