import { manualClock } from "@sluice/resilience/testing";
import { afterEach, beforeEach, expect, test } from "vitest";
import { basic, type IngestServer, SOURCE_ID, startIngestServer, WRITE_KEY } from "./ingest-server.js";

let server: IngestServer;
beforeEach(async () => {
  server = await startIngestServer();
});
afterEach(() => server.close());

const track = (messageId: string, more: object = {}) => ({
  type: "track",
  event: "Order Completed",
  userId: "u1",
  messageId,
  ...more,
});

test("a good batch is answered 200 with a JSON object and is in the log", async () => {
  const answer = await server.post("/v1/batch", { batch: [track("m1"), track("m2")] });
  expect(answer.status).toBe(200);
  expect(answer.headers.get("content-type")).toBe("application/json");
  expect(answer.body).toEqual({ success: true, accepted: 2 });
  const messages = await server.messages();
  expect(messages.map(({ messageId, sourceId }) => [messageId, sourceId])).toEqual([
    ["m1", SOURCE_ID],
    ["m2", SOURCE_ID],
  ]);
});

test("refused messages are named and the good ones are stored", async () => {
  const answer = await server.post("/v1/batch", {
    batch: [
      track("m1"),
      { type: "track", userId: "u1", messageId: "no-event" },
      7,
      { type: "identify", messageId: "nobody" },
      track("m5"),
    ],
  });
  expect(answer.status).toBe(200);
  expect(answer.body).toMatchObject({ success: true, accepted: 2 });
  expect(answer.body.rejected).toMatchObject([
    { index: 1, messageId: "no-event", code: "event_not_defined" },
    { index: 2, code: "not_an_object" },
    { index: 3, messageId: "nobody", code: "no_user_anon_id" },
  ]);
  expect((await server.messages()).map(({ messageId }) => messageId)).toEqual(["m1", "m5"]);
});

test("refused messages are kept for the debugger, with reasons, without the write key", async () => {
  const heard: unknown[] = [];
  server.live.subscribe((event) => heard.push(event));
  await server.post("/v1/batch", {
    batch: [{ type: "track", userId: "u1", messageId: "no-event", writeKey: WRITE_KEY }],
  });
  const { items } = await server.store.rejections.find({ messageId: "no-event" }, { limit: 10 });
  expect(items).toMatchObject([
    { sourceId: SOURCE_ID, issues: [{ code: "event_not_defined", path: "event" }] },
  ]);
  expect(items[0]?.excerpt).toContain('"userId":"u1"');
  expect(items[0]?.excerpt).not.toContain(WRITE_KEY);
  expect(heard).toEqual([{ kind: "rejected", rejection: items[0] }]);
});

test("duplicates are answered 200 and counted", async () => {
  await server.post("/v1/batch", { batch: [track("m1")] });
  const again = await server.post("/v1/batch", { batch: [track("m1"), track("m2"), track("m2")] });
  expect(again.body).toEqual({ success: true, accepted: 3, duplicates: 2 });
  expect((await server.messages()).map(({ messageId }) => messageId)).toEqual(["m1", "m2"]);
});

test("a single message's kind comes from the path, and an invalid one is a 400", async () => {
  const good = await server.post("/v1/track", { event: "E", userId: "u1", messageId: "m1" });
  expect(good).toMatchObject({ status: 200, body: { success: true, accepted: 1 } });
  const bad = await server.post("/v1/track", { userId: "u1", messageId: "m2" });
  expect(bad).toMatchObject({ status: 400, body: { success: false, code: "invalid_message" } });
  expect(bad.body.message).toContain("event_not_defined");
  expect(await server.messages()).toMatchObject([{ messageId: "m1", message: { type: "track" } }]);
});

test("an empty batch is a 200", async () => {
  expect(await server.post("/v1/batch", { batch: [] })).toMatchObject({ status: 200, body: { accepted: 0 } });
});

test("a message without an id gets one, and keeps it", async () => {
  await server.post("/v1/batch", { batch: [track(""), { type: "page", userId: "u1", messageId: null }] });
  const ids = (await server.messages()).map(({ messageId }) => messageId);
  expect(ids).toHaveLength(2);
  for (const id of ids) expect(id).toMatch(/^[0-9a-f-]{36}$/);
  expect((await server.messages()).map(({ messageId }) => messageId)).toEqual(ids);
});

