import { request as httpRequest } from "node:http";
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from "node:zlib";
import { resolveTime } from "@sluice/protocol";
import { manualClock } from "@sluice/resilience/testing";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { basic, type IngestServer, startIngestServer, WRITE_KEY } from "../ingest/ingest-server.js";

const NOW = "2026-11-21T12:00:00.000Z";
let server: IngestServer;
beforeAll(async () => {
  server = await startIngestServer({ clock: manualClock({ startMs: Date.parse(NOW) }) });
});
afterAll(() => server.close());

let before = 0;
beforeEach(async () => {
  before = (await server.messages()).length;
});
const arrived = async () => (await server.messages()).slice(before).map(({ message }) => message);

const AUTH = { authorization: basic(WRITE_KEY) };
let ids = 0;
const id = (): string => `wire-${++ids}`;
const track = (more: object = {}) => ({ type: "track", event: "E", userId: "u1", messageId: id(), ...more });

/** Sends exactly these headers, which `fetch` would add to. */
function send(
  path: string,
  headers: Record<string, string>,
  chunks: readonly (string | Uint8Array)[],
  method = "POST",
): Promise<{ status: number; headers: Record<string, unknown>; body: unknown }> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(server.url + path, { method, headers }, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (chunk) => {
        text += chunk;
      });
      response.on("end", () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          body: text === "" ? undefined : JSON.parse(text),
        }),
      );
    });
    request.on("error", reject);
    for (const chunk of chunks) request.write(chunk);
    request.end();
  });
}

const KINDS = [
  ["identify", "i", {}],
  ["track", "t", { event: "E" }],
  ["page", "p", {}],
  ["screen", "s", {}],
  ["group", "g", { groupId: "g1" }],
  ["alias", "a", { previousId: "p1" }],
] as const;

describe("addresses", () => {
  test.each(["/v1/batch", "/v1/batch/", "/v1/import", "/v1/import/", "/v1/b", "/v1/b/"])(
    "POST %s",
    async (path) => {
      expect(await server.post(path, { batch: [track()] })).toMatchObject({
        status: 200,
        body: { success: true },
      });
      expect(await arrived()).toHaveLength(1);
    },
  );

  test.each(KINDS.flatMap(([kind, short, own]) => [kind, short].map((name) => [name, kind, own] as const)))(
    "POST /v1/%s, with and without a slash, without a type",
    async (name, kind, own) => {
      for (const path of [`/v1/${name}`, `/v1/${name}/`])
        expect((await server.post(path, { userId: "u1", messageId: id(), ...own })).status).toBe(200);
      expect((await arrived()).map(({ type }) => type)).toEqual([kind, kind]);
    },
  );

  test("the path's kind wins over the message's type", async () => {
    await server.post("/v1/page", track());
    expect(await arrived()).toMatchObject([{ type: "page" }]);
  });

  test("POST /v1/m is answered and dropped", async () => {
    expect(await server.post("/v1/m", { series: [] }, {})).toMatchObject({
      status: 200,
      body: { success: true },
    });
    expect(await arrived()).toEqual([]);
  });

  test("a query string changes nothing", async () => {
    expect((await server.post("/v1/batch?verbose=1", { batch: [track()] })).status).toBe(200);
  });
});

