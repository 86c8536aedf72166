import { connect, type Socket } from "node:net";
import type { NewBatch } from "@sluice/event-log";
import { type MemoryStore, openMemoryStore } from "@sluice/event-log";
import { manualClock } from "@sluice/resilience/testing";
import { afterEach, describe, expect, test } from "vitest";
import { basic, type IngestServer, startIngestServer, WRITE_KEY } from "./ingest-server.js";

/** Timeout for a machine that is busy with other tests. */

let server: IngestServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

/** A store with a slow disk: appends wait until they are released. */
function slowStore(): { store: MemoryStore; waiting: number; letGo(): void } {
  const store = openMemoryStore({ clock: manualClock() });
  const held: (() => void)[] = [];
  const log = new Proxy(store.log, {
    get: (target, name) =>
      name === "append"
        ? async (batch: NewBatch) => {
            await new Promise<void>((resolve) => held.push(resolve));
            return target.append(batch);
          }
        : Reflect.get(target, name),
  });
  return {
    store: new Proxy(store, { get: (target, name) => (name === "log" ? log : Reflect.get(target, name)) }),
    get waiting() {
      return held.length;
    },
    letGo: () => {
      for (const resolve of held.splice(0)) resolve();
    },
  };
}

const page = (messageId: string, bytes = 0) => ({
  type: "page",
  userId: "u",
  messageId,
  x: "x".repeat(bytes),
});

describe("memory", () => {
  test("memory is bounded: beyond it requests get 503 overloaded with Retry-After, and /readyz says so", async () => {
    const slow = slowStore();
    server = await startIngestServer({
      store: slow.store,
      limits: { maxBufferedBytes: 115_000, trustedProxies: 1 },
    });
    const { url } = server;
    // Each has its own address.
    const post = (path: string, { messageId }: { messageId: string }) =>
      (server as IngestServer).post(path, page(messageId, 30_000), {
        authorization: basic(WRITE_KEY),
        "x-forwarded-for": `203.0.113.${messageId.slice(1)}`,
      });
    const first = [1, 2, 3].map((n) => post("/v1/page", page(`m${n}`)));
    await expect.poll(() => slow.waiting).toBe(3);

    const refused = await post("/v1/page", page("m4"));
    expect(refused).toMatchObject({ status: 503, body: { success: false, code: "overloaded" } });
    expect(refused.headers.get("retry-after")).toBe("1");
    const ready = await fetch(`${url}/readyz`);
    expect([ready.status, ready.headers.get("retry-after"), await ready.json()]).toEqual([
      503,
      "1",
      { status: "not ready", reason: "overloaded" },
    ]);
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    expect(await (await fetch(`${url}/metrics`)).text()).toMatch(/^sluice_http_buffered_bytes 10\d{4}$/m);

    slow.letGo();
    expect((await Promise.all(first)).map(({ status }) => status)).toEqual([200, 200, 200]);
    expect((await fetch(`${url}/readyz`)).status).toBe(200);
    expect(await (await fetch(`${url}/metrics`)).text()).toMatch(/^sluice_http_buffered_bytes 0$/m);
    const again = post("/v1/page", page("m4"));
    await expect.poll(() => slow.waiting).toBe(1);
    slow.letGo();
    expect((await again).status).toBe(200);
  });

  test("a client that disconnects releases its memory", async () => {
    server = await startIngestServer({ limits: { maxBufferedBytes: 100_000 } });
    const { port, metrics } = server;
    const head = `POST /v1/batch HTTP/1.1\r\nHost: x\r\nAuthorization: ${basic(WRITE_KEY)}\r\nContent-Length: 90000\r\n\r\n`;
    const socket = connect({ port, host: "127.0.0.1" });
    socket.write(`${head}${"x".repeat(80_000)}`);
    // Most of it is there, so its buffer has room for all of it.
    await expect.poll(() => metrics.render()).toMatch(/^sluice_http_buffered_bytes 94096$/m);
    socket.destroy();
    await expect.poll(() => metrics.render()).toMatch(/^sluice_http_buffered_bytes 0$/m);
  });
});

