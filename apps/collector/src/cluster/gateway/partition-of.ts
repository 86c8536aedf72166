import type { IncomingMessage } from "node:http";
import { brotliDecompressSync, gunzipSync, inflateRawSync, inflateSync } from "node:zlib";
import { findWriteKey } from "@sluice/event-log";
import { LIMITS } from "@sluice/protocol";
import { isSpread } from "../../documents/source-partitions.js";
import { hasZlibHeader, looksGzipped, parseEncoding } from "../../http/body/inflate.js";
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

/** The partition of messages whose write key is in the request's body. */
export function partitionOfMessages(
  { url = "/", headers }: RequestHead,
  body: Uint8Array,
  sources: ControlSources,
): number {
  const path = url.split("?", 1)[0] as string;
  const isBatch = /\/(?:batch|import|b)\/?$/.test(path);
  return partitionOfBody(opened(body, headers["content-encoding"]), isBatch, sources);
}

function partitionOfBody(body: Uint8Array, isBatch: boolean, sources: ControlSources): number {
  return partitionOf(placeOfBody(body, isBatch, sources) ?? {});
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

/** The body without its encoding; nothing if it cannot be decoded. Its owner answers with the error. */
function opened(body: Uint8Array, encoding: string | undefined): Uint8Array {
  const limit = { maxOutputLength: LIMITS.batchBytes + 1 };
  const named = parseEncoding(encoding);
  try {
    // Some clients compress without saying so.
    if (named === "gzip" || (named === "identity" && looksGzipped(body))) return gunzipSync(body, limit);
    if (named === "deflate")
      return hasZlibHeader(body) ? inflateSync(body, limit) : inflateRawSync(body, limit);
    if (named === "br") return brotliDecompressSync(body, limit);
    return named === "identity" ? body : new Uint8Array(0);
  } catch {
    return new Uint8Array(0);
  }
}

function decoded(text: string | undefined): string | undefined {
  try {
    return text === undefined ? undefined : decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