describe("bodies", () => {
  const json = (): string => JSON.stringify({ batch: [track({ properties: { text: "ü 🎈" } })] });

  test.each<[name: string, headers: Record<string, string>]>([
    ["no content type at all (C#)", {}],
    ["text/plain (browser)", { "content-type": "text/plain" }],
    ["text/plain with charset", { "content-type": "text/plain;charset=UTF-8" }],
    ["a form's type", { "content-type": "application/x-www-form-urlencoded" }],
    ["another charset's name", { "content-type": "application/json; charset=iso-8859-1" }],
    ["multipart's type", { "content-type": "multipart/form-data; boundary=x" }],
    ["nonsense", { "content-type": ";;;" }],
  ])("are JSON under %s", async (_name, headers) => {
    expect((await send("/v1/batch", { ...AUTH, ...headers }, [json()])).status).toBe(200);
    expect(await arrived()).toMatchObject([{ properties: { text: "ü 🎈" } }]);
  });

  test.each<[name: string, encoding: string | undefined, pack: (text: string) => Buffer]>([
    ["gzip", "gzip", gzipSync],
    ["x-gzip", "x-gzip", gzipSync],
    ["GZIP", "GZIP", gzipSync],
    [
      "gzip of two members",
      "gzip",
      (text) => Buffer.concat([gzipSync(text.slice(0, 9)), gzipSync(text.slice(9))]),
    ],
    ["gzip that nobody mentions", undefined, gzipSync],
    ["deflate, zlib's format", "deflate", deflateSync],
    ["deflate, the bare stream", "deflate", deflateRawSync],
    ["br", "br", brotliCompressSync],
    ["identity", "identity", (text) => Buffer.from(text)],
  ])("are unpacked: %s", async (_name, encoding, pack) => {
    const headers = {
      ...AUTH,
      "content-type": "application/x-www-form-urlencoded",
      ...(encoding === undefined ? {} : { "content-encoding": encoding }),
    };
    expect((await send("/v1/batch", headers, [pack(json())])).status).toBe(200);
    expect(await arrived()).toMatchObject([{ properties: { text: "ü 🎈" } }]);
  });

  test("are put together from chunks that cut through characters", async () => {
    const bytes = Buffer.from(json());
    const chunks = Array.from({ length: Math.ceil(bytes.length / 3) }, (_, i) =>
      bytes.subarray(3 * i, 3 * i + 3),
    );
    expect((await send("/v1/batch", { ...AUTH, "transfer-encoding": "chunked" }, chunks)).status).toBe(200);
    expect(await arrived()).toMatchObject([{ properties: { text: "ü 🎈" } }]);
  });

  test("may begin with a byte order mark and white space", async () => {
    expect((await server.post("/v1/batch", `\ufeff \r\n\t${json()}\n`)).status).toBe(200);
    expect(await arrived()).toHaveLength(1);
  });

  test("a write key after half a megabyte of batch is found", async () => {
    const batch = Array.from({ length: 1_000 }, () => track({ properties: { fill: "x".repeat(380) } }));
    const body = JSON.stringify({ batch, sentAt: NOW, writeKey: WRITE_KEY });
    expect(body.length).toBeGreaterThan(450_000);
    expect((await server.post("/v1/batch", body, {})).body).toEqual({ success: true, accepted: 1_000 });
  });

  test("a write key in each message (browser, one message each)", async () => {
    const body = { ...track(), writeKey: WRITE_KEY };
    expect((await server.post("/v1/t", body, { "content-type": "text/plain" })).status).toBe(200);
    expect(JSON.stringify(await arrived())).not.toContain(WRITE_KEY);
  });
});

