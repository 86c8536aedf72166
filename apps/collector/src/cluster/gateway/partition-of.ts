import type { IncomingMessage } from "node:http";
import { findWriteKey } from "@sluice/event-log";
import { LIMITS } from "@sluice/protocol";
import { isSpread } from "../../documents/source-partitions.js";
import { CollectorError } from "../../errors.js";
import { inflate, looksGzipped, parseEncoding } from "../../http/body/inflate.js";
import { pixelBody } from "../../ingest/pixel.js";
import { basicUser } from "../../ingest/sources/write-key.js";
import { type ControlSources, partitionOf, type SourcePlace } from "../documents/control-sources.js";
import { originForm } from "../front/owner-connection.js";

type RequestHead = Pick<IncomingMessage, "method" | "url" | "headers">;

const SOURCE_PATH = /^\/api\/v1\/sources\/([^/]+)\/(?:usage|events)\/?$/;
/** What clients say about themselves. */
const CLIENT_METRICS = /^\/v1\/m\/?$/;
const KEY_IN_QUERY = /^\/(?:beacon\/|sourceConfig)/;
const SETTINGS_PATH = /^\/v1\/projects\/([^/]+)\/settings\/?$/;

/**
 * The partition that a request concerns: that of the source whose messages it has, or which it asks about. "body": the write key is in the
 * body. "spread": the source is in several partitions, or the body may say so. Everything else, and what names no known source, is for the
 * control partition.
 */
export function partitionOfRequest(
  { method, url = "/", headers }: RequestHead,
  sources: ControlSources,
): number | "body" | "spread" {
  const [path = "/", ...queries] = originForm(url).split("?");
  const query = new URLSearchParams(queries.join("?"));
  const asked = SOURCE_PATH.exec(path)?.[1];
  if (asked !== undefined) return placed(sources.placeOfSource(asked), method === "GET");
  if (!isIngestion(path)) return 0;
  // As ingestion reads it: elsewhere, a key in the query means nothing.
  const inAddress = KEY_IN_QUERY.test(path)
    ? query.get("writeKey") || undefined
    : decoded(SETTINGS_PATH.exec(path)?.[1]);
  const writeKey = inAddress ?? basicUser(headers.authorization);
  const isPixel = path.startsWith("/v1/pixel/");
  const takesMessages = isPixel || (method === "POST" && !CLIENT_METRICS.test(path));
  if (writeKey !== undefined) return placed(sources.placeOf(writeKey), takesMessages);
  if (isPixel) return placed(placeOfBody(pixelBody(query.get("data")), false, sources), true);
  if (method !== "POST") return 0;
  return sources.hasSpread && takesMessages ? "spread" : "body";
}

function placed(place: SourcePlace | undefined, canBeSpread: boolean): number | "spread" {
  if (place === undefined) return 0;
  return canBeSpread && isSpread(place) ? "spread" : partitionOf(place);
}

/**
 * The partition of messages whose write key is in the request's body. Rejects with `overloaded` if too many compressed bodies wait to be
 * read.
 */
export async function partitionOfMessages(
  { url = "/", headers }: RequestHead,
  body: Uint8Array,
  sources: Pick<ControlSources, "placeOf">,
): Promise<number> {
  const path = url.split("?", 1)[0] as string;
  const isBatch = /\/(?:batch|import|b)\/?$/.test(path);
  const opened = await withoutEncoding(body, headers["content-encoding"]);
  return partitionOf(placeOfBody(opened, isBatch, sources) ?? {});
}

/** The source of messages that name their write key themselves. */
function placeOfBody(
  body: Uint8Array,
  isBatch: boolean,
  sources: Pick<ControlSources, "placeOf">,
): SourcePlace | undefined {
  const writeKey = body.length === 0 ? undefined : findWriteKey(body, isBatch);
  return writeKey === undefined ? undefined : sources.placeOf(writeKey);
}

function isIngestion(path: string): boolean {
  return path.startsWith("/v1/") || path.startsWith("/beacon/") || path.startsWith("/sourceConfig");
}

/** As ingestion reads it; nothing if it cannot be read. Its owner answers with the error. */
async function withoutEncoding(body: Uint8Array, header: string | undefined): Promise<Uint8Array> {
  const named = parseEncoding(header);
  const encoding = named === "identity" && looksGzipped(body) ? "gzip" : named;
  if (encoding === undefined) return NOTHING;
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  try {
    return await inflate(bytes, encoding, LIMITS.batchBytes, false);
  } catch (error) {
    if (error instanceof CollectorError && error.code !== "overloaded") return NOTHING;
    throw error;
  }
}

const NOTHING = new Uint8Array(0);

function decoded(text: string | undefined): string | undefined {
  try {
    return text === undefined ? undefined : decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
