import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  basic,
  type IngestServer,
  SOURCE_ID,
  startIngestServer,
  WRITE_KEY,
} from "../ingest/ingest-server.js";

const ORIGIN = "https://shop.example.com";
const TEXT = { "content-type": "text/plain", authorization: "", origin: ORIGIN };

let server: IngestServer;
beforeEach(async () => {
  server = await startIngestServer();
  await server.putSource("other");
});
afterEach(() => server.close());

const event = (more: object = {}) => ({ type: "track", event: "E", userId: "u1", messageId: "m1", ...more });
const stored = async () => (await server.messages()).map(({ message }) => message);

describe("POST /beacon/v1/batch", () => {
  const beacon = (query: string, body: unknown, headers: Record<string, string> = {}) =>
    server.post(`/beacon/v1/batch${query}`, body, { ...TEXT, ...headers });
  const KEY = `?writeKey=${WRITE_KEY}`;

  test("takes a batch as text, with the key in the query", async () => {
    const answer = await beacon(KEY, { batch: [event()], sentAt: "2026-11-21T12:00:00.000Z" });
    expect(answer).toMatchObject({ status: 200, body: { success: true } });
    expect(answer.headers.get("access-control-allow-origin")).toBe(ORIGIN);
    expect(answer.headers.get("access-control-allow-credentials")).toBe("true");
    expect(await server.messages()).toMatchObject([{ sourceId: SOURCE_ID, message: { event: "E" } }]);
    expect(await server.metrics.render()).toContain(
      'sluice_http_requests_total{route="/beacon/v1/batch",status="200"} 1',
    );
  });

  test.each([
    ["application/json", { "content-type": "application/json" }],
    ["a form's type", { "content-type": "application/x-www-form-urlencoded" }],
    ["nonsense", { "content-type": ";;;" }],
  ])("takes a batch under %s", async (_name, headers) => {
    expect((await beacon(KEY, { batch: [event()] }, headers)).status).toBe(200);
    expect(await stored()).toHaveLength(1);
  });

  test.each<[name: string, query: string, headers?: Record<string, string>]>([
    ["the header, without a query", "", { authorization: basic(WRITE_KEY) }],
    ["the header, with an empty key", "?writeKey=", { authorization: basic(WRITE_KEY) }],
    ["the first of two", `${KEY}&writeKey=x`],
    ["percent-encoded", `?writeKey=${WRITE_KEY.replace("w", "%77")}`],
    ["the query, with a header that names nobody", KEY, { authorization: basic("wk_nobody") }],
    ["among many parameters", `?${"a=b&".repeat(1_000)}writeKey=${WRITE_KEY}`],
  ])("takes the key from %s", async (_name, query, headers = {}) => {
    expect((await beacon(query, { batch: [event()] }, headers)).status).toBe(200);
    expect(await stored()).toHaveLength(1);
  });

  test.each<[name: string, query: string, status: number, code: string]>([
    ["no key", "", 401, "invalid_write_key"],
    ["an unknown key", "?writeKey=wk_nobody", 401, "invalid_write_key"],
    ["the prototype", "?writeKey=__proto__", 401, "invalid_write_key"],
    ["NUL", "?writeKey=%00", 401, "invalid_write_key"],
    ["broken percent-encoding", "?writeKey=%E0%A4%A", 401, "invalid_write_key"],
    ["another case of the name", `?writekey=${WRITE_KEY}`, 401, "invalid_write_key"],
    ["a key of 10 KB", `?writeKey=${"x".repeat(10_000)}`, 401, "invalid_write_key"],
  ])("refuses %s, readable by the page", async (_name, query, status, code) => {
    const answer = await beacon(query, { batch: [event()] });
    expect(answer).toMatchObject({ status, body: { success: false, code } });
    expect(answer.headers.get("access-control-allow-origin")).toBe(ORIGIN);
    expect(await stored()).toEqual([]);
  });

  test("refuses an unknown key before it reads the body", async () => {
    expect((await beacon("?writeKey=wk_nobody", "x".repeat(600_000))).status).toBe(401);
  });

  test("refuses a query that is longer than all headers may be", async () => {
    expect((await fetch(`${server.url}/sourceConfig?writeKey=${"x".repeat(100_000)}`)).status).toBe(431);
    expect((await beacon(`?writeKey=${"x".repeat(100_000)}`, { batch: [] })).status).toBe(431);
  });

  test("has the limits and errors of a batch", async () => {
    expect(await beacon(KEY, "{")).toMatchObject({ status: 400, body: { code: "malformed_json" } });
    expect((await beacon(KEY, { batch: [], padding: "x".repeat(500 * 1_024) })).status).toBe(413);
    expect((await beacon(KEY, event())).status).toBe(400);
    const foreign = await beacon(KEY, { batch: [event()], writeKey: "wk_of_other" });
    expect(foreign).toMatchObject({ status: 401, body: { code: "invalid_write_key" } });
    expect((await beacon(KEY, { batch: [event({ writeKey: "wk_of_other" })] })).body).toMatchObject({
      rejected: [{ index: 0, code: "invalid_write_key" }],
    });
    expect(await stored()).toEqual([]);
  });

  test("is limited like the source's other requests", async () => {
    await server.close();
    server = await startIngestServer({ messagesPerSecond: 1 });
    const batch = [1, 2, 3].map((n) => event({ messageId: `m${n}` }));
    expect((await beacon(KEY, { batch })).status).toBe(200);
    const answer = await beacon(KEY, { batch });
    expect(answer.status).toBe(429);
    expect(answer.headers.get("retry-after")).not.toBeNull();
  });

  test("only takes POST", async () => {
    expect((await fetch(`${server.url}/beacon/v1/batch${KEY}`)).status).toBe(405);
  });
});