describe("messages", () => {
  test.each<[name: string, sent: object, stored: object, path?: string]>([
    [
      "PHP: [] for {}",
      { batch: [track({ properties: [], context: [], integrations: [], traits: [] })] },
      { properties: {}, context: {}, integrations: {}, traits: {} },
    ],
    [
      "null for whatever is optional",
      {
        batch: [
          track({ anonymousId: null, properties: null, context: null, integrations: null, timestamp: null }),
        ],
      },
      { event: "E" },
    ],
    [
      "nulls on the envelope",
      { batch: [track()], context: null, integrations: null, sentAt: null },
      { event: "E" },
    ],
    [
      "Go: context and library on the batch",
      { batch: [track({ context: { ip: "9.9.9.9" } })], context: { library: { name: "analytics-go" } } },
      { context: { ip: "9.9.9.9", library: { name: "analytics-go" } } },
    ],
    [
      "integrations on the batch, under the message's own",
      { batch: [track({ integrations: { Webhooks: true } })], integrations: { All: false, Webhooks: false } },
      { integrations: { All: false, Webhooks: true } },
    ],
    [
      "Go: a page's traits",
      { batch: [{ ...track(), type: "page", traits: { url: "/" } }] },
      { properties: { url: "/" } },
    ],
    ["a numeric userId", { batch: [track({ userId: 42 })] }, { userId: "42" }],
    [
      "unknown fields travel on",
      { batch: [track({ channel: "s2s", _metadata: { a: [] } })] },
      { channel: "s2s", _metadata: { a: [] } },
    ],
    ["sentAt on the envelope", { batch: [track()], sentAt: NOW }, { sentAt: NOW }],
    [
      "sentAt on the message",
      { batch: [track({ sentAt: NOW })], sentAt: "2001-01-01T00:00:00Z" },
      { sentAt: NOW },
    ],
  ])("%s", async (_name, sent, stored) => {
    expect(await server.post("/v1/batch", sent)).toMatchObject({ status: 200, body: { accepted: 1 } });
    expect(await arrived()).toMatchObject([stored]);
  });

  test("integers beyond 2^53 keep their digits", async () => {
    const digits = "123456789012345678901234567890";
    const body = `{"batch":[{"type":"track","event":"E","userId":${digits},"messageId":"${id()}","properties":{"id":${digits},"neg":-9007199254740993,"list":[18446744073709551615],"small":7,"x":1e400,"half":0.5}}]}`;
    expect((await server.post("/v1/batch", body)).status).toBe(200);
    const [message] = await arrived();
    expect(message?.userId).toBe(digits);
    expect(JSON.stringify(message?.properties)).toBe(
      `{"id":${digits},"neg":-9007199254740993,"list":[18446744073709551615],"small":7,"x":1e400,"half":0.5}`,
    );
  });

  test.each<[name: string, times: object, iso: string]>([
    ["only originalTimestamp", { originalTimestamp: "2026-11-21T11:59:58.000Z" }, "2026-11-21T11:59:58.000Z"],
    ["+0000", { timestamp: "2026-11-21T12:59:58.123+0100" }, "2026-11-21T11:59:58.123Z"],
    [
      "+00:00 and microseconds (Python)",
      { timestamp: "2026-11-21T11:59:58.123456+00:00" },
      "2026-11-21T11:59:58.123Z",
    ],
    ["nanoseconds (Go)", { timestamp: "2026-11-21T11:59:58.123456789Z" }, "2026-11-21T11:59:58.123Z"],
    ["whole seconds (PHP)", { timestamp: "2026-11-21T11:59:58Z" }, "2026-11-21T11:59:58.000Z"],
    ["none", {}, NOW],
    ["nonsense", { timestamp: "0x17" }, NOW],
    [
      "a clock that is ahead",
      { originalTimestamp: "2026-11-21T14:00:00Z", sentAt: "2026-11-21T14:00:02Z" },
      "2026-11-21T11:59:58.000Z",
    ],
  ])("time: %s", async (_name, times, iso) => {
    expect((await server.post("/v1/batch", { batch: [track(times)] })).status).toBe(200);
    const [message] = await arrived();
    expect(new Date(resolveTime(message ?? {}, Date.parse(NOW))).toISOString()).toBe(iso);
    // What the client said is stored as it said it.
    expect(message).toMatchObject(times);
  });

  test("1,000 messages in one batch", async () => {
    const batch = Array.from({ length: 1_000 }, () => track());
    expect((await server.post("/v1/batch", { batch })).body).toEqual({ success: true, accepted: 1_000 });
    expect(await arrived()).toHaveLength(1_000);
  });
});

// As their sources write them.
describe("RudderStack's SDKs without JavaScript", () => {
  const time = "2026-11-21T11:59:58.123456+00:00";
  const message = { type: "track", event: "E", userId: "u1", anonymousId: "u1", channel: "server" };
  const library = (name: string) => ({ context: { library: { name, version: "4.2.0" } } });

  test.each<[name: string, headers: Record<string, string>, batch: object, isPacked: boolean]>([
    ["Ruby", { accept: "application/json" }, { batch: [{ ...message, timestamp: time }] }, true],
    [
      "Python",
      { "user-agent": "analytics-python/2.1.4" },
      { batch: [{ ...message, integrations: {}, timestamp: time, properties: {} }], sentAt: time },
      false,
    ],
    [
      "Go",
      { "rs-targetnode": "0", "rs-nodecount": "1", "rs-useragent": "serverSDK" },
      {
        batch: [
          { ...message, ...library("analytics-go"), originalTimestamp: "2026-11-21T11:59:58.123456789Z" },
        ],
        sentAt: "2026-11-21T11:59:58.123456789Z",
        ...library("analytics-go"),
      },
      true,
    ],
    [
      "Android, also in React Native",
      { anonymousid: "dTE=" },
      {
        sentAt: "2026-11-21T11:59:58.123Z",
        batch: [{ ...message, channel: "mobile", integrations: { All: true }, userProperties: null }],
      },
      true,
    ],
  ])("%s", async (_name, headers, { batch, ...envelope }: { batch?: object[] }, isPacked) => {
    const body = JSON.stringify({ ...envelope, batch: batch?.map((it) => ({ ...it, messageId: id() })) });
    const packed = isPacked ? { "content-encoding": "gzip" } : {};
    const all = { ...AUTH, "content-type": "application/json", ...headers, ...packed };
    expect(await send("/v1/batch", all, [isPacked ? gzipSync(body) : body])).toMatchObject({
      status: 200,
      body: { success: true, accepted: 1 },
    });
    expect(await arrived()).toMatchObject([{ event: "E", userId: "u1", anonymousId: "u1" }]);
  });

  test("the configuration for Android, with the key in the header", async () => {
    const path = "/sourceConfig?p=android&v=1.26.0&bv=34";
    expect(await send(path, AUTH, [], "GET")).toMatchObject({
      status: 200,
      body: { source: { enabled: true, destinations: [] } },
    });
  });
});

