import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";

export interface ProxyOptions {
  /** Called and awaited before each request is forwarded. */
  readonly onRequest?: (path: string) => Promise<void> | void;
  /** Changes the body of a response. */
  readonly change?: (path: string, text: string) => string;
  /** Responds with this status without forwarding the request. */
  readonly status?: (path: string) => number | undefined;
}

/** A proxy between a command and a collector. Tests can delay, change or replace responses. */
export async function startProxy(collectorUrl: string, { onRequest, change, status }: ProxyOptions) {
  const server = createServer(async (request, response) => {
    const path = request.url ?? "/";
    const body = await bodyOf(request);
    await onRequest?.(path);
    const own = status?.(path);
    if (own !== undefined) {
      response.writeHead(own).end();
      return;
    }
    const { authorization = "", "content-type": type = "application/json" } = request.headers;
    const answer = await fetch(`${collectorUrl}${path}`, {
      method: request.method ?? "GET",
      headers: { authorization, "content-type": type },
      ...(body.length === 0 ? {} : { body: new Uint8Array(body) }),
    });
    const text = await answer.text();
    response.writeHead(answer.status, { "content-type": "application/json" });
    response.end(change?.(path, text) ?? text);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
