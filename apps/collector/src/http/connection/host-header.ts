import type { IncomingMessage } from "node:http";
import { CollectorError } from "../../errors.js";

/** Why a request is refused that does not say clearly which host it is for (RFC 9112, section 3.2). Undefined: it does. */
export function hostRefusal({
  httpVersion,
  rawHeaders,
}: Pick<IncomingMessage, "httpVersion" | "rawHeaders">): CollectorError | undefined {
  if (httpVersion !== "1.1" || countHostHeaders(rawHeaders) === 1) return undefined;
  return new CollectorError("invalid_request", "an HTTP/1.1 request must have exactly one Host header");
}

/** `raw`: names and values by turns. */
function countHostHeaders(raw: readonly string[]): number {
  let count = 0;
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i] as string;
    if (name.length === 4 && name.toLowerCase() === "host") count++;
  }
  return count;
}