describe("context.ip", () => {
  test.each<[name: string, context: object, ip: string | undefined]>([
    ["context.direct", { direct: true }, "127.0.0.1"],
    ["Segment's browser SDK", { library: { name: "analytics.js", version: "next-1.84.3" } }, "127.0.0.1"],
    ["an address of its own", { direct: true, ip: "9.9.9.9" }, "9.9.9.9"],
    ["a null address", { direct: true, ip: null }, "127.0.0.1"],
    ["a server's SDK", { library: { name: "analytics-node" } }, undefined],
    ["direct as text", { direct: "true" }, undefined],
    ["nothing", {}, undefined],
  ])("%s", async (_name, context, ip) => {
    await server.post("/v1/batch", { batch: [track({ context })] });
    const [message] = await arrived();
    expect((message?.context as { ip?: string } | undefined)?.ip).toBe(ip);
  });

  test("is filled for those messages of a batch that want it", async () => {
    await server.post("/v1/batch", {
      batch: [track({ context: { direct: true } }), track({ context: {} }), track()],
    });
    expect((await arrived()).map(({ context }) => context)).toEqual([
      { direct: true, ip: "127.0.0.1" },
      {},
      undefined,
    ]);
  });
});

describe("answers", () => {
  test.each<
    [name: string, path: string, body: string, headers: Record<string, string>, status: number, code: string]
  >([
    ["no JSON", "/v1/batch", "{", AUTH, 400, "malformed_json"],
    ["nothing", "/v1/batch", "", AUTH, 400, "malformed_json"],
    ["no batch", "/v1/batch", "{}", AUTH, 400, "invalid_message"],
    ["an invalid message", "/v1/track", "{}", AUTH, 400, "invalid_message"],
    ["no key", "/v1/batch", '{"batch":[]}', {}, 401, "invalid_write_key"],
    ["a wrong key", "/v1/batch", '{"batch":[]}', { authorization: basic("x") }, 401, "invalid_write_key"],
    ["too large", "/v1/track", `{"event":"${"x".repeat(40_000)}"}`, AUTH, 413, "payload_too_large"],
    ["no such address", "/v1/nothing", "{}", AUTH, 404, "not_found"],
    [
      "an unknown encoding",
      "/v1/batch",
      "{}",
      { ...AUTH, "content-encoding": "zstd" },
      415,
      "unsupported_encoding",
    ],
  ])("%s: code and message are always there", async (_name, path, body, headers, status, code) => {
    const answer = await server.post(path, body, headers);
    expect(answer.status).toBe(status);
    expect(answer.body).toEqual(
      expect.objectContaining({ success: false, code, message: expect.any(String) }),
    );
    expect(answer.headers.get("content-type")).toBe("application/json");
  });

  test.each(["GET", "PUT", "DELETE", "PATCH"])(
    "%s on an ingestion address is a 405 that says what is allowed",
    async (method) => {
      const answer = await send("/v1/batch", AUTH, [], method);
      expect(answer).toMatchObject({
        status: 405,
        headers: { allow: "POST, OPTIONS" },
        body: { success: false, code: "method_not_allowed" },
      });
    },
  );
});

