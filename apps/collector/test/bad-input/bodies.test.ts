import { afterAll, beforeAll, expect, test } from "vitest";
import {
  basic,
  type IngestServer,
  SOURCE_ID,
  startIngestServer,
  WRITE_KEY,
} from "../ingest/ingest-server.js";
import { BODY_CASES } from "./bodies.js";

let server: IngestServer;
beforeAll(async () => {
  server = await startIngestServer();
  await server.putSource("src_other");
});
afterAll(() => server.close());

/** Responses must not show internals. */
const STACK = /\bat .*:\d+:\d+|node:internal|\.ts:|\.js:|\/apps\/|\/src\//;

test("there are at least 250 cases", () => {
  expect(BODY_CASES.length).toBeGreaterThanOrEqual(250);
});

test.each(BODY_CASES.map((body) => [body.name, body] as const))("%s", async (_name, input) => {
  const before = (await server.messages()).length;
  const answer = await server.post(input.path ?? "/v1/batch", input.body, {
    authorization: basic(WRITE_KEY),
    ...input.headers,
  });
  const { status, body } = answer;
  expect([status, body.code]).toEqual([input.status, input.code]);
  expect(JSON.stringify(body)).not.toMatch(STACK);
  if (status !== 200) expect(body).toMatchObject({ success: false, message: expect.any(String) });
  const rejected = (body.rejected ?? []) as { index: number; code: string; message: string }[];
  expect(Object.fromEntries(rejected.map(({ index, code }) => [index, code]))).toEqual(input.rejected ?? {});
  for (const { message } of rejected) expect(message).not.toBe("");

  const after = (await server.messages()).slice(before);
  expect(after.length).toBe(input.stored ?? 0);
  if (status === 200) expect(body.accepted).toBe(input.stored ?? 0);
  // Whatever a message says, the write key alone decides whose it is; and everything stored can be written again.
  for (const { sourceId, message } of after) {
    expect(sourceId).toBe(SOURCE_ID);
    expect(JSON.parse(JSON.stringify(message))).toMatchObject({ type: message.type });
  }
  // The next request is served, whatever came before.
  expect((await server.post("/v1/page", { userId: "u1" })).status).toBe(200);
});

test("nothing was logged as an error, and no prototype was changed", () => {
  expect(server.logged.filter((line) => line.includes('"level":"error"'))).toEqual([]);
  expect(Object.keys(Object.prototype)).toEqual([]);
  expect(({} as { isAdmin?: unknown }).isAdmin).toBeUndefined();
});

test("hostile ids are found by exactly their own text", async () => {
  for (const id of [
    "__proto__",
    "'; DROP TABLE messages; --",
    "\u0000",
    "\ud800",
    " ",
    "🎈".repeat(49),
    "%",
    "_",
  ]) {
    const { items } = await server.store.log.find({ messageId: id }, { limit: 10 });
    expect(items.map(({ messageId, message }) => [messageId, message.userId])).toEqual([[id, id]]);
  }
});
