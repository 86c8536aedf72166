import { isUtf8 } from "node:buffer";
import { brotliDecompressSync, gunzipSync, inflateSync } from "node:zlib";
import {
  coerce,
  type ErrorBody,
  type IngestErrorCode,
  type IngestSuccess,
  isMessageKind,
  isPlainObject,
  issue,
  LIMITS,
  type MessageKind,
  type RejectedMessage,
  type UncheckedMessage,
  validate,
} from "@sluice/protocol";

/** A request to the ingestion API, independent of the transport. */
export interface IngestRequest {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

/** The collector's answer to a request, and the messages that it keeps. */
export interface IngestAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly kept: readonly UncheckedMessage[];
}

const BATCH_PATHS: ReadonlySet<string> = new Set(["batch", "import", "b"]);
const SHORT_KINDS: Readonly<Record<string, MessageKind>> = {
  i: "identify",
  t: "track",
  p: "page",
  s: "screen",
  g: "group",
  a: "alias",
};

/** Answers like the collector: checks write key and limits, and gives a verdict on each message. Without `writeKey`, every key is valid. */
export function answerRequest(request: IngestRequest, writeKey: string | undefined): IngestAnswer {
  const endpoint = endpointOf(request.path);
  if (endpoint === undefined) return refusal(404, "not_found", `No such path: ${request.path}`);
  if (request.method !== "POST")
    return refusal(405, "method_not_allowed", `${request.method} is not allowed here`);

  if (decoderOf(request) === undefined)
    return refusal(415, "unsupported_encoding", "The Content-Encoding is not gzip, deflate or br");
  const text = textOf(request);
  if (text === undefined)
    return refusal(400, "malformed_json", "The body cannot be decompressed, or is not UTF-8");
  const limit = endpoint === "batch" ? LIMITS.batchBytes : LIMITS.messageBytes;
  const bytes = Buffer.byteLength(text);
  if (bytes > limit) {
    return refusal(413, "payload_too_large", `The body is ${bytes} bytes; the limit is ${limit}`);
  }
  const body = parsed(text);
  if (body === undefined) return refusal(400, "malformed_json", "The body is not JSON");
  if (!isPlainObject(body)) return refusal(400, "invalid_message", "The body is not a JSON object");
  if (writeKey !== undefined && !keysOf(request.headers.authorization, body).every((key) => key === writeKey))
    return refusal(401, "invalid_write_key", "The write key is not known");
  return endpoint === "batch" ? batchAnswer(body, writeKey) : singleAnswer(coerce(body, { kind: endpoint }));
}

/** The kind of message that a path takes, `"batch"`, or undefined if there is no such path. */
function endpointOf(path: string): MessageKind | "batch" | undefined {
  // The client's host may have a path of its own, so the API begins at the last `/v1/`.
  const name = /\/v1\/([^/]+)\/?$/.exec(path)?.[1];
  if (name === undefined) return undefined;
  if (BATCH_PATHS.has(name)) return "batch";
  return isMessageKind(name) ? name : SHORT_KINDS[name];
}

function batchAnswer(body: UncheckedMessage, writeKey: string | undefined): IngestAnswer {
  const { batch, context, integrations, sentAt } = body;
  if (!Array.isArray(batch)) return refusal(400, "invalid_message", "`batch` must be an array");
  if (batch.length > LIMITS.batchMessages) {
    return refusal(413, "payload_too_large", `A batch has at most ${LIMITS.batchMessages} messages`);
  }
  const kept: UncheckedMessage[] = [];
  const rejected: RejectedMessage[] = [];
  batch.forEach((item: unknown, index) => {
    const message = isPlainObject(item) ? coerce(item, { context, integrations, sentAt }) : item;
    const found =
      Buffer.byteLength(JSON.stringify(item)) > LIMITS.messageBytes
        ? issue("message_too_large", "")
        : (validate(message)[0] ?? foreignKey(item, writeKey));
    if (!found) kept.push(message as UncheckedMessage);
    else {
      const messageId =
        isPlainObject(item) && typeof item.messageId === "string" ? item.messageId : undefined;
      rejected.push({
        index,
        ...(messageId !== undefined && { messageId }),
        code: found.code,
        message: found.message,
      });
    }
  });
  const success: IngestSuccess = {
    success: true,
    accepted: kept.length,
    ...(rejected.length > 0 && { rejected }),
  };
  return { status: 200, headers: {}, body: JSON.stringify(success), kept };
}

function singleAnswer(message: UncheckedMessage): IngestAnswer {
  const [found] = validate(message);
  if (found) return refusal(400, "invalid_message", `${found.code}: ${found.message}`);
  const success: IngestSuccess = { success: true, accepted: 1 };
  return { status: 200, headers: {}, body: JSON.stringify(success), kept: [message] };
}

export function refusal(status: number, code: IngestErrorCode, message: string): IngestAnswer {
  const body: ErrorBody = { success: false, code, message };
  return { status, headers: {}, body: JSON.stringify(body), kept: [] };
}

const DECODERS: Readonly<Record<string, (body: Uint8Array) => Uint8Array>> = {
  ...{ "": (body) => body, identity: (body) => body },
  ...{ gzip: gunzipSync, "x-gzip": gunzipSync, deflate: inflateSync, br: brotliDecompressSync },
};

/** Undefined if the encoding is unknown. */
function decoderOf({ headers }: IngestRequest): ((body: Uint8Array) => Uint8Array) | undefined {
  return DECODERS[(headers["content-encoding"] ?? "").trim().toLowerCase()];
}

/** The uncompressed body. Undefined if it cannot be decompressed, or is not UTF-8. */
export function textOf(request: IngestRequest): string | undefined {
  try {
    const bytes = decoderOf(request)?.(request.body);
    return bytes !== undefined && isUtf8(bytes) ? Buffer.from(bytes).toString("utf8") : undefined;
  } catch {
    return undefined;
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * The write keys: the user name of Basic authentication, with or without its colon, and the `writeKey` of the body, unless they are empty.
 * At least one, which may be undefined.
 */
function keysOf(authorization: string | undefined, body: UncheckedMessage): readonly unknown[] {
  const encoded = /^Basic\s+(.+)$/i.exec(authorization ?? "")?.[1] ?? "";
  const user = Buffer.from(encoded, "base64").toString("utf8").replace(/:.*$/s, "");
  const named = [user, body.writeKey].filter(isKey);
  return named.length > 0 ? named : [undefined];
}

/** A message of a batch may name its key, too. */
function foreignKey(
  item: unknown,
  writeKey: string | undefined,
): { code: string; message: string } | undefined {
  const key = isPlainObject(item) ? item.writeKey : undefined;
  if (writeKey === undefined || !isKey(key) || key === writeKey) return undefined;
  return { code: "invalid_write_key", message: "`writeKey` disagrees with the request's" };
}

function isKey(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}