describe("one address that stalls", () => {
  const SHARED_BYTES = 8 * 1_024 * 1_024;
  const sockets: Socket[] = [];
  afterEach(() => {
    for (const socket of sockets.splice(0)) socket.destroy();
  });

  /** Requests whose bodies lack their last byte; resolves when as much of them is held as ever will be. */
  async function stall(path: string, headers: readonly string[], count = 40): Promise<void> {
    const { port, metrics } = server as IngestServer;
    const length = path === "/v1/page" ? 30_000 : 480_000;
    const head = [`POST ${path} HTTP/1.1`, "Host: x", ...headers, `Content-Length: ${length}`].join("\r\n");
    const settled: Promise<unknown>[] = [];
    for (let sent = 0; sent < count; sent++) {
      const socket = connect({ port, host: "127.0.0.1" });
      sockets.push(socket);
      socket.on("error", () => {}).resume();
      settled.push(
        new Promise((resolve) => socket.write(`${head}\r\n\r\n${"x".repeat(length - 1)}`, resolve)),
      );
    }
    await Promise.all(settled);
    await expect.poll(() => metrics.render()).toMatch(/status="503"} [1-9]/);
  }

  const send = (messageId: string, headers: Record<string, string>) =>
    (server as IngestServer).post("/v1/batch", { batch: [page(messageId)], writeKey: WRITE_KEY }, headers);
  const from = (address: string) => ({ "x-forwarded-for": address });
  const start = async (): Promise<void> => {
    server = await startIngestServer({ limits: { maxBufferedBytes: SHARED_BYTES, trustedProxies: 1 } });
  };

  test("without a key it affects neither requests with one nor other addresses", async () => {
    await start();
    await stall("/v1/batch", ["X-Forwarded-For: 192.0.2.1"]);
    const withKey = { authorization: basic(WRITE_KEY) };
    expect(await send("a", { ...withKey, ...from("192.0.2.1") })).toMatchObject({ status: 200 });
    expect(await send("b", { ...withKey, ...from("192.0.2.2") })).toMatchObject({ status: 200 });
    expect(await send("c", from("192.0.2.2"))).toMatchObject({ status: 200 });
    expect((await fetch(`${server?.url}/readyz`)).status).toBe(200);
  });

  test("with a key it does not affect other addresses", async () => {
    await start();
    await stall("/v1/batch", ["X-Forwarded-For: 2001:db8::1", `Authorization: ${basic(WRITE_KEY)}`]);
    expect(await send("a", { authorization: basic(WRITE_KEY), ...from("192.0.2.2") })).toMatchObject({
      status: 200,
    });
    // Of the same block of addresses.
    expect(await send("b", { authorization: basic(WRITE_KEY), ...from("2001:db8::ffff") })).toMatchObject({
      status: 200,
    });
    expect((await fetch(`${server?.url}/readyz`)).status).toBe(200);
  });

  test("metrics of clients are not kept in memory while they arrive", async () => {
    await start();
    const { port, metrics } = server as IngestServer;
    const socket = connect({ port, host: "127.0.0.1" });
    sockets.push(socket);
    socket.on("error", () => {}).resume();
    socket.write(`POST /v1/m HTTP/1.1\r\nHost: x\r\nContent-Length: 400000\r\n\r\n${"x".repeat(399_999)}`);
    await expect.poll(() => metrics.render()).toMatch(/^sluice_http_buffered_bytes 4096$/m);
    socket.write("x");
    await expect.poll(() => metrics.render()).toMatch(/route="\/v1\/m",status="200"} 1$/m);
    await expect.poll(() => metrics.render()).toMatch(/^sluice_http_buffered_bytes 0$/m);
  });
});