test("a store that cannot write is a 503 with Retry-After, and nothing is kept", async () => {
  await server.close();
  const clock = manualClock();
  let freeBytes = 0;
  server = await startIngestServer({ clock, readDisk: async () => ({ freeBytes, totalBytes: 2 ** 40 }) });
  const isReady = async () => (await fetch(`${server.url}/readyz`)).status === 200;
  server.store.breakDown("no space left on device");
  const answer = await server.post("/v1/batch", { batch: [track("m1")] });
  expect(answer).toMatchObject({ status: 503, body: { success: false, code: "storage_unavailable" } });
  expect(answer.headers.get("retry-after")).toBe("1");
  server.store.repair();
  // The failure was between two questions.
  const unready = await fetch(`${server.url}/readyz`);
  expect([unready.status, await unready.json()]).toEqual([
    503,
    { status: "not ready", reason: expect.stringContaining("storage_unavailable") },
  ]);
  await clock.advance(9_999);
  expect(await isReady()).toBe(false);
  await clock.advance(1);
  expect(await isReady()).toBe(false);
  freeBytes = 1e9;
  expect(await isReady()).toBe(true);
  expect(await server.metrics.render()).toContain(
    'sluice_ingest_refused_requests_total{code="storage_unavailable"} 1',
  );
  expect((await server.post("/v1/batch", { batch: [track("m1")] })).body).toEqual({
    success: true,
    accepted: 1,
  });
  expect(await isReady()).toBe(true);
});

test("an outage of the store is two lines of the log, however many requests it refuses", async () => {
  server.store.breakDown("no space left on device");
  for (let n = 0; n < 3; n++) await server.post("/v1/batch", { batch: [track(`m${n}`)] });
  server.store.repair();
  for (let n = 0; n < 2; n++) await server.post("/v1/batch", { batch: [track(`m${n}`)] });
  const told = server.logged.map((line) => JSON.parse(line)).filter(({ level }) => level !== "debug");
  expect(told).toMatchObject([
    {
      level: "error",
      msg: "messages are refused: the log cannot be written",
      reason: expect.stringContaining("no space left on device"),
    },
    { level: "warn", msg: "messages are stored again", refusedRequests: 3 },
  ]);
});

test.each<[name: string, headers: Record<string, string>, body: object, status: number]>([
  ["Basic with colon", { authorization: basic(WRITE_KEY) }, {}, 200],
  ["Basic without colon", { authorization: `Basic ${btoa(WRITE_KEY)}` }, {}, 200],
  ["Basic with a password", { authorization: `Basic ${btoa(`${WRITE_KEY}:secret`)}` }, {}, 200],
  ["lower-case scheme", { authorization: `basic ${btoa(`${WRITE_KEY}:`)}` }, {}, 200],
  ["only the body's key", {}, { writeKey: WRITE_KEY }, 200],
  ["header and body agree", { authorization: basic(WRITE_KEY) }, { writeKey: WRITE_KEY }, 200],
  ["header and body disagree", { authorization: basic(WRITE_KEY) }, { writeKey: "wk_other" }, 401],
  ["an empty user name with a body key", { authorization: basic("") }, { writeKey: WRITE_KEY }, 200],
  ["another scheme with a body key", { authorization: "Bearer x" }, { writeKey: WRITE_KEY }, 200],
  ["no key", {}, {}, 401],
  ["unknown key", { authorization: basic("wk_nobody") }, {}, 401],
  ["unknown key in the body", {}, { writeKey: "wk_nobody" }, 401],
  ["a key that is no text", {}, { writeKey: 7 }, 401],
  ["near miss", { authorization: basic(WRITE_KEY.slice(0, -1)) }, {}, 401],
  ["other case", { authorization: basic(WRITE_KEY.toUpperCase()) }, {}, 401],
  ["a blank behind", { authorization: basic(`${WRITE_KEY} `) }, {}, 401],
])("write key: %s", async (_name, headers, body, status) => {
  const answer = await server.post("/v1/batch", { batch: [track("m1")], ...body }, headers);
  expect(answer.status).toBe(status);
  if (status === 401) expect(answer.body).toMatchObject({ success: false, code: "invalid_write_key" });
  expect(await server.messages()).toHaveLength(status === 200 ? 1 : 0);
});

