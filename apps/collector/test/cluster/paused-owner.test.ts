import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { manualClock } from "@sluice/resilience/testing";
import { afterEach, describe, expect, test } from "vitest";
import type { Front } from "../../src/cluster/front/front.js";
import { ownerConnection } from "../../src/cluster/front/owner-connection.js";
import { askOwners } from "../../src/cluster/gateway/ask-owners.js";
import type { HttpRequest } from "../../src/http/routing/route.js";

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

describe("an owner that answers nothing any more", () => {
  async function serverWith(onRequest: (response: ServerResponse) => void): Promise<string> {
    const server = createServer((_request, response) => onRequest(response));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    closing.push(() => {
      server.closeAllConnections();
      server.close();
    });
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  /** What a gateway has of its front: an owner that can change. */
  async function gateway(onRequest: (response: ServerResponse) => void) {
    const first = { connection: ownerConnection(await serverWith(onRequest)), over: new AbortController() };
    const next = await serverWith((response) => response.end('["found"]'));
    const second = { connection: ownerConnection(next), over: new AbortController() };
    let now = first;
    const front = {
      target: () => ({ kind: "owner" as const, connection: now.connection, signal: now.over.signal }),
      change: async () => {},
    } as unknown as Front;
    const owners = askOwners({
      ...{ front: () => front, token: "token", clock: manualClock() },
      ...{ partitions: 1, listener: "public" as const, onPassed: () => {} },
    });
    const takeOver = (): void => {
      now = second;
      first.over.abort();
    };
    closing.push(
      () => first.connection.close(),
      () => second.connection.close(),
    );
    return { owners, takeOver };
  }

  const request = { method: "GET", headers: {}, remoteAddress: "" } as unknown as HttpRequest;
  const { signal } = new AbortController();

  test("is left by the gateway as soon as there is another", async () => {
    const isAsked = Promise.withResolvers<void>();
    const { owners, takeOver } = await gateway(() => isAsked.resolve());
    const answer = owners.ask(0, request, { path: "/list", signal });
    await isAsked.promise;
    takeOver();
    expect(await answer).toMatchObject({ status: 200, body: ["found"] });
  });

  test("is no failure if the client leaves first", async () => {
    const isAsked = Promise.withResolvers<void>();
    const { owners } = await gateway(() => isAsked.resolve());
    const client = new AbortController();
    const answer = owners.ask(0, request, { path: "/list", signal: client.signal });
    await isAsked.promise;
    client.abort();
    await expect(answer).rejects.toMatchObject({ code: "request_timeout" });
  });

  test("ends the gateway's streams, so that their readers resume them elsewhere", async () => {
    const { owners, takeOver } = await gateway((response) => {
      response.writeHead(200);
      response.write("data: 1\n\n");
    });
    const stream = await owners.stream(0, request, { path: "/live", signal });
    const read = async (): Promise<void> => {
      for await (const chunk of stream as AsyncIterable<Uint8Array>) {
        expect(String(Buffer.from(chunk))).toBe("data: 1\n\n");
        takeOver();
      }
    };
    await expect(read()).rejects.toThrow();
  });
});
