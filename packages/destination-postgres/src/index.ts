import {
  type BatchResult,
  checkTls,
  type DefinedDestination,
  type DeliveryResult,
  defineDestination,
  type OpenDestination,
  type OtherResult,
  type OutgoingMessage,
} from "@sluice/destination";
import type { Client } from "pg";
import { connected } from "./connection.js";
import { type PostgresSettings, SETTINGS } from "./settings.js";
import { creation, erasure, failureOf, insertion, isAboutData, nameOf, rowsOf } from "./table.js";

/** Writes each message as a row of a table. */
const postgres: DefinedDestination = defineDestination<PostgresSettings>({
  type: "postgres",
  name: "PostgreSQL",
  description: "Writes each message as a row of a PostgreSQL table, once",
  icon: "M13.5 4c0 1.1-2.5 2-5.5 2s-5.5-.9-5.5-2S5 2 8 2s5.5.9 5.5 2ZM2.5 4v8c0 1.1 2.5 2 5.5 2s5.5-.9 5.5-2V4M2.5 8c0 1.1 2.5 2 5.5 2s5.5-.9 5.5-2",
  settings: SETTINGS,
  check: checkTls,
  takesDeletions: "erase",
  timeoutMs: 60_000,
  target: ({ host, port, database, schema, table }) =>
    `postgres:${host}:${port}/${database}/${schema}.${table}`,
  batch: ({ maxAgeSeconds }) => ({ maxAgeMs: maxAgeSeconds * 1_000 }),
  open: (settings, { connect }) => opened(settings, connect),
});

export default postgres;

/** Rows that are sent at once: as many as stay in the server's `work_mem` of 4 MB, beyond which it writes them to a file first. */
const PART = 1_000;

/** One connection, which lasts until something fails. */
function opened(settings: PostgresSettings, connect: Parameters<typeof connected>[1]): OpenDestination {
  let open: Client | undefined;
  let hasTable = false;

  const forget = (): void => {
    const client = open;
    open = undefined;
    hasTable = false;
    // A query that still runs on the server goes on there, and its repetition adds nothing.
    client?.end().catch(() => {});
    (client as unknown as { connection?: { stream?: { destroy(): void } } })?.connection?.stream?.destroy();
  };

  const using = async <T>(signal: AbortSignal, use: (client: Client) => Promise<T>): Promise<T> => {
    signal.addEventListener("abort", forget, { once: true });
    try {
      open ??= await connected(settings, connect, signal);
      if (!hasTable) await createTable(open, settings);
      hasTable = true;
      return await use(open);
    } catch (error) {
      if (!isAboutData(error as Error)) forget();
      throw error;
    } finally {
      signal.removeEventListener("abort", forget);
    }
  };

  /** All or none of them. While the server works on a part, the next one is made. */
  const insert = async (client: Client, messages: readonly OutgoingMessage[]): Promise<void> => {
    const write = (rows: string) =>
      client.query({ name: "sluice-insert", text: insertion(settings), values: [rows] });
    if (messages.length <= PART) {
      await write(rowsOf(messages));
      return;
    }
    let underWay: Promise<unknown> = client.query("begin");
    try {
      for (let at = 0; at < messages.length; at += PART) {
        const rows = rowsOf(messages.slice(at, at + PART));
        await underWay;
        underWay = write(rows);
      }
      await underWay;
      await client.query("commit");
    } catch (error) {
      await client.query("rollback").catch(() => {});
      throw error;
    }
  };

  return {
    async deliverBatch({ messages }, { signal }): Promise<BatchResult> {
      try {
        const result = await using(signal, (client) => insertAll(messages, (some) => insert(client, some)));
        return { ...result, detail: `in ${nameOf(settings)}` };
      } catch (error) {
        return failureOf(error, settings);
      }
    },
    async erase({ userId, anonymousId }, { signal }): Promise<DeliveryResult> {
      const column = userId === undefined ? "anonymous_id" : "user_id";
      try {
        const { rowCount } = await using(signal, (client) =>
          client.query(erasure(settings, column), [userId ?? anonymousId]),
        );
        return { kind: "delivered", reason: rowCount === 0 ? "no rows" : "erased" };
      } catch (error) {
        return failureOf(error, settings);
      }
    },
    async close() {
      forget();
    },
  };
}

/** Who may only write to a table that exists must not have to create one. */
async function createTable(client: Client, settings: PostgresSettings): Promise<void> {
  const { rows } = await client.query("select to_regclass($1) as found", [nameOf(settings)]);
  if (rows[0]?.found !== null) return;
  // In one query, and so in one transaction.
  await client.query(creation(settings).join("; "));
}

/** Inserts all, and if the server refuses the data of some, all but those. */
async function insertAll(
  messages: readonly OutgoingMessage[],
  insert: (messages: readonly OutgoingMessage[]) => Promise<void>,
  from = 0,
): Promise<BatchResult> {
  try {
    await insert(messages);
    return { kind: "delivered", reason: "written" };
  } catch (error) {
    if (!isAboutData(error as Error)) throw error;
    if (messages.length === 1) {
      const { code = "data", message } = error as { code?: string; message: string };
      const result: DeliveryResult = { kind: "failed", reason: code, detail: message };
      return { kind: "delivered", reason: "written", others: [{ index: from, result }] };
    }
    const half = Math.ceil(messages.length / 2);
    const first = await insertAll(messages.slice(0, half), insert, from);
    const second = await insertAll(messages.slice(half), insert, from + half);
    const others: readonly OtherResult[] = [...(first.others ?? []), ...(second.others ?? [])];
    return { kind: "delivered", reason: "written", others };
  }
}
