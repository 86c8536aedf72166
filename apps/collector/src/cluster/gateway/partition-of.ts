import type { IncomingMessage } from "node:http";
import { brotliDecompressSync, gunzipSync, inflateSync } from "node:zlib";
import { findWriteKey } from "@sluice/event-log";
import { LIMITS } from "@sluice/protocol";
import { pixelBody } from "../../ingest/pixel.js";
import { basicUser } from "../../ingest/sources/write-key.js";
import type { ControlSources } from "../documents/control-sources.js";
import { originForm } from "../front/owner-connection.js";

type RequestHead = Pick<IncomingMessage, "method" | "url" | "headers">;

const SOURCE_PATH = /^\/api\/v1\/sources\/([^/]+)\/(?:usage|events)\/?$/;
const SETTINGS_PATH = /^\/v1\/projects\/([^/]+)\/settings\/?$/;

/**
 * The partition that a request concerns: that of the source whose messages it has, or which it asks about. "body": the write key is in the
 * body. Everything else, and what names no known source, is for the control partition.
 */
export function partitionOfRequest(
  { method, url = "/", headers }: RequestHead,
  sources: ControlSources,
): number | "body" {
  const [path = "/", ...queries] = originForm(url).split("?");
  const query = new URLSearchParams(queries.join("?"));
  const asked = SOURCE_PATH.exec(path)?.[1];
  if (asked !== undefined) return sources.ofSource(asked) ?? 0;
  if (!isIngestion(path)) return 0;
  const writeKey =
    query.get("writeKey") ?? decoded(SETTINGS_PATH.exec(path)?.[1]) ?? basicUser(headers.authorization);
  if (writeKey !== undefined) return sources.ofWriteKey(writeKey) ?? 0;
  if (path.startsWith("/v1/pixel/")) return partitionOfBody(pixelBody(query.get("data")), false, sources);
  return method === "POST" ? "body" : 0;
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
  const writeKey = body.length === 0 ? undefined : findWriteKey(body, isBatch);
  return (writeKey === undefined ? undefined : sources.ofWriteKey(writeKey)) ?? 0;
}

function isIngestion(path: string): boolean {
  return path.startsWith("/v1/") || path.startsWith("/beacon/") || path.startsWith("/sourceConfig");
}

/** The body without its encoding; nothing if it cannot be decoded. Its owner answers with the error. */
function opened(body: Uint8Array, encoding: string | undefined): Uint8Array {
  const limit = { maxOutputLength: LIMITS.batchBytes + 1 };
  try {
    if (encoding === "gzip" || encoding === "x-gzip") return gunzipSync(body, limit);
    if (encoding === "deflate") return inflateSync(body, limit);
    if (encoding === "br") return brotliDecompressSync(body, limit);
    return encoding === undefined || encoding === "identity" ? body : new Uint8Array(0);
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
