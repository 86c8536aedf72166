import { gzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { basic, type IngestServer, startIngestServer, WRITE_KEY } from "./ingest-server.js";

let server: IngestServer;
beforeEach(async () => {
  server = await startIngestServer();
});
afterEach(async () => {
  vi.restoreAllMocks();
  await server.close();
});

/** The longest text that was parsed while `act` ran. */
async function longestParsed(act: () => Promise<unknown>): Promise<number> {
  const parse = vi.spyOn(JSON, "parse");
  await act();
  const longest = Math.max(0, ...parse.mock.calls.map(([text]) => String(text).length));
  parse.mockRestore();
  return longest;
}

const KB = 1_024;
const filled = (head: string, unit: string, tail: string, bytes = 500_000): string =>
  head + unit.repeat(Math.floor((bytes - head.length - tail.length) / unit.length)) + tail;
/** Bodies that unpack to half a megabyte, and take long to parse. */
const BOMBS: readonly [name: string, text: string][] = [
  ["brackets", filled('{"batch":[{"x":[', "[],", "0]}]}")],
  ["numbers after one that a double cannot hold", filled('{"batch":[{"x":[1e999,', "1,", "0]}]}")],
  ["numbers that a double cannot hold", filled('{"batch":[{"x":[', "1e999,", "0]}]}")],
  ["nesting", filled('{"batch":[', "[", "", 250_000) + filled("", "]", "]}", 250_000)],
  ["a context", filled('{"context":{"x":[', "1,", '0]},"batch":[{}]}')],
  ["fields", filled('{"batch":[{', '"a":1,', '"b":1}]}')],
];

describe.each(BOMBS)("half a megabyte of %s", (_name, text) => {
  const post = (headers: Record<string, string>, body: string = text): Promise<unknown> =>
    server.post("/v1/batch", gzipSync(body), { "content-encoding": "gzip", ...headers });

  test("is not parsed without a valid key, wherever the key is", async () => {
    const withKey = text.replace("{", '{"writeKey":"nobody",');
    let answers: unknown[] = [];
    const longest = await longestParsed(async () => {
      answers = [await post({}), await post({}, withKey), await post({ authorization: basic("nobody") })];
    });
    expect(answers).toMatchObject(answers.map(() => ({ status: 401, body: { code: "invalid_write_key" } })));
    // The answers are parsed, by this test.
    expect(longest).toBeLessThan(KB);
  });

  test("is not parsed at once with a valid key", async () => {
    const longest = await longestParsed(() => post({ authorization: basic(WRITE_KEY) }));
    expect(longest).toBeLessThanOrEqual(32 * KB);
  });
});

test("messages that take long to parse are parsed in many turns of the event loop", async () => {
  // Without ids, which have to be made.
  const item = filled('{"type":"page","userId":"u","properties":{"x":[1e999,', "1,", "1]}}", 32_000);
  const body = `{"batch":[${Array.from({ length: 14 }, () => item).join(",")}]}`;
  // Warm up: the connection, and what is made once.
  await server.post("/v1/batch", `{"batch":[${item}]}`);
  let turns = 0;
  const parsedIn = new Set<number>();
  let isDone = false;
  const count = (): void => {
    if (isDone) return;
    turns++;
    setImmediate(count);
  };
  const original = JSON.parse;
  const parse = vi.spyOn(JSON, "parse").mockImplementation((...args) => {
    parsedIn.add(turns);
    return original(...args);
  });
  count();
  const answer = await server.post("/v1/batch", body);
  isDone = true;
  parse.mockRestore();
  expect(answer).toMatchObject({ status: 200, body: { accepted: 14 } });
  expect(parsedIn.size).toBeGreaterThanOrEqual(14);
});

test("a body with its key is accepted, however it is written", async () => {
  const page = { type: "page", userId: "u" };
  for (const body of [
    { batch: [page], writeKey: WRITE_KEY },
    { writeKey: WRITE_KEY, batch: [page] },
    { batch: [page, { ...page, writeKey: WRITE_KEY }] },
    `{"batch":[${JSON.stringify(page)}],"write\\u004bey":"\\u0077${WRITE_KEY.slice(1)}"}`,
    `{"writeKey":"wrong","a":{"writeKey":"x"},"batch":[${JSON.stringify(page)}],"writeKey":"${WRITE_KEY}"}`,
  ])
    expect(await server.post("/v1/batch", body, {})).toMatchObject({ status: 200 });
  expect(await server.post("/v1/page", { ...page, writeKey: WRITE_KEY }, {})).toMatchObject({ status: 200 });
  for (const body of [
    { batch: [page], context: { writeKey: WRITE_KEY } },
    { batch: [{ ...page, properties: { writeKey: WRITE_KEY } }] },
    `{"batch":[],"note":"\\"writeKey\\":\\"${WRITE_KEY}\\""}`,
    `["writeKey","${WRITE_KEY}"]`,
  ])
    expect(await server.post("/v1/batch", body, {})).toMatchObject({ status: 401 });
});
