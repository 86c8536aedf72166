import {
  connectionAdvice,
  type DeliveryResult,
  type MessageRow,
  type OutgoingMessage,
  rowOf,
} from "@sluice/destination";
import type { PostgresSettings } from "./settings.js";

/** The columns of the table, with their types. Later versions add no column to a table that exists. */
const COLUMNS = {
  message_id: "text not null",
  source_id: "text not null",
  type: "text not null",
  event: "text",
  name: "text",
  user_id: "text",
  anonymous_id: "text",
  group_id: "text",
  previous_id: "text",
  timestamp: "timestamptz not null",
  received_at: "timestamptz not null",
  position: "bigint not null",
  message: "jsonb not null",
} as const satisfies { readonly [Column in keyof MessageRow]-?: string };

interface TableName {
  readonly schema: string;
  readonly table: string;
}

/** As the settings' pattern allows it, so it needs no escape. */
export function nameOf({ schema, table }: TableName): string {
  return `"${schema}"."${table}"`;
}

/** Statements that create the table with its indexes. They do nothing to one that exists. */
export function creation({ schema, table }: TableName): readonly string[] {
  const columns = Object.entries(COLUMNS).map(([column, type]) => `${column} ${type}`);
  const name = nameOf({ schema, table });
  // The prefix leaves room in the 63 bytes of a name.
  const index = (column: string): string => `"${table.slice(0, 40)}_${column}"`;
  return [
    `create table if not exists ${name} (${columns.join(", ")}, primary key (message_id, source_id))`,
    `create index if not exists ${index("user_id")} on ${name} (user_id)`,
    `create index if not exists ${index("anonymous_id")} on ${name} (anonymous_id)`,
    `create index if not exists ${index("received_at")} on ${name} using brin (received_at)`,
  ];
}

/** Adds the rows of its parameter, a list in JSON. Those that are there already stay as they are. */
export function insertion(name: TableName): string {
  const columns = Object.keys(COLUMNS).join(", ");
  const record = Object.entries(COLUMNS).map(([column, type]) => `${column} ${type.split(" ")[0]}`);
  return `insert into ${nameOf(name)} (${columns}) select ${columns} from json_to_recordset($1::json) as row(${record.join(", ")}) on conflict do nothing`;
}

/**
 * Removes what belongs to a user, as the collector does: what names the user id, and what came without one from the user's devices, which
 * are those of the user's messages and of aliases. Of an anonymous id, what came without a user id.
 */
export function erasure(name: TableName, column: "user_id" | "anonymous_id"): string {
  const table = nameOf(name);
  if (column === "anonymous_id") return `delete from ${table} where user_id is null and anonymous_id = $1`;
  const devices = ["anonymous_id", "previous_id"]
    .map((device) => `select ${device} from ${table} where user_id = $1`)
    .join(" union ");
  return `delete from ${table} where user_id = $1 or (user_id is null and anonymous_id in (${devices}))`;
}

/** The rows of messages in JSON, as `insertion` takes them. */
export function rowsOf(messages: readonly OutgoingMessage[]): string {
  return forJsonb(JSON.stringify(messages.map(rowOf)));
}

/** PostgreSQL's texts hold no U+0000 and no half of a surrogate pair, which JSON can: U+FFFD stands for them. */
function forJsonb(json: string): string {
  if (!json.includes("\\u0000") && !json.includes("\\ud")) return json;
  return json.replace(/(?<!\\)((?:\\\\)*)\\u(?:0000|d[89a-f][0-9a-f]{2})/g, "$1\ufffd");
}

/** Of PostgreSQL (`42501`) or of the connection (`ECONNRESET`). */
interface Failure {
  readonly code?: string;
  readonly message: string;
}

/** What a failure means, and what to do. Everything may work later, once somebody has repaired it. */
export function failureOf(error: unknown, settings: PostgresSettings): DeliveryResult {
  const failure = error as Failure;
  const { code = "error", message } = failure;
  const { host, port, database, user, schema, table } = settings;
  const name = `${schema}.${table}`;
  return { kind: "retry", reason: code, detail: `${advice()}: ${message}` };

  function advice(): string {
    switch (code) {
      case "28P01":
      case "28000":
        return `${host}:${port} refused the user ${user}. Check user name and password`;
      case "3D000":
        return `There is no database ${database} at ${host}:${port}. Create it`;
      case "42501":
        return `The user ${user} may not do this. Grant it usage and create in ${schema}, and select, insert and delete on ${name}`;
      case "3F000":
        return `There is no schema ${schema}. Create it`;
      case "42703":
      case "42P10":
      case "42804":
        return `The table ${name} is not as it was created. Restore its columns, or set another table`;
      case "53100":
        return `The disk of ${host} is full`;
      case "53300":
        return `${host} has too many connections`;
      case "57P03":
        return `${host}:${port} is starting or stopping`;
      default:
        return connectionAdvice(failure, `${host}:${port}`) ?? `${host}:${port}`;
    }
  }
}

/** Whether the data of the batch is the cause. */
export function isAboutData({ code = "" }: Failure): boolean {
  return /^(22|23)/.test(code) || code === "54000";
}
