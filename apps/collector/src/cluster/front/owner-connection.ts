import type { IncomingMessage, ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import { type Dispatcher, Pool } from "undici";
import { type Connection, isConnectionBroken } from "../../http/connection/connection.js";
import type { FailedAttempt } from "./decide-next.js";
import type { PassedBody } from "./kept-body.js";
import { NOT_OWNER_HEADER } from "./peer.js";

/** How an attempt to pass a request on ended. */
export type Passed =
  /** The client has the answer, or has disconnected. */
  | { readonly kind: "answered" }
  /** The owner was lost after the answer had begun. The client's connection was cut, so that it does not take a part for the whole. */
  | { readonly kind: "cut" }
  | FailedAttempt;

export interface PassedRequest {
  readonly message: IncomingMessage;
  readonly response: ServerResponse;
  /** Of the client. */
  readonly connection: Connection;
  readonly body: PassedBody;
  /** Names and values by turns. */
  readonly headers: string[];
}

/** The connections to one process, to pass requests on. */
export interface OwnerConnection {
  readonly address: string;
  /** Sends the request, and the response as it arrives. Never throws. */
  passOn(request: PassedRequest, signal: AbortSignal): Promise<Passed>;
  /** Whether the process answers this path. Never throws. */
  answers(path: string, signal: AbortSignal): Promise<boolean>;
  /** Lets the requests that are under way end. */
  close(): void;
}

const CONNECT_TIMEOUT_MS = 1_000;
/** Beyond it, requests wait here for a connection, where the limits of their own connections hold. */
const MOST_CONNECTIONS = 256;

export function ownerConnection(address: string): OwnerConnection {
  // A request may wait for minutes and a live stream for hours: what ends them is the client, or a new owner.
  const pool = new Pool(address, {
    headersTimeout: 0,
    bodyTimeout: 0,
    connections: MOST_CONNECTIONS,
    connect: { timeout: CONNECT_TIMEOUT_MS },
  });
  return {
    address,
    async passOn(request, signal) {
      const { message, body, headers } = request;
      let answer: Dispatcher.ResponseData;
      try {
        answer = await pool.request({
          method: message.method as Dispatcher.HttpMethod,
          path: originForm(message.url ?? "/"),
          headers,
          body: body.kind === "none" ? null : body.kind === "kept" ? body.bytes : message,
          signal,
        });
      } catch (error) {
        return failedAttempt(error);
      }
      if (answer.headers[NOT_OWNER_HEADER] !== undefined) {
        await answer.body.dump().catch(() => {});
        return NOT_OWNER;
      }
      return passBack(answer, request);
    },
    async answers(path, signal) {
      try {
        await (await pool.request({ method: "GET", path, signal })).body.dump();
        return true;
      } catch {
        return false;
      }
    },
    close: () => void pool.close().catch(() => {}),
  };
}

/** Clients read it, so it names no address. */
const NOT_OWNER: FailedAttempt = {
  kind: "not done",
  reason: "the last owner does not own the log any more",
};

async function passBack(
  { statusCode, headers, body }: Dispatcher.ResponseData,
  { message, response, connection }: PassedRequest,
): Promise<Passed> {
  if (response.destroyed) {
    body.on("error", () => {}).destroy();
    return { kind: "answered" };
  }
  // The bytes behind the request are not HTTP: nothing else is answered on this connection.
  if (isConnectionBroken(connection)) response.shouldKeepAlive = false;
  response.writeHead(statusCode, passedBack(headers));
  // Its body may begin much later: a live stream.
  if (headers["content-length"] === undefined) response.flushHeaders();
  try {
    await pipeline(body, response);
    message.resume();
    return { kind: "answered" };
  } catch {
    if (response.destroyed && !response.writableFinished) return { kind: "cut" };
    response.destroy();
    return { kind: "cut" };
  }
}

const OF_THE_CONNECTION: ReadonlySet<string> = new Set(["connection", "keep-alive", "transfer-encoding"]);

function passedBack(headers: Dispatcher.ResponseData["headers"]): Record<string, string | string[]> {
  const kept: Record<string, string | string[]> = {};
  for (const [name, value] of Object.entries(headers))
    if (value !== undefined && !OF_THE_CONNECTION.has(name)) kept[name] = value;
  return kept;
}

/** Errors after which nothing of the request was sent. */
const UNREACHED: ReadonlySet<string> = new Set([
  ...["ECONNREFUSED", "EHOSTUNREACH", "ENETUNREACH", "ENOTFOUND", "EAI_AGAIN", "EHOSTDOWN"],
  "UND_ERR_CONNECT_TIMEOUT",
]);

function failedAttempt(error: unknown): FailedAttempt {
  const { code, message } = error as { code?: string; message: string };
  return { kind: code !== undefined && UNREACHED.has(code) ? "not done" : "lost", reason: code ?? message };
}

/** A request's path with its query. Proxies are sent the absolute form. Takes any text, unlike `URL`. */
export function originForm(url: string): string {
  const path = url.startsWith("/") ? url : url.replace(/^https?:\/\/[^/?#]*/i, "");
  return path.startsWith("/") ? path : `/${path}`;
}
