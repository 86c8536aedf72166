import { connect } from "node:net";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { basic, type IngestServer, startIngestServer, WRITE_KEY } from "../ingest/ingest-server.js";

let server: IngestServer;
beforeAll(async () => {
  server = await startIngestServer({
    limits: { headersTimeoutMs: 600, requestTimeoutMs: 800, timeoutCheckMs: 50, keepAliveTimeoutMs: 50 },
  });
});
afterAll(() => server.close());

/** The same cases each time. Another seed makes others. */
const SEED = Number(process.env.SLUICE_FUZZ_SEED ?? 1);
const CASES = Number(process.env.SLUICE_FUZZ_CASES ?? 300);
const AT_ONCE = 50;

const text = (...words: string[]): fc.Arbitrary<Buffer> =>
  fc.constantFrom(...words).map((word) => Buffer.from(word, "latin1"));

const message = fc.record(
  {
    type: fc.constantFrom("track", "page", "identify", "screen", "group", "alias", "x"),
    userId: fc.oneof(fc.string({ minLength: 1 }), fc.integer()),
    event: fc.string({ minLength: 1 }),
    groupId: fc.string({ minLength: 1 }),
    previousId: fc.string({ minLength: 1 }),
    messageId: fc.oneof(fc.uuid(), fc.constantFrom("a", "b"), fc.string({ maxLength: 120 })),
    properties: fc.oneof(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 })), fc.jsonValue()),
    context: fc.constantFrom({ direct: true }, { library: { name: "analytics.js" } }, [], null, 7),
    timestamp: fc.oneof(fc.string(), fc.constant("2026-11-21T09:30:08+0100")),
  },
  { requiredKeys: ["type", "userId", "event", "groupId", "previousId"] },
);

const request = fc
  .record({
    path: fc.constantFrom(
      "/v1/batch",
      "/v1/batch",
      "/v1/b/",
      "/v1/track",
      "/v1/t",
      "/v1/m",
      "/healthz",
      "/x",
    ),
    body: fc.oneof(
      fc
        .array(message, { minLength: 1, maxLength: 4 })
        .map((batch) => Buffer.from(JSON.stringify({ batch }))),
      message.map((one) => Buffer.from(JSON.stringify(one))),
      fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
    ),
    isPacked: fc.boolean(),
    isChunked: fc.boolean(),
    hasKey: fc.constantFrom(true, true, true, true, true, false),
  })
  .map(({ path, body, isPacked, isChunked, hasKey }) => {
    const bytes = isPacked ? gzipSync(body) : body;
    const head = [
      `POST ${path} HTTP/1.1\r\nHost: x\r\n`,
      hasKey ? `Authorization: ${basic(WRITE_KEY)}\r\n` : "",
      isPacked ? "Content-Encoding: gzip\r\n" : "",
      isChunked ? "Transfer-Encoding: chunked\r\n\r\n" : `Content-Length: ${bytes.length}\r\n\r\n`,
    ].join("");
    if (!isChunked) return Buffer.concat([Buffer.from(head), bytes]);
    const size = bytes.length === 0 ? "" : `${bytes.length.toString(16)}\r\n`;
    const end = bytes.length === 0 ? "0\r\n\r\n" : "\r\n0\r\n\r\n";
    return Buffer.concat([Buffer.from(head + size), bytes, Buffer.from(end)]);
  });

/** What happens to the bytes on their way: at a place (of 0 to 1), so many are taken out and others put in. */
const change = fc.record({
  at: fc.double({ min: 0, max: 1, noNaN: true }),
  without: fc.integer({ min: 0, max: 20 }),
  put: fc.oneof(
    fc.uint8Array({ maxLength: 4 }).map((bytes) => Buffer.from(bytes)),
    text("\r\n", "\n", "\0", '"', "{", "]", "\\", "0\r\n\r\n", "1e999", "\xff", "Content-Length: 3\r\n"),
  ),
});

const exchange = fc.record({
  bytes: fc.oneof(
    {
      weight: 9,
      arbitrary: fc.array(request, { minLength: 1, maxLength: 3 }).map((all) => Buffer.concat(all)),
    },
    { weight: 1, arbitrary: fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)) },
  ),
  changes: fc.constantFrom(0, 0, 3).chain((most) => fc.array(change, { maxLength: most })),
  pieceBytes: fc.constantFrom(1, 7, 100, 100_000),
  ending: fc.constantFrom("wait", "wait", "half-close", "reset"),
});

type Exchange = typeof exchange extends fc.Arbitrary<infer T> ? T : never;

function changed({ bytes, changes }: Pick<Exchange, "bytes" | "changes">): Buffer {
  return changes.reduce((before, { at, without, put }) => {
    const place = Math.floor(at * before.length);
    return Buffer.concat([before.subarray(0, place), put, before.subarray(place + without)]);
  }, bytes);
}

/** Everything that came back until the server ended the connection, or we did. */
function run({ pieceBytes, ending, ...input }: Exchange): Promise<string> {
  return new Promise((resolve) => {
    const sent = changed(input);
    let received = "";
    const socket = connect({ port: server.port, host: "127.0.0.1", allowHalfOpen: true });
    socket.setEncoding("latin1").on("data", (chunk) => {
      received += chunk;
    });
    socket.on("end", () => socket.destroy());
    socket.on("error", () => {});
    socket.on("close", () => resolve(received));
    socket.on("connect", () => {
      for (let at = 0; at < sent.length; at += pieceBytes) socket.write(sent.subarray(at, at + pieceBytes));
      if (ending === "half-close") socket.end();
      if (ending === "reset") socket.resetAndDestroy();
    });
  });
}

test("for any bytes, responses are 2xx or 4xx, every connection ends, and accepted messages are stored", async () => {
  const cases = fc.sample(exchange, { seed: SEED, numRuns: CASES });
  let accepted = 0;
  let good = 0;
  for (let at = 0; at < cases.length; at += AT_ONCE) {
    const running = cases.slice(at, at + AT_ONCE).map(async (input) => {
      const received = await run(input);
      const statuses = Array.from(received.matchAll(/HTTP\/1\.1 (\d{3}) /g), ([, status]) => status ?? "");
      const odd = statuses.filter((status) => !/^(100|2..|4..)$/.test(status));
      expect(odd, changed(input).toString("latin1")).toEqual([]);
      expect(received).not.toMatch(/\bat .*:\d+:\d+/);
      for (const [, count, , twice = "0"] of received.matchAll(
        /"success":true,"accepted":(\d+)(,"rejected":\[.*?\])?(?:,"duplicates":(\d+))?/g,
      ))
        accepted += Number(count) - Number(twice);
    });
    const answer = await server.post("/v1/page", { userId: "u", messageId: `good ${at}` });
    expect(answer).toMatchObject({ status: 200, body: { accepted: 1 } });
    good += 1;
    await Promise.all(running);
  }

  const stored = await server.messages();
  // A client that disconnected may have missed its response.
  expect(stored.length).toBeGreaterThanOrEqual(accepted + good);
  expect(accepted).toBeGreaterThan(CASES / 20);
  expect(stored.filter(({ messageId }) => messageId.startsWith("good "))).toHaveLength(good);
  const counted = /sluice_ingest_messages_total\{result="accepted"\} (\d+)/.exec(
    await server.metrics.render(),
  );
  expect(Number(counted?.[1])).toBe(stored.length);
  expect(await server.metrics.render()).toMatch(/^sluice_http_buffered_bytes 0$/m);
  expect(server.logged.filter((line) => line.includes('"level":"error"'))).toEqual([]);
});
