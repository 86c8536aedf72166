import { promisify } from "node:util";
import { gzip, zstdCompress } from "node:zlib";
import { type Batch, type OutgoingMessage, rowOf } from "@sluice/destination";
import { parquetWriteBuffer } from "hyparquet-writer";
import type { S3Settings } from "./settings.js";

export interface S3Object {
  readonly key: string;
  readonly body: Uint8Array;
}

type Format = Pick<S3Settings, "prefix" | "format" | "compression">;

/**
 * The objects of a batch: one for each source and hour of receipt. Their names follow from the batch's name and their first message. A batch
 * that is repeated has the same first message for each of them, so it replaces what it wrote before.
 */
export async function* objectsOf({ id, messages }: Batch, settings: Format): AsyncGenerator<S3Object> {
  const groups = Map.groupBy(
    messages,
    ({ sourceId, receivedAtMs }) => `${Math.floor(receivedAtMs / HOUR_MS)} ${sourceId}`,
  );
  for (const members of groups.values()) {
    const [{ sourceId, receivedAtMs, position: first } = NO_MESSAGE] = members;
    const time = new Date(receivedAtMs).toISOString();
    const folder = `date=${time.slice(0, 10)}/hour=${time.slice(11, 13)}/source=${sourceId}`;
    const position = String(first).padStart(16, "0");
    const name = id.replace(/^\d+/, position);
    yield {
      key: `${settings.prefix}/${folder}/${name}.${extension(settings)}`,
      body: await bodyOf(members, settings),
    };
  }
}

const HOUR_MS = 3_600_000;
/** No group is empty. */
const NO_MESSAGE = { sourceId: "", receivedAtMs: 0, position: 0 };

function extension({ format, compression }: Format): string {
  if (format === "parquet") return "parquet";
  return { gzip: "jsonl.gz", zstd: "jsonl.zst", none: "jsonl" }[compression];
}

async function bodyOf(
  messages: readonly OutgoingMessage[],
  { format, compression }: Format,
): Promise<Uint8Array> {
  if (format === "parquet") return parquet(messages);
  const lines = Buffer.from(`${messages.map(({ payload }) => JSON.stringify(payload)).join("\n")}\n`);
  // Off the main thread.
  if (compression === "gzip") return promisify(gzip)(lines, { level: 6 });
  if (compression === "zstd") return promisify(zstdCompress)(lines);
  return lines;
}

const TEXTS = [
  "message_id",
  "source_id",
  "type",
  "event",
  "name",
  "user_id",
  "anonymous_id",
  "group_id",
  "previous_id",
] as const;

function parquet(messages: readonly OutgoingMessage[]): Uint8Array {
  const rows = messages.map(rowOf);
  const times = (name: "timestamp" | "received_at") => ({
    name,
    type: "TIMESTAMP" as const,
    data: rows.map((row) => new Date(row[name])),
  });
  return new Uint8Array(
    parquetWriteBuffer({
      columnData: [
        ...TEXTS.map((name) => ({
          name,
          type: "STRING" as const,
          data: rows.map((row) => row[name]),
          nullable: true,
        })),
        times("timestamp"),
        times("received_at"),
        { name: "position", type: "INT64" as const, data: rows.map(({ position }) => BigInt(position)) },
        { name: "message", type: "JSON" as const, data: rows.map(({ message }) => message) },
      ],
    }),
  );
}
