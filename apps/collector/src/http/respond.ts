import type { IncomingMessage, ServerResponse } from "node:http";
import { type CollectorError, collectorErrorOf, ERRORS } from "../errors.js";
import type { HttpAnswer } from "./route.js";

/** How long a client is asked to wait when the collector is short of something, in seconds. */
const RETRY_AFTER_SECONDS = 1;

/** The answer for anything that was thrown: ours with its code, everything else as `internal` without a word about it. */
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

function retryHeaders(status: number, seconds: string): Readonly<Record<string, string>> {
  return status === 429
    ? { "retry-after": seconds, "x-ratelimit-reset": seconds }
    : { "retry-after": seconds };
}

/** A whole answer for a connection of which nothing better is known, as bytes. */
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

/** Of a body that nobody reads, this much is waited for so that the connection can be used again. */
const SPARED_BYTES = 1_024 * 1_024;

/** What the client still has to send of a body that nobody will read, at most. */
function unreadBytes(request: IncomingMessage): number {
  if (request.complete) return 0;
  if (request.headers["transfer-encoding"] !== undefined) return Number.POSITIVE_INFINITY;
  return Number(request.headers["content-length"] ?? 0);
}

/**
 * Writes an answer. The rest of a body that was not read is read and dropped, so that the connection can be used again. Where that may
 * be much, or the rest is not coming, the connection is closed: see `linger`.
 */
export function respond(
  request: IncomingMessage,
  response: ServerResponse,
  answer: HttpAnswer,
  more: {
    readonly headers?: Readonly<Record<string, string>>;
    /** Nothing more of the body is to be expected. */
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
  if (unread > SPARED_BYTES || (unread > 0 && more.isBodyLost === true)) headers.connection = "close";
  response.writeHead(answer.status, headers);
  response.end(request.method === "HEAD" ? "" : bytes);
  if (unread > 0) request.resume();
}

/** Writes an answer whose body goes on until its promise is settled. */
export async function respondStream(
  response: ServerResponse,
  answer: HttpAnswer & { readonly stream: NonNullable<HttpAnswer["stream"]> },
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<void> {
  // A stream may be silent for longer than a request may.
  response.socket?.setTimeout(0);
  response.writeHead(answer.status, { "content-type": "text/plain", ...headers, ...answer.headers });
  response.flushHeaders();
  try {
    await answer.stream(
      (chunk) => response.write(chunk),
      signal,
      () => drained(response),
    );
  } finally {
    response.end();
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