describe("GET /sourceConfig", () => {
  const QUERY = `?p=npm&v=3.34.1&build=modern&writeKey=${WRITE_KEY}&lockIntegrationsVersion=false`;
  const ask = (path: string, headers: Record<string, string> = {}) =>
    fetch(server.url + path, { headers: { origin: ORIGIN, ...headers } });

  test.each<[name: string, path: string, headers?: Record<string, string>]>([
    ["browsers, version 3", `/sourceConfig/${QUERY}`, { authorization: basic(WRITE_KEY) }],
    ["without a slash", `/sourceConfig${QUERY}`],
    ["mobile: the header alone", "/sourceConfig?p=android&v=1.0", { authorization: basic(WRITE_KEY) }],
  ])("answers %s", async (_name, path, headers) => {
    const answer = await ask(path, headers);
    expect(answer.status).toBe(200);
    expect(answer.headers.get("access-control-allow-origin")).toBe(ORIGIN);
    expect(answer.headers.get("cache-control")).toBe("private, max-age=120");
    expect(await answer.json()).toEqual({
      source: {
        id: SOURCE_ID,
        enabled: true,
        config: { statsCollection: { errors: { enabled: false }, metrics: { enabled: false } } },
        destinations: [],
      },
    });
  });

  test.each([
    ["no key", ""],
    ["an unknown key", "?writeKey=wk_nobody"],
    ["the prototype", "?writeKey=__proto__"],
    ["markup", "?writeKey=%3Cscript%3E"],
  ])("is a 401 for %s, readable by the page", async (_name, query) => {
    const answer = await ask(`/sourceConfig/${query}`);
    expect(answer.status).toBe(401);
    expect(answer.headers.get("access-control-allow-origin")).toBe(ORIGIN);
    expect(answer.headers.get("content-type")).toMatch(/^application\/json/);
    expect(await answer.json()).toMatchObject({ code: "invalid_write_key" });
  });

  test("allows the headers that the SDK sends", async () => {
    for (const [path, method] of [
      ["/sourceConfig/", "GET"],
      ["/beacon/v1/batch", "POST"],
      ["/v1/batch", "POST"],
    ] as const) {
      const answer = await fetch(server.url + path, {
        method: "OPTIONS",
        headers: {
          origin: ORIGIN,
          "access-control-request-method": method,
          "access-control-request-headers": "anonymousid,authorization,content-type,sentat,rsa-recovered",
        },
      });
      expect(answer.status).toBe(204);
      expect(answer.headers.get("access-control-allow-methods")).toContain(method);
      expect(answer.headers.get("access-control-allow-headers")).toContain("anonymousid");
      expect(answer.headers.get("access-control-allow-headers")).toContain("rsa-recovered");
    }
  });
});