describe("browsers", () => {
  const ORIGIN = "https://shop.example.com";
  const PATHS = ["batch", "import", "b", "m", ...KINDS.flatMap(([kind, short]) => [kind, short] as const)];

  test.each([
    ...PATHS.map((name) => `/v1/${name}`),
    "/v1/projects/x/settings",
    "/v1/pixel/track",
    "/v1/batch/",
  ])("preflight of %s", async (path) => {
    const { status, headers } = await send(
      path,
      {
        origin: ORIGIN,
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization,content-type,x-custom",
      },
      [],
      "OPTIONS",
    );
    expect(status).toBe(204);
    expect(headers["access-control-allow-origin"]).toBe(ORIGIN);
    const allowed = String(headers["access-control-allow-headers"]).split(/, ?/);
    expect(allowed).toEqual(
      expect.arrayContaining(["authorization", "content-type", "x-retry-count", "x-custom"]),
    );
    expect(Number(headers["access-control-max-age"])).toBeGreaterThanOrEqual(3_600);
    expect(String(headers["access-control-allow-methods"])).toMatch(/POST|GET/);
    expect(String(headers.vary)).toContain("Origin");
  });

  test.each<[name: string, path: string, body: string, headers: Record<string, string>]>([
    ["200", "/v1/batch", '{"batch":[]}', AUTH],
    ["400", "/v1/batch", "{", AUTH],
    ["401", "/v1/batch", "{}", {}],
    ["413", "/v1/track", " ".repeat(40_000), AUTH],
    ["415", "/v1/track", "{}", { ...AUTH, "content-encoding": "zstd" }],
  ])("a %s can be read by the page", async (status, path, body, headers) => {
    const answer = await server.post(path, body, { ...headers, origin: ORIGIN });
    expect(answer.status).toBe(Number(status));
    expect(answer.headers.get("access-control-allow-origin")).toBe(ORIGIN);
    expect(answer.headers.get("access-control-expose-headers")).toContain("Retry-After");
  });

  test("405 and 503 can be read by the page", async () => {
    const wrong = await send("/v1/batch", { origin: ORIGIN }, [], "GET");
    expect(wrong).toMatchObject({ status: 405, headers: { "access-control-allow-origin": ORIGIN } });
    server.store.breakDown("full");
    const answer = await server.post("/v1/batch", { batch: [] }, { ...AUTH, origin: ORIGIN });
    server.store.repair();
    expect(answer.status).toBe(503);
    expect(answer.headers.get("access-control-allow-origin")).toBe(ORIGIN);
  });

  test("the settings name this collector as the only destination", async () => {
    const response = await fetch(`${server.url}/v1/projects/${WRITE_KEY}/settings`);
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({
      integrations: {
        "Segment.io": { apiKey: WRITE_KEY, apiHost: `127.0.0.1:${server.port}/v1`, protocol: "http" },
      },
    });
  });

  test("the settings of an unknown key are a 401", async () => {
    const response = await fetch(`${server.url}/v1/projects/wk_nobody/settings`);
    expect(response.status).toBe(401);
    expect(await response.json()).toMatchObject({ code: "invalid_write_key" });
  });

  test.each<[name: string, query: string, stored: number]>([
    [
      "good",
      `?data=${Buffer.from(JSON.stringify({ event: "E", userId: "u", writeKey: WRITE_KEY })).toString("base64url")}`,
      1,
    ],
    [
      "plain base64",
      `?data=${Buffer.from(JSON.stringify({ event: "E>>>???", userId: "u", writeKey: WRITE_KEY })).toString("base64")}`,
      1,
    ],
    ["no data", "", 0],
    ["no base64", "?data=%%%", 0],
    ["no JSON", "?data=e30x", 0],
    [
      "an invalid message",
      `?data=${Buffer.from(JSON.stringify({ writeKey: WRITE_KEY })).toString("base64url")}`,
      0,
    ],
    [
      "a wrong key",
      `?data=${Buffer.from('{"event":"E","userId":"u","writeKey":"x"}').toString("base64url")}`,
      0,
    ],
  ])("the pixel is always an image: %s", async (_name, query, stored) => {
    const response = await fetch(`${server.url}/v1/pixel/track${query}`);
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe("image/gif");
    expect(Buffer.from(await response.arrayBuffer()).toString("latin1", 0, 6)).toBe("GIF89a");
    expect(await arrived()).toHaveLength(stored);
  });

  test("the pixel of an unknown kind is an image too", async () => {
    expect((await fetch(`${server.url}/v1/pixel/nothing`)).status).toBe(200);
  });
});
