import { once } from "node:events";
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { json } from "node:stream/consumers";
import { manualClock } from "@sluice/resilience/testing";
import { afterEach, describe, expect, test } from "vitest";
import { decideNext, type RequestFacts } from "../../src/cluster/front/decide-next.js";
import { type Front, type Owner, openFront } from "../../src/cluster/front/front.js";
import { PEER_HEADERS } from "../../src/cluster/front/peer.js";
import { HTTP_LIMITS } from "../../src/http/limits.js";
import type { HttpRequest, Route } from "../../src/http/routing.js";
import type { HttpServer } from "../../src/http/server.js";
import { createLogger } from "../../src/process/telemetry/logger.js";
import { createMetrics } from "../../src/process/telemetry/metrics.js";

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

const TOKEN = "the token of the cluster";

interface Process {
  readonly front: Front;
  readonly ended: string[];
  owner: Owner;
  serve(routes: readonly Route[]): Promise<HttpServer>;
}

async function startProcess(clock = manualClock(), token = TOKEN): Promise<Process> {
  const ended: string[] = [];
  const common = { clock, logger: createLogger({ write: () => {} }) };
  const started: Process = {
    ended,
    owner: { kind: "none" },
    front: await openFront({
      ...common,
      limits: { ...HTTP_LIMITS, trustedProxies: 1 },
      public: { host: "127.0.0.1", port: 0 },
      admin: undefined,
      token,
      metrics: createMetrics(),
      ownRoutes: () => [{ path: "/healthz", methods: { GET: () => ({ status: 200, body: "own" }) } }],
      owner: () => started.owner,
      trouble: () => "the NATS servers do not answer",
      onPassed: (how) => ended.push(how),
      waitMs: 8_000,
    }),
    serve: (routes) =>
      started.front.startServer({ ...common, host: "", port: 0, routes, metrics: createMetrics() }),
  };
  started.front.advertise(started.front.url);
  closing.push(() => started.front.close(0));
  return started;
}

function follow(follower: Process, address: string, term = 1): void {
  follower.owner = { kind: "other", address, term };
  follower.front.ownerChanged();
}

const seen = (request: HttpRequest): object => ({
  method: request.method,
  client: request.remoteAddress,
  origin: request.origin,
  isLocal: request.isLocal,
  headers: request.headers,
});
const echo: Route = {
  path: "/v1/echo",
  methods: {
    GET: (request) => ({ status: 200, headers: { "x-query": String(request.query) }, body: seen(request) }),
    POST: async (request) => {
      const body = await request.readBody(64 * 1_024 * 1_024);
      return {
        status: 200,
        body: { ...seen(request), bytes: body.length, text: Buffer.from(body.subarray(0, 20)).toString() },
      };
    },
  },
};
/** Takes bodies that are larger than those with messages. */
const large: Route = { ...echo, path: "/api/v1/echo" };

async function pair() {
  const clock = manualClock();
  const [owner, follower] = [await startProcess(clock), await startProcess(clock)];
  const server = await owner.serve([echo, large]);
  follow(follower, owner.front.url);
  return { clock, owner, follower, server };
}

