import { hash } from "node:crypto";
import { promisify } from "node:util";
import { gzip, zstdCompress } from "node:zlib";
import type { DeliveryResult } from "@sluice/destination";
import { type Batch, type OutgoingMessage, rowOf } from "@sluice/destination";
import type { HttpClient, HttpResponse } from "@sluice/destination/http";
import { AwsV4Signer } from "aws4fetch";
import { parquetWriteBuffer } from "hyparquet-writer";
import type { Credentials } from "./credentials.js";
import type { S3Settings } from "./settings.js";

interface S3Object {
  readonly key: string;
  readonly body: Uint8Array;
}

type Format = Pick<S3Settings, "prefix" | "format" | "compression">;

/**
 * The objects of a batch: one for each source and hour of receipt, each named by the batch in a folder of its own. A batch that is repeated
 * replaces what it wrote before, also without a message that was erased meanwhile.
 */
export async function* objectsOf({ id, messages }: Batch, settings: Format): AsyncGenerator<S3Object> {
  for (const ofSource of Map.groupBy(messages, ({ sourceId }) => sourceId).values())
    for (const members of Map.groupBy(ofSource, ({ receivedAtMs }) =>
      Math.floor(receivedAtMs / HOUR_MS),
    ).values()) {
      const [{ sourceId, receivedAtMs } = NO_MESSAGE] = members;
      const time = new Date(receivedAtMs).toISOString();
      const folder = `date=${time.slice(0, 10)}/hour=${time.slice(11, 13)}/source=${sourceId}`;
      yield {
        key: `${settings.prefix}/${folder}/${id}.${extension(settings)}`,
        body: await bodyOf(members, settings),
      };
    }
}

const HOUR_MS = 3_600_000;
/** No group is empty. */
const NO_MESSAGE = { sourceId: "", receivedAtMs: 0 };

function extension({ format, compression }: Format): string {
  if (format === "parquet") return "parquet";
  return { gzip: "jsonl.gz", zstd: "jsonl.zst", none: "jsonl" }[compression];
}

async function bodyOf(
  messages: readonly OutgoingMessage[],
  { format, compression }: Format,
): Promise<Uint8Array> {
  if (format === "parquet") return parquet(messages);
  const lines = Buffer.from(
    messages.reduce((text, { payload }) => `${text}${JSON.stringify(payload)}\n`, ""),
  );
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

/** Amazon has a host for each bucket; other stores have paths. */
export function urlOf({ bucket, region, endpoint }: S3Settings, key: string): string {
  const path = key.split("/").map(encodeURIComponent).join("/");
  if (endpoint !== undefined) return `${endpoint.replace(/\/$/, "")}/${bucket}/${path}`;
  // A certificate for *.s3 does not cover names with dots.
  return bucket.includes(".")
    ? `https://s3.${region}.amazonaws.com/${bucket}/${path}`
    : `https://${bucket}.s3.${region}.amazonaws.com/${path}`;
}

/** Writes an object, in place of one with its key. Undefined: it is written. Rejects if there is no answer. */
export async function putObject(
  { key, body }: S3Object,
  settings: S3Settings,
  { credentials, http, signal }: { credentials: Credentials; http: HttpClient; signal: AbortSignal },
): Promise<DeliveryResult | undefined> {
  const { method, url, headers } = await new AwsV4Signer({
    method: "PUT",
    url: urlOf(settings, key),
    // A body that was changed on its way is refused.
    headers: { "X-Amz-Content-Sha256": hash("sha256", body, "hex") },
    service: "s3",
    region: settings.region,
    ...credentials,
  }).sign();
  const response = await http.send({
    method,
    url,
    headers: { ...Object.fromEntries(headers), "content-length": String(body.byteLength) },
    body,
    signal,
  });
  return response.status === 200 ? undefined : refusal(response, settings);
}

/** Everything may work later, once somebody has repaired it. */
function refusal({ status, body, retryAfterMs }: HttpResponse, settings: S3Settings): DeliveryResult {
  const code = /<Code>([A-Za-z]{1,60})<\/Code>/.exec(body)?.[1] ?? `HTTP ${status}`;
  const said = /<Message>([^<]{1,300})/.exec(body)?.[1] ?? `HTTP ${status}`;
  const wait = retryAfterMs === undefined ? {} : { retryAfterMs };
  return { kind: "retry", reason: code, detail: `${advice(code, settings)}: ${said}`, ...wait };
}

function advice(code: string, { bucket, region }: S3Settings): string {
  switch (code) {
    case "AccessDenied":
      return `The credentials may not write to ${bucket}. They need s3:PutObject there`;
    case "InvalidAccessKeyId":
    case "SignatureDoesNotMatch":
    case "ExpiredToken":
      return "The store refused the credentials. Enter the right key id and secret";
    case "NoSuchBucket":
      return `There is no bucket ${bucket}. Create it`;
    case "PermanentRedirect":
    case "AuthorizationHeaderMalformed":
    case "IllegalLocationConstraintException":
      return `The bucket ${bucket} is not in ${region}. Set its region`;
    case "SlowDown":
      return "The store asks for fewer requests";
    case "RequestTimeTooSkewed":
      return "The clock of the collector's machine is wrong";
    default:
      return "The store refused an object";
  }
}