test("a key in the messages alone is enough, and a message of another source's key is refused", async () => {
  await server.putSource("src_other");
  const answer = await server.post(
    "/v1/batch",
    {
      batch: [
        track("m1"),
        track("m2", { writeKey: WRITE_KEY }),
        track("m3", { writeKey: "wk_of_src_other" }),
      ],
    },
    {},
  );
  expect(answer.body).toMatchObject({ accepted: 2, rejected: [{ index: 2, code: "invalid_write_key" }] });
  expect((await server.messages()).map(({ sourceId }) => sourceId)).toEqual([SOURCE_ID, SOURCE_ID]);
});

test("no message leaves the log with a write key in it", async () => {
  await server.post("/v1/track", { event: "E", userId: "u1", writeKey: WRITE_KEY }, {});
  expect(JSON.stringify(await server.messages())).not.toContain(WRITE_KEY);
});

test("a key that was just made works at once, and one that was deleted does not", async () => {
  await server.putSource("src_new");
  const send = () =>
    server.post("/v1/batch", { batch: [track("m1")] }, { authorization: basic("wk_of_src_new") });
  expect((await send()).status).toBe(200);
  await server.putSource("src_new", { writeKeys: [] });
  expect((await send()).status).toBe(401);
});

test("sizes: 32,768 bytes are taken and one more is not, alone and in a batch", async () => {
  const sized = (bytes: number, id: string) => {
    const empty = JSON.stringify(track(id, { properties: { fill: "" } }));
    return JSON.stringify(
      track(id, { properties: { fill: "é".repeat(9) + "x".repeat(bytes - empty.length - 18) } }),
    );
  };
  expect(Buffer.byteLength(sized(32_768, "m1"))).toBe(32_768);
  expect((await server.post("/v1/track", sized(32_768, "m1"))).status).toBe(200);
  expect(await server.post("/v1/track", sized(32_769, "m2"))).toMatchObject({
    status: 413,
    body: { code: "payload_too_large" },
  });
  const batch = await server.post(
    "/v1/batch",
    `{"batch":[ ${sized(32_768, "m3")} ,\n ${sized(32_769, "m4")}\t]}`,
  );
  expect(batch.body).toMatchObject({
    accepted: 1,
    rejected: [{ index: 1, messageId: "m4", code: "message_too_large" }],
  });
});

test("sizes: 512,000 bytes of batch are taken, one more is not; 2,500 messages are taken, one more is not", async () => {
  const sized = (bytes: number) => {
    const head = JSON.stringify({
      batch: Array.from({ length: 20 }, (_, i) => track(`${bytes}-${i}`)),
    }).slice(0, -1);
    return `${head}${" ".repeat(bytes - head.length - 1)}}`;
  };
  expect(sized(512_000)).toHaveLength(512_000);
  expect((await server.post("/v1/batch", sized(512_000))).status).toBe(200);
  expect(await server.post("/v1/batch", sized(512_001))).toMatchObject({
    status: 413,
    body: { code: "payload_too_large" },
  });
  const many = (count: number) => ({
    batch: Array.from({ length: count }, (_, i) => ({
      type: "page",
      userId: "u",
      messageId: `p${count}-${i}`,
    })),
  });
  expect((await server.post("/v1/batch", many(2_500))).body).toEqual({ success: true, accepted: 2_500 });
  expect((await server.post("/v1/batch", many(2_501))).status).toBe(413);
});

test("a source of the other region is told where to go", async () => {
  await server.close();
  server = await startIngestServer({ regionUrls: { dublin: "https://eu.example.com" } });
  await server.putSource("src_eu", { region: "dublin" });
  const answer = await server.post(
    "/v1/batch",
    { batch: [track("m1")] },
    { authorization: basic("wk_of_src_eu") },
  );
  expect(answer).toMatchObject({
    status: 421,
    body: { success: false, code: "wrong_region", region: "dublin", url: "https://eu.example.com" },
  });
  expect(await server.messages()).toEqual([]);
});