test("thousands of tiny requests over one connection are bounded too, and each is answered", async () => {
  const slow = slowStore();
  server = await startIngestServer({ store: slow.store, limits: { maxBufferedBytes: 100 * 5_000 } });
  const { port, metrics } = server;
  const body = '{"userId":"u"}';
  const request = `POST /v1/page HTTP/1.1\r\nHost: x\r\nAuthorization: ${basic(WRITE_KEY)}\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  const socket = connect({ port, host: "127.0.0.1" });
  let text = "";
  socket.setEncoding("latin1").on("data", (chunk) => {
    text += chunk;
  });
  socket.write(request.repeat(2_000));
  await expect.poll(() => metrics.render()).toMatch(/status="503"} [1-9]\d*$/m);
  expect(slow.waiting).toBeLessThan(130);
  const statuses = (): string[] => Array.from(text.matchAll(/HTTP\/1\.1 (\d{3})/g), ([, code]) => code ?? "");
  await expect
    .poll(() => {
      slow.letGo();
      return statuses().length;
    })
    .toBe(2_000);
  expect(new Set(statuses())).toEqual(new Set(["200", "503"]));
  socket.destroy();
});

describe("rate", () => {
  test("a source beyond its rate gets 429 with both headers in whole seconds; others are served", async () => {
    const clock = manualClock();
    server = await startIngestServer({ clock });
    await server.putSource("src_slow", { rateLimit: 10 });
    const send = (n: number, key: string) =>
      server?.post(
        "/v1/batch",
        { batch: Array.from({ length: n }, (_, i) => page(`${n}-${i}`)) },
        { authorization: basic(key) },
      );
    expect(await send(45, "wk_of_src_slow")).toMatchObject({ status: 200 });
    const limited = await send(1, "wk_of_src_slow");
    expect(limited).toMatchObject({ status: 429, body: { success: false, code: "rate_limited" } });
    expect(limited?.headers.get("retry-after")).toBe("4");
    expect(limited?.headers.get("x-ratelimit-reset")).toBe("4");
    expect(await send(45, WRITE_KEY)).toMatchObject({ status: 200 });
    await clock.advance(4_000);
    expect(await send(1, "wk_of_src_slow")).toMatchObject({ status: 200 });
  });

  test("refused messages count, and nothing is noted of those that come too fast", async () => {
    server = await startIngestServer({ clock: manualClock() });
    await server.putSource("src_slow", { rateLimit: 3 });
    const send = (...ids: string[]) =>
      server?.post(
        "/v1/batch",
        { batch: ids.map((messageId) => ({ type: "track", userId: "u1", messageId })) },
        { authorization: basic("wk_of_src_slow") },
      );
    const first = await send("a", "b", "c");
    expect(first).toMatchObject({ status: 200, body: { accepted: 0, rejected: [{}, {}, {}] } });
    expect(await send("d")).toMatchObject({ status: 429 });
    const text = await (await fetch(`${server.url}/metrics`)).text();
    expect(text).toContain('sluice_ingest_rejected_messages_total{code="event_not_defined"} 3');
  });

  const LARGE = `{"batch":[],"context":{"a":"${"x".repeat(100_000)}`;
  test.each<[name: string, path: string, body: string, key: "header" | "body", times: number, code: string]>([
    ["no JSON", "/v1/batch", "{", "header", 4, "malformed_json"],
    ["nothing", "/v1/batch", "", "header", 4, "malformed_json"],
    ["no batch", "/v1/batch", "{}", "header", 4, "invalid_message"],
    ["no JSON with the key in it", "/v1/batch", '{"writeKey":"wk_of_src_slow",', "body", 4, "malformed_json"],
    [
      "no batch with the key in it",
      "/v1/batch",
      '{"writeKey":"wk_of_src_slow"}',
      "body",
      4,
      "invalid_message",
    ],
    [
      "another source's key",
      "/v1/batch",
      '{"writeKey":"wk_none","batch":[]}',
      "header",
      4,
      "invalid_write_key",
    ],
    ["a message that is too large", "/v1/track", LARGE, "header", 4, "payload_too_large"],
    ["as much as four messages", "/v1/batch", LARGE, "header", 1, "malformed_json"],
  ])("requests that are refused whole count: %s", async (_name, path, body, key, times, code) => {
    const clock = manualClock();
    server = await startIngestServer({ clock });
    await server.putSource("src_slow", { rateLimit: 4 });
    const { post } = server;
    const send = () => post(path, body, key === "body" ? {} : { authorization: basic("wk_of_src_slow") });
    for (let sent = 0; sent < times; sent++) expect((await send()).body.code).toBe(code);
    expect(await send()).toMatchObject({ status: 429, body: { code: "rate_limited" } });
    const { items } = await server.store.rejections.find({}, { limit: 10 });
    expect(items).toHaveLength(key === "body" ? 0 : times);
    await clock.advance(2_000);
    expect((await send()).body.code).toBe(code);
  });

  test("requests that the collector has no memory for do not count", async () => {
    server = await startIngestServer({ clock: manualClock(), limits: { maxBufferedBytes: 60_000 } });
    await server.putSource("src_slow", { rateLimit: 4 });
    const { post } = server;
    const send = (body: unknown) => post("/v1/batch", body, { authorization: basic("wk_of_src_slow") });
    for (let sent = 0; sent < 5; sent++)
      expect((await send({ batch: [page("m", 80_000)] })).body.code).toBe("overloaded");
    expect(await send({ batch: [page("m")] })).toMatchObject({ status: 200 });
  });

  test("a key in the body is limited as one in the header is", async () => {
    const clock = manualClock();
    server = await startIngestServer({ clock, messagesPerSecond: 1 });
    const send = (id: string) =>
      server?.post("/v1/batch", { batch: [page(id), page(`${id}x`)], writeKey: WRITE_KEY }, {});
    expect(await send("a")).toMatchObject({ status: 200 });
    expect(await send("b")).toMatchObject({ status: 429 });
  });

  test("by default a source whose key is public has a lower limit than a server source", async () => {
    server = await startIngestServer({ clock: manualClock(), messagesPerSecond: "auto" });
    for (const kind of ["web", "mobile", "server"] as const) await server.putSource(`src_${kind}`, { kind });
    const batch = Array.from({ length: 2_500 }, (_, i) => ({
      type: "page",
      userId: "u",
      messageId: `m${i}`,
    }));
    const statuses = async (kind: string): Promise<number[]> => {
      const found: number[] = [];
      for (let sent = 0; sent < 6; sent++)
        found.push(
          (
            await (server as IngestServer).post(
              "/v1/batch",
              { batch },
              { authorization: basic(`wk_of_src_${kind}`) },
            )
          ).status,
        );
      return found;
    };
    expect(await statuses("web")).toEqual([200, 200, 200, 200, 429, 429]);
    expect(await statuses("mobile")).toEqual([200, 200, 200, 200, 429, 429]);
    expect(await statuses("server")).toEqual([200, 200, 200, 200, 200, 200]);
  });

  test("off where nothing is set", async () => {
    server = await startIngestServer({ clock: manualClock() });
    const { post } = server;
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        post("/v1/batch", { batch: Array.from({ length: 500 }, (_, i) => page(`${n}-${i}`)) }),
      ),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  });
});

describe("closing", () => {
  test("a request under way is answered and stored, a new connection is refused", async () => {
    const slow = slowStore();
    server = await startIngestServer({ store: slow.store });
    const { post, port } = server;
    const under = post("/v1/page", page("m1"));
    await expect.poll(() => slow.waiting).toBe(1);
    const closing = server.closeServer(10_000);
    const refused = await new Promise((resolve) => {
      const socket = connect({ port, host: "127.0.0.1" });
      socket.on("connect", () => resolve("connected"));
      socket.on("error", ({ message }) => resolve(message));
    });
    expect(refused).toContain("ECONNREFUSED");
    slow.letGo();
    const answer = await under;
    expect(answer.status).toBe(200);
    expect(answer.headers.get("connection")).toBe("close");
    await closing;
    expect(await server.messages()).toHaveLength(1);
  });

  test("connections that are open after the grace period are closed", async () => {
    const slow = slowStore();
    server = await startIngestServer({ store: slow.store });
    const under = server.post("/v1/page", page("m1")).then(
      () => "answered",
      () => "cut",
    );
    await expect.poll(() => slow.waiting).toBe(1);
    await server.closeServer(1);
    expect(await under).toBe("cut");
    slow.letGo();
  });

  test("idle connections do not delay it", async () => {
    server = await startIngestServer();
    expect((await server.post("/v1/page", page("m1"))).status).toBe(200);
    // The connection of that request is kept alive by the client; closing ends at once all the same.
    await server.closeServer(60_000);
  });
});

describe("metrics", () => {
  test("count messages by result", async () => {
    server = await startIngestServer();
    await server.post("/v1/batch", {
      batch: [page("a"), page("b"), page("a"), { type: "track", userId: "u" }],
    });
    await server.post("/v1/batch", "{");
    const text = await (await fetch(`${server.url}/metrics`)).text();
    for (const line of [
      'sluice_ingest_messages_total{result="accepted"} 2',
      'sluice_ingest_messages_total{result="duplicate"} 1',
      'sluice_ingest_messages_total{result="rejected"} 1',
      'sluice_ingest_rejected_messages_total{code="event_not_defined"} 1',
      'sluice_http_requests_total{route="/v1/batch",status="200"} 1',
      'sluice_http_requests_total{route="/v1/batch",status="400"} 1',
      "sluice_ingest_append_seconds_count 1",
      "sluice_store_available 1",
      "sluice_ready 1",
    ])
      expect(text).toContain(`\n${line}\n`);
  });
});
