import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { KB } from "@sluice/protocol";
import { CollectorError } from "../../errors.js";
import type { AmountsByAddress } from "../body/amounts-by-address.js";
import { rawErrorAnswer } from "./respond.js";

const pending = Symbol("pending");
const latest = Symbol("latest");
const unsentBytes = Symbol("unsentBytes");
const isBroken = Symbol("isBroken");
const share = Symbol("share");

/** What the connections of one address have together. */
export interface AddressShare {
  readonly address: string;
  readonly connections: Set<Connection>;
  /** Requests without a response yet that came before the response to an earlier one of their connection. */
  readonly inTurn: AmountsByAddress;
}

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
  /** What all connections of its address have together. */
  [share]?: AddressShare;
  /** The client sent something that is not HTTP, or sent too slowly. The connection is closed after the pending responses. */
  [isBroken]?: boolean;
}

/**
 * A client that goes on sending requests while more than this waits for it does not read, and each small request would hold kilobytes
 * of memory. Clients that wait for each response never have any waiting.
 */
const MAX_UNSENT_BYTES = 64 * KB;
/** Responses up to this size are counted by what waits in the socket, and by the requests in turn. */
const SMALL_RESPONSE_BYTES = KB;
/** Requests without a response yet, besides the first of their connection: of one connection, and of one address. Few clients pipeline, and those that do send a few requests before they read. */
const MAX_IN_TURN = 100;
const MAX_IN_TURN_OF_ADDRESS = 500;

export function joinShare(connection: Connection, ofAddress: AddressShare): void {
  connection[share] = ofAddress;
  ofAddress.connections.add(connection);
}

/** The connection has closed. Responses that were never begun do not end by themselves. */
export function leaveShare(connection: Connection): void {
  const ofAddress = connection[share];
  if (ofAddress === undefined) return;
  delete connection[share];
  ofAddress.connections.delete(connection);
  const left = (connection[pending] ?? 0) - 1;
  if (left > 0) ofAddress.inTurn.add(ofAddress.address, -left);
}

export function beginRequest(connection: Connection, request: ArrivingRequest): void {
  const before = connection[pending] ?? 0;
  connection[pending] = before + 1;
  connection[latest] = request;
  const ofAddress = connection[share];
  if (before > 0) ofAddress?.inTurn.add(ofAddress.address, 1);
}

export function endRequest(connection: Connection): void {
  const left = (connection[pending] ?? 1) - 1;
  connection[pending] = left;
  const ofAddress = connection[share];
  if (left > 0) ofAddress?.inTurn.add(ofAddress.address, -1);
}

/** Whether the client awaits a response and has sent its request, so that silence is expected: `GET /wait` or a large replay take minutes. */
export function isAwaitingResponse(connection: Connection): boolean {
  return (
    (connection[pending] ?? 0) > 0 &&
    connection[latest]?.isArriving !== true &&
    connection.writableLength === 0
  );
}

/** Whether the client sends requests without waiting for the responses, or without reading them. */
export function isNotReading(connection: Connection): boolean {
  const requests = connection[pending] ?? 0;
  return (
    requests > MAX_IN_TURN ||
    (requests > 0 && inTurnOf(connection[share]) > MAX_IN_TURN_OF_ADDRESS) ||
    (connection[unsentBytes] ?? 0) > MAX_UNSENT_BYTES ||
    connection.writableLength > MAX_UNSENT_BYTES
  );
}

function inTurnOf(ofAddress: AddressShare | undefined): number {
  // Few clients have any.
  return ofAddress === undefined || ofAddress.inTurn.total === 0 ? 0 : ofAddress.inTurn.of(ofAddress.address);
}

/** Closes a connection whose client does not read. */
export function cutNotReading(connection: Connection, metrics: { broken(code: string): void }): void {
  if (!connection.destroyed) metrics.broken("unread_answers");
  connection.destroy();
}

/** Whether the client has to send something next: the connection is idle, or its request is still arriving. */
export function isWaitingForClient(connection: Connection): boolean {
  return (connection[pending] ?? 0) === 0 || connection[latest]?.isArriving === true;
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
