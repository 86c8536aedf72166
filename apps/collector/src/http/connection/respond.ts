import type { IncomingMessage, ServerResponse } from "node:http";
import { type CollectorError, collectorErrorOf, ERRORS } from "../../errors.js";
import type { HttpAnswer } from "../routing.js";

/** `Retry-After` of a 503, in seconds. */
const RETRY_AFTER_SECONDS = 1;

/** The answer for a thrown error: its own code if it is known, else `internal` without details. */
export function errorAnswer(error: unknown): HttpAnswer {
  const known = collectorErrorOf(error);
  const { status } = ERRORS[known.code];
  const { retryAfterSeconds } = known.details;
  const seconds =
    typeof retryAfterSeconds === "number"
      ? retryAfterSeconds
      : status === 503
        ? RETRY_AFTER_SECONDS
        : undefined;
  return {
    status,
    ...(seconds === undefined ? {} : { headers: retryHeaders(status, String(seconds)) }),
    body: { success: false, code: known.code, message: known.message, ...known.details },
  };
}

export function retryHeaders(status: number, seconds: string): Readonly<Record<string, string>> {
  return status === 429
    ? { "retry-after": seconds, "x-ratelimit-reset": seconds }
    : { "retry-after": seconds };
}

/** A complete response as text, for a connection without a parsed request. */
export function rawErrorAnswer(error: CollectorError): string {
  const { status } = ERRORS[error.code];
  const body = JSON.stringify(errorAnswer(error).body);
  return (
    `HTTP/1.1 ${status} ${REASONS[status] ?? "Error"}\r\nContent-Type: application/json\r\n` +
    `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`
  );
}

const REASONS: Readonly<Record<number, string>> = {
  400: "Bad Request",
  408: "Request Timeout",
  431: "Request Header Fields Too Large",
};

/** An unread body of at most this size is read to its end, so that the connection can be reused. */
const MAX_DRAINED_BYTES = 1_024 * 1_024;

/** Upper bound for the unread rest of the body. */
function unreadBytes(request: IncomingMessage): number {
  if (request.complete) return 0;
  if (request.headers["transfer-encoding"] !== undefined) return Number.POSITIVE_INFINITY;
  return Number(request.headers["content-length"] ?? 0);
}

/**
 * Writes an answer. Reads and drops the unread rest of the body, so that the connection can be reused. If that may be much, or the rest
 * will not arrive, it closes the connection: see `linger`.
 */
export function respond(
  request: IncomingMessage,
  response: ServerResponse,
  answer: HttpAnswer,
  more: {
    readonly headers?: Readonly<Record<string, string>>;
    /** The rest of the body will not arrive. */
    readonly isBodyLost?: boolean;
  } = {},
): void {
  if (response.headersSent || response.destroyed) return;
  const { body } = answer;
  const headers: Record<string, string | number> = { ...more.headers, ...answer.headers };
  let bytes: string | Uint8Array;
  if (body === undefined) bytes = "";
  else if (typeof body === "string" || body instanceof Uint8Array) bytes = body;
  else {
    headers["content-type"] ??= "application/json";
    bytes = JSON.stringify(body);
  }
  if (answer.status !== 204) headers["content-length"] = Buffer.byteLength(bytes);
  const unread = unreadBytes(request);
  if (unread > MAX_DRAINED_BYTES || (unread > 0 && more.isBodyLost === true)) headers.connection = "close";
  response.writeHead(answer.status, headers);
  response.end(request.method === "HEAD" ? "" : bytes);
  if (unread > 0) request.resume();
}

/** Writes an answer whose body ends when the promise of its stream resolves. If it rejects, the connection is cut: the body is not whole. */
export async function respondStream(
  response: ServerResponse,
  answer: HttpAnswer & { readonly stream: NonNullable<HttpAnswer["stream"]> },
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<void> {
  // A stream may be silent for longer than the idle timeout.
  response.socket?.setTimeout(0);
  response.writeHead(answer.status, { "content-type": "text/plain", ...headers, ...answer.headers });
  response.flushHeaders();
  // It would last until the client leaves, and the requests behind it on its connection would wait.
  if (response.req.method === "HEAD") {
    response.end();
    return;
  }
  try {
    await answer.stream(
      (chunk) => response.write(chunk),
      signal,
      () => drained(response),
    );
    response.end();
  } catch (error) {
    response.destroy();
    throw error;
  }
}

function drained(response: ServerResponse): Promise<void> {
  if (!response.writableNeedDrain || response.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    const done = (): void => {
      response.off("drain", done);
      response.off("close", done);
      resolve();
    };
    response.on("drain", done);
    response.on("close", done);
  });
}
