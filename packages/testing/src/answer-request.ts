import { gunzipSync } from "node:zlib";
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

  const text = textOf(request);
  if (text === undefined) return refusal(400, "malformed_json", "The body cannot be decompressed");
  const limit = endpoint === "batch" ? LIMITS.batchBytes : LIMITS.messageBytes;
  const bytes = Buffer.byteLength(text);
  if (bytes > limit) {
    return refusal(413, "payload_too_large", `The body is ${bytes} bytes; the limit is ${limit}`);
  }
  const body = parsed(text);
  if (body === undefined) return refusal(400, "malformed_json", "The body is not JSON");
  if (!isPlainObject(body)) return refusal(400, "invalid_message", "The body is not a JSON object");
  if (writeKey !== undefined && keyOf(request.headers.authorization, body) !== writeKey) {
    return refusal(401, "invalid_write_key", "The write key is not known");
  }
  return endpoint === "batch" ? batchAnswer(body) : singleAnswer(coerce(body, { kind: endpoint }));
}

/** The kind of message that a path takes, `"batch"`, or undefined if there is no such path. */
function endpointOf(path: string): MessageKind | "batch" | undefined {
  // The client's host may have a path of its own, so the API begins at the last `/v1/`.
  const name = /\/v1\/([^/]+)\/?$/.exec(path)?.[1];
  if (name === undefined) return undefined;
  if (BATCH_PATHS.has(name)) return "batch";
  return isMessageKind(name) ? name : SHORT_KINDS[name];
}

function batchAnswer(body: UncheckedMessage): IngestAnswer {
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
        : validate(message)[0];
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

/** The uncompressed body. Undefined if it cannot be decompressed. */
export function textOf({ headers, body }: IngestRequest): string | undefined {
  try {
    return Buffer.from(headers["content-encoding"] === "gzip" ? gunzipSync(body) : body).toString("utf8");
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

/** The write key: the user name of Basic authentication, with or without its colon, else the `writeKey` of the body. */
function keyOf(authorization: string | undefined, body: UncheckedMessage): unknown {
  const encoded = /^Basic\s+(.+)$/i.exec(authorization ?? "")?.[1];
  return encoded === undefined
    ? body.writeKey
    : Buffer.from(encoded, "base64").toString("utf8").replace(/:.*$/s, "");
}
