import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { type FakeCollector, type FakeCollectorOptions, fakeCollector } from "./fake-collector.js";

/** A fake collector on a real socket. */
export interface LoopbackCollector extends FakeCollector {
  /** The base URL. Pass it to the client as `host`. */
  readonly url: string;
  /** Closes the server and all connections. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Starts a fake collector on a free port of 127.0.0.1. The faults `reset` and `hang` happen on the real connection. */
export async function loopbackCollector(options: FakeCollectorOptions = {}): Promise<LoopbackCollector> {
  const collector = fakeCollector(options);
  const sockets = new Set<Socket>();
  const server = createServer((request, response) => {
    // It fails if the client breaks the request off.
    respond(collector, request, response).catch(() => request.socket.destroy());
  });
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const close = async (): Promise<void> => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  };
  return Object.assign(Object.create(collector) as FakeCollector, {
    url: `http://127.0.0.1:${port}`,
    close,
    [Symbol.asyncDispose]: close,
  });
}

async function respond(
  collector: FakeCollector,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of request) chunks.push(chunk as Uint8Array);
  const headers = Object.fromEntries(
    Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
  );
  const path = new URL(request.url ?? "/", "http://localhost").pathname;
  const ending = collector.handle({
    method: request.method ?? "GET",
    path,
    headers,
    body: Buffer.concat(chunks),
  });
  switch (ending.kind) {
    case "answer":
      response.writeHead(ending.answer.status, {
        "content-type": "application/json",
        ...ending.answer.headers,
      });
      response.end(ending.answer.body);
      return;
    case "reset":
      request.socket.resetAndDestroy();
      return;
    case "hang":
      return;
    default:
      ending satisfies never;
  }
}
