import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { KB } from "@sluice/protocol";
import { CollectorError } from "../../errors.js";
import { rawErrorAnswer } from "./respond.js";

const pending = Symbol("pending");
const latest = Symbol("latest");
const unsentBytes = Symbol("unsentBytes");
const isBroken = Symbol("isBroken");

/** A request whose body may still arrive. */
export interface ArrivingRequest {
  /** Whether the body has not arrived completely. */
  readonly isArriving: boolean;
  /** The rest of the body will not arrive. */
  failBody(error: CollectorError): void;
}

/** A client connection. Its state is kept on the socket itself, because every request asks for it. */
export interface Connection extends Socket {
  /** Requests without a response yet. */
  [pending]?: number;
  /** The last request that arrived. */
  [latest]?: ArrivingRequest;
  /** Size of the responses that the client has not read yet. Small ones are not counted. */
  [unsentBytes]?: number;
  /** The client sent something that is not HTTP, or sent too slowly. The connection is closed after the pending responses. */
  [isBroken]?: boolean;
}

/**
 * A client that goes on sending requests while more than this waits for it does not read, and each small request would hold kilobytes
 * of memory. Clients that wait for each response never have any waiting.
 */
const MAX_UNSENT_BYTES = 64 * KB;
const SMALL_RESPONSE_BYTES = KB;

export function beginRequest(connection: Connection, request: ArrivingRequest): void {
  connection[pending] = (connection[pending] ?? 0) + 1;
  connection[latest] = request;
}

export function endRequest(connection: Connection): void {
  connection[pending] = (connection[pending] ?? 1) - 1;
}

/** Whether the client awaits a response and has sent its request, so that silence is expected: `GET /wait` or a large replay take minutes. */
export function isAwaitingResponse(connection: Connection): boolean {
  return (
    (connection[pending] ?? 0) > 0 &&
    connection[latest]?.isArriving !== true &&
    connection.writableLength === 0
  );
}

/** Whether the client sends requests without reading the responses. */
export function isNotReading(connection: Connection): boolean {
  return (connection[unsentBytes] ?? 0) > MAX_UNSENT_BYTES;
}

export function countUnsent(connection: Connection, response: ServerResponse): void {
  const bytes = response.writableLength;
  if (bytes <= SMALL_RESPONSE_BYTES) return;
  connection[unsentBytes] = (connection[unsentBytes] ?? 0) + bytes;
  response.once("close", () => {
    connection[unsentBytes] = (connection[unsentBytes] ?? bytes) - bytes;
  });
}

export function isConnectionBroken(connection: Connection): boolean {
  return connection[isBroken] === true;
}

/**
 * Closes a connection whose next request cannot be parsed. Pending requests get their responses first, because the client would take
 * bytes written now for those. If the body of the last request is what is broken, the error is its response.
 */
export function endBroken(error: NodeJS.ErrnoException, connection: Connection): void {
  if (!connection.writable || error.code === "ECONNRESET" || error.code === "EPIPE") {
    connection.destroy();
    return;
  }
  connection[isBroken] = true;
  const request = connection[latest];
  if ((connection[pending] ?? 0) > 0) {
    if (request?.isArriving) request.failBody(brokenError(error));
    return;
  }
  // Without a body on its way, this is a new request. Otherwise the request has its response, and only the rest of the body was read.
  if (!request?.isArriving) connection.write(rawErrorAnswer(brokenError(error)));
  connection.destroySoon();
}

function brokenError(error: NodeJS.ErrnoException): CollectorError {
  switch (error.code) {
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return new CollectorError("request_timeout");
    case "HPE_HEADER_OVERFLOW":
      return new CollectorError("headers_too_large");
    default:
      return new CollectorError("invalid_request", "not HTTP/1.1");
  }
}