/** A server that accepts a request and does with the connection what the test says. */
async function scriptedOwner(
  onRequest: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<string> {
  const server = createServer(onRequest);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  closing.push(async () => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Sends these headers and no others, but for `Host`. */
async function get(
  url: string,
  headers: Record<string, string>,
): Promise<{ status?: number; body: unknown }> {
  const sent = request(url, { headers, agent: false });
  sent.end();
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  return { status: response.statusCode ?? 0, body: await json(response).catch(() => undefined) };
}

describe("decideNext", () => {
  const ingest: RequestFacts = {
    ...{ method: "POST", path: "/v1/batch", hasIdempotencyKey: false, isKept: true, mayBeDone: false },
  };
  const change: RequestFacts = { ...ingest, path: "/api/v1/sources" };
  const lost = { kind: "lost", reason: "ECONNRESET" } as const;
  const notDone = { kind: "not done", reason: "ECONNREFUSED" } as const;
  const again = { kind: "again" };
  test.each<[string, typeof lost | typeof notDone, RequestFacts, number, object]>([
    ["messages, owner lost", lost, ingest, 100, again],
    ["messages, time over", lost, ingest, 0, { kind: "fail", code: "owner_lost" }],
    ["messages, not reached, time over", notDone, ingest, 0, { kind: "fail", code: "no_owner" }],
    ["messages in a stream, owner lost", lost, { ...ingest, isKept: false }, 100, { code: "owner_lost" }],
    ["messages in a stream, not reached", notDone, { ...ingest, isKept: false }, 100, { code: "no_owner" }],
    ["a read, owner lost", lost, { ...change, method: "GET" }, 100, again],
    ["a change, not reached", notDone, change, 100, again],
    ["a change, owner lost", lost, change, 100, { code: "owner_lost" }],
    ["a change with a key, owner lost", lost, { ...change, hasIdempotencyKey: true }, 100, again],
    ["not reached after a loss", notDone, { ...ingest, mayBeDone: true }, 0, { code: "owner_lost" }],
  ])("%s", (_name, attempt, facts, leftMs, expected) => {
    expect(decideNext(attempt, facts, leftMs)).toMatchObject(expected);
  });
});

describe("the front", () => {
  test.each([
    [
      "as many headers",
      Array.from({ length: HTTP_LIMITS.maxHeaders - 3 }, (_, index) => [`x-${index}`, "1"]),
    ],
    ["headers as large", [["x-large", "a".repeat(HTTP_LIMITS.maxHeaderBytes - 100)]]],
  ])("passes a request with %s as one process takes on, for its client", async (_name, headers) => {
    const { follower } = await pair();
    const response = await get(`${follower.front.url}/v1/echo`, {
      "x-forwarded-for": "203.0.113.9",
      ...Object.fromEntries(headers),
    });
    expect(response).toMatchObject({ status: 200, body: { client: "203.0.113.9", isLocal: false } });
  });

  test("passes requests on: method, query, headers, host and client as they came", async () => {
    const { owner, follower } = await pair();
    const response = await fetch(`${follower.front.url}/v1/echo?a=1&b=%20`, {
      headers: { "x-forwarded-for": "203.0.113.9", "x-forwarded-proto": "https", "x-own": "é" },
    });
    expect(response.status).toBe(200);
    expect(response.headers.get("x-query")).toBe("a=1&b=+");
    const body = (await response.json()) as { headers: Record<string, string> };
    expect(body).toMatchObject({
      ...{ method: "GET", client: "203.0.113.9", isLocal: false },
      origin: `https://127.0.0.1:${follower.front.port}`,
    });
    expect(body.headers["x-own"]).toBe("é");
    for (const name of Object.values(PEER_HEADERS)) expect(body.headers[name]).toBeUndefined();
    await until(() => follower.ended.length > 0);
    expect(follower.ended).toEqual(["answered"]);
    // The owner sees the address of the client, not that of the follower.
    const direct = await fetch(`${owner.front.url}/v1/echo`).then((it) => it.json());
    expect(direct).toMatchObject({ client: "127.0.0.1", isLocal: true });
  });

  test("passes bodies on: small, large, in pieces of unknown length", async () => {
    const { follower } = await pair();
    for (const bytes of [0, 5, 400_000, 5_000_000]) {
      const response = await fetch(`${follower.front.url}/api/v1/echo`, {
        method: "POST",
        body: "x".repeat(bytes),
      });
      expect(await response.json()).toMatchObject({ bytes });
    }
    const pieces = new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode("one "));
        controller.enqueue(new TextEncoder().encode("two"));
        controller.close();
      },
    });
    const init = { method: "POST", body: pieces, duplex: "half" } as RequestInit;
    const response = await fetch(`${follower.front.url}/v1/echo`, init);
    expect(await response.json()).toMatchObject({ bytes: 7, text: "one two" });
  });

  test("answers Expect: 100-continue", async () => {
    const { follower } = await pair();
    const sent = request(`${follower.front.url}/v1/echo`, {
      method: "POST",
      headers: { expect: "100-continue", "content-length": 3 },
    });
    sent.flushHeaders();
    await once(sent, "continue");
    sent.end("abc");
    const [response] = await once(sent, "response");
    expect(response.statusCode).toBe(200);
    response.resume();
  });

  test("streams an answer piece by piece, and tells the owner when the client leaves", async () => {
    const { owner, follower, server } = await pair();
    await server.close(0);
    let left = (): void => {};
    const isLeft = new Promise<void>((resolve) => {
      left = resolve;
    });
    let writeMore = (_text: string): void => {};
    await owner.serve([
      {
        path: "/live",
        methods: {
          GET: () => ({
            status: 200,
            headers: { "content-type": "text/event-stream" },
            stream: (write, signal) =>
              new Promise<void>((resolve) => {
                writeMore = (text) => void write(text);
                signal.addEventListener("abort", () => {
                  left();
                  resolve();
                });
              }),
          }),
        },
      },
    ]);
    const abort = new AbortController();
    const response = await fetch(`${follower.front.url}/live`, { signal: abort.signal });
    expect(response.headers.get("content-type")).toBe("text/event-stream");
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    for (const text of ["data: 1\n\n", "data: 2\n\n"]) {
      writeMore(text);
      expect(Buffer.from((await reader.read()).value ?? []).toString()).toBe(text);
    }
    abort.abort();
    await isLeft;
  });

  test("believes nobody without the token, and passes nothing on twice", async () => {
    const { clock, owner, follower } = await pair();
    const forged = { [PEER_HEADERS.client]: "198.51.100.1", [PEER_HEADERS.token]: "guessed" };
    for (const { front } of [owner, follower]) {
      const body = await fetch(`${front.url}/v1/echo`, { headers: forged }).then((it) => it.json());
      expect(body).toMatchObject({ client: "127.0.0.1" });
    }
    // Each believes that the other is the owner.
    const third = await startProcess(clock);
    const fourth = await startProcess(clock);
    follow(third, fourth.front.url);
    follow(fourth, third.front.url);
    const waiting = fetch(`${third.front.url}/v1/echo`);
    await advanceUntil(clock, () => third.ended.length > 0);
    const response = await waiting;
    expect(response.status).toBe(503);
    expect(response.headers.get("retry-after")).toBe("1");
    expect(response.headers.get("sluice-peer-not-owner")).toBeNull();
    // Where the other processes are is told to nobody.
    expect(await response.json()).toMatchObject({
      code: "no_owner",
      message: expect.stringMatching(
        /: the last owner does not own the log any more; the NATS servers do not/,
      ),
    });
    expect(fourth.ended).toEqual([]);
  });

  test("a request waits for an owner, here or elsewhere", async () => {
    const { clock, owner, follower } = await pair();
    follower.owner = { kind: "none" };
    const elsewhere = fetch(`${follower.front.url}/v1/echo`, { method: "POST", body: "kept" });
    await until(() => follower.front.waiting === 1);
    await clock.advance(5_000);
    follow(follower, owner.front.url, 2);
    expect(await (await elsewhere).json()).toMatchObject({ text: "kept" });

    follower.owner = { kind: "starting" };
    follower.front.ownerChanged();
    const here = ["kept", "y".repeat(2_000_000)].map((body) =>
      fetch(`${follower.front.url}/api/v1/echo`, { method: "POST", body }).then((it) => it.json()),
    );
    await until(() => follower.front.waiting === 2);
    await follower.serve([echo, large]);
    expect(await here[0]).toMatchObject({ text: "kept", client: "127.0.0.1" });
    expect(await here[1]).toMatchObject({ bytes: 2_000_000 });
  });

  test("without an owner, a request is refused in time; health is answered", async () => {
    const clock = manualClock();
    const lonely = await startProcess(clock);
    const waiting = fetch(`${lonely.front.url}/v1/batch`, {
      method: "POST",
      body: "{}",
      headers: { origin: "https://shop.example" },
    });
    await until(() => lonely.front.waiting === 1);
    await clock.advance(8_000);
    const response = await waiting;
    expect(response.status).toBe(503);
    expect(response.headers.get("access-control-allow-origin")).toBe("https://shop.example");
    expect(await response.json()).toMatchObject({
      code: "no_owner",
      message: expect.stringMatching(/: no process owns the log; the NATS servers do not answer$/),
      requestId: response.headers.get("x-request-id"),
    });
    expect(await fetch(`${lonely.front.url}/healthz`).then((it) => it.text())).toBe("own");
  });

  test("repeats what is safe to repeat when the owner is lost, at the next owner", async () => {
    const { owner, follower } = await pair();
    let asked = 0;
    const dying = await scriptedOwner((request) => {
      asked += 1;
      request.resume().on("end", () => request.socket.destroy());
    });
    follow(follower, dying, 2);
    const batch = fetch(`${follower.front.url}/v1/echo`, { method: "POST", body: "batch" });
    const change = fetch(`${follower.front.url}/api/v1/sources`, { method: "POST", body: "{}" });
    const refused = await change;
    expect(refused.status).toBe(503);
    expect(await refused.json()).toMatchObject({ code: "owner_lost" });
    await until(() => asked >= 2);
    await until(() => follower.front.waiting === 1);
    follow(follower, owner.front.url, 3);
    await until(() => follower.ended.includes("repeated"));
    expect(await (await batch).json()).toMatchObject({ text: "batch" });
  });

  test("leaves an owner that does not answer as soon as there is another", async () => {
    const { clock, owner, follower } = await pair();
    let asked = 0;
    const stopped = await scriptedOwner(() => {
      asked += 1;
    });
    follow(follower, stopped, 2);
    const waiting = fetch(`${follower.front.url}/v1/echo`);
    await until(() => asked === 1);
    follow(follower, owner.front.url, 3);
    await until(() => follower.front.waiting === 1);
    await clock.advance(100);
    await until(() => follower.ended.includes("repeated"));
    expect((await waiting).status).toBe(200);
  });

  test("answers messages in time if the owner is silent, and says that it is until it answers again", async () => {
    const { clock, owner, follower } = await pair();
    let asked = 0;
    let isCutOff = true;
    const silent = await scriptedOwner((_request, response) => {
      asked += 1;
      if (!isCutOff) response.end("ok");
    });
    follow(follower, silent, 2);
    const send = () => fetch(`${follower.front.url}/v1/echo`, { method: "POST", body: "batch" });
    const answer = send();
    await until(() => asked === 1);
    expect(follower.front.ownerSilentMs).toBe(0);
    await clock.advance(8_500);
    const refused = await answer;
    expect([refused.status, refused.headers.get("retry-after") !== null]).toEqual([503, true]);
    expect(await refused.json()).toMatchObject({ code: "owner_lost" });
    // Its silence began with the request. Meanwhile, it renews its lease: it reaches the engine.
    for (let renewals = 0; renewals < 11; renewals++) {
      await clock.advance(1_000);
      follower.front.ownerChanged();
    }
    expect(follower.front.ownerSilentMs).toBe(19_500);
    // The network is whole again. Nobody sends anything, because the process is not ready.
    await until(() => asked === 2);
    isCutOff = false;
    await clock.advance(1_000);
    await until(() => follower.front.ownerSilentMs === 0);
    // Another owner is not to blame.
    isCutOff = true;
    const second = send();
    const asks = asked;
    await until(() => asked > asks);
    await clock.advance(8_500);
    expect((await second).status).toBe(503);
    follow(follower, owner.front.url, 3);
    expect(follower.front.ownerSilentMs).toBe(0);
  });

  test("does not blame the owner for a body that its client does not send", async () => {
    const { clock, follower } = await pair();
    let asked = 0;
    const waiting = await scriptedOwner(() => {
      asked += 1;
    });
    follow(follower, waiting, 2);
    const body = new ReadableStream({ start: (it) => it.enqueue(Buffer.from("half")) });
    const slow = fetch(`${follower.front.url}/v1/echo`, {
      method: "POST",
      body,
      duplex: "half",
    } as RequestInit);
    await until(() => asked === 1);
    await clock.advance(18_500);
    expect((await slow).status).toBe(503);
    await clock.advance(1_000);
    expect(follower.front.ownerSilentMs).toBe(0);
  });

  test("cuts an answer that the owner cannot complete", async () => {
    const { follower } = await pair();
    const dying = await scriptedOwner((_request, response) => {
      response.writeHead(200, { "content-length": 100 });
      response.write("half", () => response.socket?.destroy());
    });
    follow(follower, dying, 2);
    await expect(fetch(`${follower.front.url}/v1/echo`).then((it) => it.text())).rejects.toThrow();
    await until(() => follower.ended.length > 0);
    expect(follower.ended).toEqual(["cut"]);
  });

  test("lets requests under way finish when the routes are detached, and makes later ones wait", async () => {
    const { owner, server, follower } = await pair();
    await server.close(0);
    let release: (() => void) | undefined;
    const slow: Route = {
      path: "/slow",
      methods: {
        GET: () =>
          new Promise((resolve) => {
            release = () => resolve({ status: 200, body: "done" });
          }),
      },
    };
    const second = await owner.serve([slow, echo]);
    const first = fetch(`${owner.front.url}/slow`);
    await until(() => release !== undefined);
    const closed = second.close(60_000);
    const later = fetch(`${owner.front.url}/v1/echo`);
    await until(() => owner.front.waiting === 1);
    release?.();
    expect(await (await first).text()).toBe("done");
    await closed;
    await follower.serve([echo]);
    follow(owner, follower.front.url, 2);
    expect((await later).status).toBe(200);
  });

  test("answers what has no answer yet when the log is lost, though the log does not answer", async () => {
    const { clock, owner, follower, server } = await pair();
    await server.close(0);
    const unanswered = Promise.withResolvers<{ status: number }>();
    let asked = 0;
    const write: Route = {
      path: "/api/v1/sources",
      methods: {
        POST: () => {
          asked += 1;
          return unanswered.promise;
        },
      },
    };
    const lost = await owner.serve([write]);
    const send = (url: string) => fetch(`${url}/api/v1/sources`, { method: "POST", body: "{}" });
    const sent = [send(owner.front.url), send(follower.front.url)];
    await until(() => asked === 2);
    const closed = lost.close(0);
    await clock.advance(1);
    await closed;
    for (const response of await Promise.all(sent)) {
      expect([response.status, response.headers.get("retry-after")]).toEqual([503, "1"]);
      expect(await response.json()).toMatchObject({ code: "owner_lost" });
    }
    unanswered.resolve({ status: 201 });
  });

  test("a broken body gets the answer that it gets without a cluster", async () => {
    const { follower } = await pair();
    const socket = connect(follower.front.port, "127.0.0.1");
    socket.write("POST /v1/echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nnot a length\r\n");
    const [answer] = await once(socket, "data");
    expect(String(answer)).toContain("HTTP/1.1 400");
    expect(String(answer)).toContain("invalid_request");
    socket.destroy();
  });
});

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await new Promise((resolve) => setImmediate(resolve));
}

async function advanceUntil(clock: ReturnType<typeof manualClock>, isTrue: () => boolean): Promise<void> {
  while (!isTrue()) {
    await clock.advance(50);
    await new Promise((resolve) => setImmediate(resolve));
  }
}
