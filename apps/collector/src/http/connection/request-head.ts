import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { CollectorError } from "../../errors.js";

export const REQUEST_ID_HEADER = "x-request-id";

/** Characters that are safe in headers, log lines, and shells. */
const VALID = /^[A-Za-z0-9][A-Za-z0-9._:+=/@-]{0,127}$/;

/** The id of a request: the one that the client or a proxy gave, if it is valid, or a new one. */
export function requestIdOf(given: string | readonly string[] | undefined): string {
  return typeof given === "string" && VALID.test(given) ? given : randomUUID();
}

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

const passedOnFor = Symbol("passedOnFor");

/** A request that another process of the cluster may have passed on. */
interface PassedOnMessage extends IncomingMessage {
  [passedOnFor]?: string;
}

/** Another process passed the request on for a client with this address. Only call it for a request that proved to come from there. */
export function markPassedOn(message: PassedOnMessage, address: string): void {
  message[passedOnFor] = address;
}

export function isPassedOn(message: PassedOnMessage): boolean {
  return message[passedOnFor] !== undefined;
}

/** The address of the peer that connected to the collector, or to the process that passed the request on. */
export function peerAddress(message: PassedOnMessage): string {
  const address = message[passedOnFor] ?? message.socket.remoteAddress ?? "";
  return address.startsWith("::ffff:") ? address.replace(/^::ffff:(?=\d+\.)/, "") : address;
}
