import type { IncomingMessage } from "node:http";

const TIMEOUT_MS = 4_500;

/** Headers of the connection, and headers that the forwarding request sets itself. */
const NOT_FORWARDED = new Set([
  "host",
  "connection",
  "content-length",
  "transfer-encoding",
  "keep-alive",
  "expect",
]);

export interface Forwarded {
  readonly status: number;
  readonly body: Buffer | string;
  readonly error?: string;
}

/** Sends a request's headers and body to another URL. */
export async function forward(url: string, request: IncomingMessage, raw: Buffer): Promise<Forwarded> {
  const headers = Object.entries(request.headers).filter(
    (entry): entry is [string, string] => typeof entry[1] === "string" && !NOT_FORWARDED.has(entry[0]),
  );
  const response = await fetch(url, {
    method: "POST",
    headers,
    body: new Uint8Array(raw),
    redirect: "manual",
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  return { status: response.status, body: Buffer.from(await response.arrayBuffer()) };
}

/** The response if forwarding failed: 502, so that the sender tries again. */
export function forwardFailure(error: unknown): Forwarded {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const code = (cause as NodeJS.ErrnoException).code ?? String(cause);
  return { status: 502, body: "", error: code };
}
