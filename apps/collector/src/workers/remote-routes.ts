import type { IncomingHttpHeaders } from "node:http";
import type { MessagePort } from "node:worker_threads";
import { collectorErrorOf, type ErrorCode } from "../errors.js";
import type { HttpAnswer, HttpRequest, Route } from "../http/routing.js";

/**
 * Routes whose handlers run in the main thread. A thread that listens parses and answers their requests as all others, so that limits,
 * keep-alive and pipelining are the same for every route; the handler asks for the body when it needs it.
 */

/** A route without its handlers. */
export interface RouteHead extends Omit<Route, "methods"> {
  readonly methods: readonly Method[];
}

export type Method = keyof Route["methods"];

export function headOf({ methods, ...route }: Route): RouteHead {
  return { ...route, methods: Object.keys(methods) as Method[] };
}

/** What the main thread needs of a request. */
export interface RequestHead {
  readonly method: string;
  readonly path: string;
  readonly params: Readonly<Record<string, string>>;
  readonly query: string;
  readonly headers: IncomingHttpHeaders;
  readonly remoteAddress: string;
  readonly isLocal: boolean;
}

/** An error that the other thread makes again. */
export interface SentError {
  readonly code: ErrorCode;
  readonly detail: string | undefined;
  readonly details: { readonly [name: string]: unknown };
}

export function sentError(error: unknown): SentError {
  const { code, detail, details } = collectorErrorOf(error);
  return { code, detail, details };
}

/** Bytes without others around them, which would be copied too. */
export function whole(bytes: Uint8Array): Uint8Array {
  return bytes.byteLength === bytes.buffer.byteLength ? bytes : new Uint8Array(bytes);
}

/** From the thread that listens. `id`: of the request. */
export type FromListener = { readonly id: number } & (
  | { readonly kind: "request"; readonly route: string; readonly method: Method; readonly head: RequestHead }
  | { readonly kind: "body"; readonly body: Uint8Array | undefined }
  | { readonly kind: "bodyFailed"; readonly error: SentError }
  /** The client has room for more. */
  | { readonly kind: "written"; readonly length: number }
  /** The client has disconnected, or the server closes. */
  | { readonly kind: "aborted" }
);

/** From the main thread. */
export type FromHandler = { readonly id: number } & (
  | { readonly kind: "vouch" }
  | { readonly kind: "readBody"; readonly limitBytes: number; readonly isDropped: boolean }
  | { readonly kind: "answer"; readonly answer: Omit<HttpAnswer, "stream">; readonly isStream: boolean }
  | { readonly kind: "chunk"; readonly chunk: string | Uint8Array }
  | { readonly kind: "end" }
  /** The handler, or its stream, failed in a way that it does not explain. */
  | { readonly kind: "failed"; readonly reason: string }
);

interface Passed {
  readonly request: HttpRequest;
  answered(answer: HttpAnswer): void;
  failed(error: Error): void;
  stream: Streaming | undefined;
}

interface Streaming {
  write(chunk: string | Uint8Array): void;
  end(error?: Error): void;
}

/** The routes of these heads, in a thread that listens. */
export function remoteRoutes(port: MessagePort, heads: readonly RouteHead[]): Route[] {
  const passed = new Map<number, Passed>();
  let lastId = 0;
  const send = (message: FromListener): void => port.postMessage(message);
  port.on("message", (message: FromHandler) => {
    const one = passed.get(message.id);
    if (one === undefined) return;
    switch (message.kind) {
      case "vouch":
        one.request.vouch();
        return;
      case "readBody":
        void sendBody(message, one.request, send);
        return;
      case "answer":
        one.answered(message.isStream ? streamed(message, one, send, passed) : message.answer);
        return;
      case "chunk":
        one.stream?.write(message.chunk);
        return;
      case "end":
        one.stream?.end();
        return;
      case "failed":
        one.stream?.end(new Error(message.reason));
        one.failed(new Error(message.reason));
        return;
      default:
        message satisfies never;
    }
  });
  const handlerOf = (route: string, method: Method) => (request: HttpRequest) => {
    lastId += 1;
    const id = lastId;
    const { promise, resolve, reject } = Promise.withResolvers<HttpAnswer>();
    passed.set(id, { request, answered: resolve, failed: reject, stream: undefined });
    send({ id, kind: "request", route, method, head: requestHead(request) });
    const { signal } = request;
    signal.addEventListener("abort", () => {
      // Of an answered request nobody hears any more, unless it is a stream.
      if (passed.has(id)) send({ id, kind: "aborted" });
    });
    const forget = (answer?: HttpAnswer): void => {
      if (answer?.stream === undefined) passed.delete(id);
    };
    promise.then(forget, () => forget());
    return promise;
  };
  return heads.map(({ methods, ...route }) => ({
    ...route,
    methods: Object.fromEntries(methods.map((method) => [method, handlerOf(route.path, method)])),
  }));
}

function requestHead(request: HttpRequest): RequestHead {
  const { method, path, params, headers, remoteAddress, isLocal } = request;
  return { method, path, params, query: request.query.toString(), headers, remoteAddress, isLocal };
}

async function sendBody(
  { id, limitBytes, isDropped }: Extract<FromHandler, { kind: "readBody" }>,
  request: HttpRequest,
  send: (message: FromListener) => void,
): Promise<void> {
  try {
    if (isDropped) await request.dropBody(limitBytes);
    const body = isDropped ? undefined : await request.readBody(limitBytes);
    send({ id, kind: "body", body: body && whole(body) });
  } catch (error) {
    send({ id, kind: "bodyFailed", error: sentError(error) });
  }
}

/** The answer whose chunks come from the main thread. */
function streamed(
  { id, answer }: Extract<FromHandler, { kind: "answer" }>,
  one: Passed,
  send: (message: FromListener) => void,
  passed: Map<number, Passed>,
): HttpAnswer {
  // Chunks may come before the head is written.
  const early: (string | Uint8Array)[] = [];
  const ended = Promise.withResolvers<void>();
  one.stream = { write: (chunk) => early.push(chunk), end: endWith };
  function endWith(error?: Error): void {
    passed.delete(id);
    if (error === undefined) ended.resolve();
    else ended.reject(error);
  }
  return {
    ...answer,
    stream(write, _signal, drained) {
      const writeOne = (chunk: string | Uint8Array): void => {
        const written = (): void => send({ id, kind: "written", length: chunk.length });
        if (write(chunk)) written();
        else void drained().then(written);
      };
      one.stream = { write: writeOne, end: endWith };
      for (const chunk of early) writeOne(chunk);
      return ended.promise;
    },
  };
}
