import type { Rejection } from "@sluice/event-log";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { LiveEvent } from "../../src/process/telemetry/live-events.js";
import { basic, type IngestServer, SOURCE_ID, startIngestServer, WRITE_KEY } from "./ingest-server.js";

let server: IngestServer;
beforeEach(async () => {
  server = await startIngestServer();
});
afterEach(() => server.close());

async function kept(): Promise<readonly Rejection[]> {
  return (await server.store.rejections.find({}, { limit: 10 })).items;
}

test.each<[string, string, string | Uint8Array, number, string, string]>([
  [
    "broken JSON",
    "/v1/batch",
    `{"batch":[{"writeKey":"${WRITE_KEY}"`,
    400,
    "malformed_json",
    '{"batch":[{"writeKey":"WRITE_KEY"',
  ],
  ["what is no batch", "/v1/batch", '{"events":[]}', 400, "invalid_message", '{"events":[]}'],
  ["a message over 32 KB", "/v1/track", `{"a":"${"x".repeat(33_000)}"}`, 413, "payload_too_large", ""],
  [
    "bytes that are not UTF-8",
    "/v1/batch",
    Buffer.from([0x7b, 0xff, 0x7d]),
    400,
    "malformed_json",
    "{\ufffd}",
  ],
])(
  "a request that is refused whole is kept for the debugger: %s",
  async (_name, path, body, status, code, excerpt) => {
    const heard: LiveEvent[] = [];
    server.live.subscribe((event) => heard.push(event));
    const answer = await server.post(path, body);
    expect(answer.status).toBe(status);
    const [rejection, ...others] = await kept();
    expect(others).toEqual([]);
    expect(rejection).toMatchObject({ sourceId: SOURCE_ID, issues: [{ code, path: "" }], excerpt });
    expect(rejection?.issues[0]?.message).toBe(answer.body.message);
    expect(heard).toEqual([{ kind: "rejected", rejection }]);
  },
);

test("no more than 4 KB of it are kept", async () => {
  await server.post("/v1/batch", `{"batch":${"[".repeat(100_000)}`);
  expect((await kept())[0]?.excerpt).toHaveLength(4_096);
});

test("a request with a wrong key is counted and not recorded", async () => {
  const body = '{"batch":[{"secret":"of somebody else"}]}';
  const answer = await server.post("/v1/batch", body, { authorization: basic(`${WRITE_KEY.slice(0, -1)}0`) });
  expect(answer.status).toBe(401);
  expect((await server.post("/v1/batch", body, {})).status).toBe(401);
  expect(await kept()).toEqual([]);
  expect(await server.metrics.render()).toContain(
    'sluice_ingest_refused_requests_total{code="invalid_write_key"} 2',
  );
});

test("a body with another source's key is recorded without its contents", async () => {
  await server.putSource("other");
  const answer = await server.post("/v1/batch", { writeKey: "wk_of_other", batch: [{ secret: "of other" }] });
  expect(answer.status).toBe(401);
  expect(await kept()).toMatchObject([{ issues: [{ code: "invalid_write_key" }], excerpt: "" }]);
});

test("a single message that is refused is kept once, with the kind that the path named", async () => {
  expect((await server.post("/v1/t", { userId: "u1", messageId: "m1" })).status).toBe(400);
  expect(await kept()).toMatchObject([
    { messageId: "m1", type: "track", issues: [{ code: "event_not_defined" }] },
  ]);
});

test("a refused message of a batch has its own kind, if it is one", async () => {
  await server.post("/v1/batch", {
    batch: [
      { type: "group", userId: "u1" },
      { type: "purchase", userId: "u1" },
    ],
  });
  expect((await kept()).map(({ type }) => type)).toEqual([undefined, "group"]);
});

test("neither other sources' write keys nor their messages are shown", async () => {
  await server.putSource("other");
  await server.post("/v1/batch", {
    batch: [{ type: "track", event: "E", userId: "u1", writeKey: "wk_of_other" }],
  });
  await server.post("/v1/batch", '{"batch":[{"writeKey" : "wk_of_other","a":1}');
  await server.post("/v1/batch", `{"batch":[{"a":"${"x".repeat(4_060)}","writeKey":"wk_of_other"`);
  const excerpts = (await kept()).map(({ excerpt }) => excerpt);
  expect(excerpts).toHaveLength(3);
  expect(excerpts.join()).not.toContain("wk_of");
  expect(excerpts[1]).toBe('{"batch":[{"writeKey" : "WRITE_KEY","a":1}');
  expect(excerpts[2]).toBe("");
});

describe("a user's deletion removes what is kept of refused messages", () => {
  const long = "x".repeat(5_000);
  test.each<[string, unknown]>([
    ["that name the user", { batch: [{ type: "track", userId: "u-1" }] }],
    [
      "that name the user after what is kept of them",
      { batch: [{ type: "track", email: long, userId: "u-1" }] },
    ],
    ["by an anonymous id", { batch: [{ type: "track", email: long, anonymousId: "u-1" }] }],
    ["with an escape in the id", '{"batch":[{"type":"track","userId":"u\\u002d1"}]}'],
    [
      "nested too deep",
      `{"batch":[{"email":"${long}","userId":"u-1","a":${"[".repeat(1_500)}${"]".repeat(1_500)}}]}`,
    ],
    ["in broken JSON", '{"batch":[{"email":"a@example.com","userId":"u-1"}'],
    ["in broken JSON, with an escape", '{"batch":[{"email":"a@example.com","userId" : "u\\u002d1"}'],
    ["in broken JSON, behind what is kept", `{"batch":[{"email":"${long}","userId":"u-1"}`],
  ])("%s", async (name, body) => {
    await server.post("/v1/batch", body);
    await server.post("/v1/batch", { batch: [{ type: "track", userId: "u-2" }] });
    expect(await kept()).toHaveLength(2);
    await server.store.purge(name === "by an anonymous id" ? { anonymousId: "u-1" } : { userId: "u-1" });
    expect(await kept()).toMatchObject([{ excerpt: '{"type":"track","userId":"u-2"}' }]);
  });

  test("whose id is a number", async () => {
    await server.post("/v1/batch", { batch: [{ type: "track", userId: 17 }] });
    await server.post("/v1/batch", '{"batch":[{"userId":17,"email":"a@example.com"}');
    await server.store.purge({ userId: "17" });
    expect(await kept()).toEqual([]);
  });
});

test.each<[string, string, unknown]>([
  ["a message", "/v1/batch", { batch: [{ type: "track", userId: "gone", email: "a@example.com" }] }],
  ["a single message", "/v1/track", { anonymousId: "gone", email: "a@example.com" }],
  ["a request", "/v1/batch", '{"batch":[{"userId":"gone","email":"a@example.com"}'],
])("of %s of a suppressed user that is refused only the fact is kept", async (_name, path, body) => {
  const strict = await startIngestServer({ suppressed: ["u:gone", "a:gone"] });
  try {
    await strict.post(path, body);
    const { items } = await strict.store.rejections.find({}, { limit: 10 });
    expect(items).toMatchObject([{ excerpt: "" }]);
    expect(JSON.stringify(items)).not.toContain("example.com");
  } finally {
    await strict.close();
  }
});
