import { once } from "node:events";
import { connect } from "node:net";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import {
  type FakeCollectorOptions,
  fakeCollector,
  loopbackCollector,
  memoryTransport,
  type WaitOptions,
} from "../src/index.js";

const track = (fields: object = {}) => ({
  type: "track",
  userId: "u",
  event: "E",
  messageId: "m",
  ...fields,
});

/** Sends one request to the collector. Returns its answer with the parsed body. */
function ask(
  body: unknown,
  {
    path = "/v1/batch",
    method = "POST",
    headers = {},
    options = {},
  }: {
    path?: string;
    method?: string;
    headers?: Record<string, string>;
    options?: FakeCollectorOptions;
  } = {},
) {
  const collector = fakeCollector(options);
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const bytes = headers["content-encoding"] === "gzip" ? gzipSync(text) : new TextEncoder().encode(text);
  const ending = collector.handle({ method, path, headers, body: bytes });
  if (ending.kind !== "answer") throw new Error(`No answer: ${ending.kind}`);
  return { collector, status: ending.answer.status, answer: JSON.parse(ending.answer.body) as object };
}

describe("the fake collector", () => {
  it("accepts a batch and keeps its messages, merged with the fields of the batch", () => {
    const { collector, status, answer } = ask({
      batch: [track(), track({ context: { a: 1 } })],
      context: { a: 0, b: 2 },
      sentAt: "2026",
    });
    expect([status, answer]).toEqual([200, { success: true, accepted: 2 }]);
    expect(collector.messages).toMatchObject([
      { context: { a: 0, b: 2 }, sentAt: "2026" },
      { context: { a: 1, b: 2 } },
    ]);
  });

  it("lists the messages that it refuses and keeps the others", () => {
    const batch = [
      track(),
      track({ event: "" }),
      5,
      track({ messageId: "x".repeat(100) }),
      track({ text: "x".repeat(32_768) }),
    ];
    const { collector, status, answer } = ask({ batch });
    expect(status).toBe(200);
    expect(answer).toMatchObject({
      accepted: 1,
      rejected: [
        { index: 1, messageId: "m", code: "event_not_defined" },
        { index: 2, code: "not_an_object" },
        { index: 3, code: "message_id_too_long" },
        { index: 4, code: "message_too_large" },
      ],
    });
    expect(collector.messages).toHaveLength(1);
  });

  it.each<[name: string, body: unknown, request: Parameters<typeof ask>[1], status: number, code: string]>([
    ["malformed JSON", "{", {}, 400, "malformed_json"],
    ["a body that is no object", "[]", {}, 400, "invalid_message"],
    ["a batch that is no list", { batch: {} }, {}, 400, "invalid_message"],
    ["a body over 500 KB", { batch: [], x: "x".repeat(512_000) }, {}, 413, "payload_too_large"],
    ["2,501 messages", { batch: Array.from({ length: 2_501 }, () => 1) }, {}, 413, "payload_too_large"],
    [
      "a single message over 32 KB",
      track({ x: "x".repeat(32_768) }),
      { path: "/v1/track" },
      413,
      "payload_too_large",
    ],
    ["an invalid single message", { userId: "u" }, { path: "/v1/track" }, 400, "invalid_message"],
    ["another method", "", { method: "GET" }, 405, "method_not_allowed"],
    ["another path", "", { path: "/v1/other" }, 404, "not_found"],
    ["a wrong key", { batch: [] }, { options: { writeKey: "right" } }, 401, "invalid_write_key"],
  ])("%s is answered %s %s", (_name, body, request, status, code) => {
    expect(ask(body, request)).toMatchObject({ status, answer: { success: false, code } });
  });

  it.each<[path: string, type: string]>([
    ["/v1/track", "track"],
    ["/v1/t/", "track"],
    ["/v1/i", "identify"],
    ["/prefix/v1/page", "page"],
  ])("%s is one message of kind %s", (path, type) => {
    const { collector, status } = ask({ userId: "u", event: "E" }, { path });
    expect([status, collector.messages]).toMatchObject([200, [{ type }]]);
  });

  it.each<[name: string, headers: Record<string, string>, body: object]>([
    [
      "Basic with a colon",
      { authorization: `Basic ${Buffer.from("right:").toString("base64")}` },
      { batch: [] },
    ],
    ["Basic without", { authorization: `Basic ${Buffer.from("right").toString("base64")}` }, { batch: [] }],
    ["the body's key", {}, { batch: [], writeKey: "right" }],
  ])("knows the write key from %s", (_name, headers, body) => {
    expect(ask(body, { headers, options: { writeKey: "right" } }).status).toBe(200);
  });

  it("decompresses gzip", () => {
    expect(
      ask({ batch: [track()] }, { headers: { "content-encoding": "gzip" } }).collector.messages,
    ).toHaveLength(1);
    const body = new TextEncoder().encode("not gzip");
    expect(
      fakeCollector().handle({
        method: "POST",
        path: "/v1/batch",
        headers: { "content-encoding": "gzip" },
        body,
      }),
    ).toMatchObject({
      answer: { status: 400 },
    });
  });
});

describe("faults", () => {
  it("are used for one request each, in order, and then the permanent one, until they are cleared", async () => {
    const collector = fakeCollector({ faults: [{ status: 503, retryAfter: 1 }, "pass"] });
    const transport = memoryTransport(collector);
    const send = () =>
      transport.send(
        { url: "http://c/v1/batch", method: "POST", headers: {}, body: JSON.stringify({ batch: [track()] }) },
        new AbortController().signal,
      );
    expect(await send()).toMatchObject({ kind: "answered", status: 503, retryAfter: "1" });
    expect(await send()).toMatchObject({ kind: "answered", status: 200 });
    collector.faults.always({ status: 500 });
    collector.faults.add("reset");
    expect(await send()).toMatchObject({ kind: "failed" });
    expect(await send()).toMatchObject({ status: 500 });
    expect(await send()).toMatchObject({ status: 500 });
    collector.faults.clear();
    expect(await send()).toMatchObject({ status: 200 });
    expect(collector.messages).toHaveLength(2);
    expect(collector.requests.map(({ status }) => status)).toEqual([503, 200, 0, 500, 500, 200]);
  });

  it("accept_then_reset keeps the messages, and a hang ends when it is aborted", async () => {
    const collector = fakeCollector({ faults: ["accept_then_reset", "hang"] });
    const transport = memoryTransport(collector);
    const abort = new AbortController();
    const request = {
      url: "http://c/v1/batch",
      method: "POST",
      headers: {},
      body: JSON.stringify({ batch: [track()] }),
    };
    expect(await transport.send(request, abort.signal)).toMatchObject({ kind: "failed" });
    expect(collector.messages).toHaveLength(1);
    const hanging = transport.send(request, abort.signal);
    abort.abort();
    expect(await hanging).toMatchObject({ kind: "failed" });
    expect(collector.messages).toHaveLength(1);
  });

  it("a client that breaks its request off breaks nothing else", async () => {
    await using collector = await loopbackCollector();
    const { port } = new URL(collector.url);
    const socket = connect(Number(port), "127.0.0.1");
    socket.write("POST /v1/batch HTTP/1.1\r\nhost: c\r\ncontent-length: 100\r\n\r\n{");
    await once(socket, "connect");
    const answer = await fetch(`${collector.url}/v1/batch`, { method: "POST", body: '{"batch":[]}' });
    socket.resetAndDestroy();
    await once(socket, "close");
    expect(answer.status).toBe(200);
    const again = await fetch(`${collector.url}/v1/batch`, { method: "POST", body: '{"batch":[]}' });
    expect([again.status, collector.requests.length]).toEqual([200, 2]);
  });

  it("closes with requests that hang, also twice", async () => {
    const collector = await loopbackCollector({ faults: ["hang"] });
    const hanging = fetch(`${collector.url}/v1/batch`, { method: "POST", body: '{"batch":[]}' });
    const failed = expect(hanging).rejects.toThrow("fetch failed");
    while (collector.requests.length === 0) await new Promise(setImmediate);
    await Promise.all([collector.close(), collector.close()]);
    await failed;
  });

  it("happen on a real socket", async () => {
    await using collector = await loopbackCollector({ faults: ["reset", { status: 418, body: "teapot" }] });
    const send = () =>
      fetch(`${collector.url}/v1/batch`, { method: "POST", body: JSON.stringify({ batch: [track()] }) });
    await expect(send()).rejects.toThrow("fetch failed");
    const answer = await send();
    expect([answer.status, await answer.text()]).toEqual([418, "teapot"]);
    expect((await send()).status).toBe(200);
    expect(collector.messages).toHaveLength(1);
  });
});

describe("waitFor", () => {
  const keep = (collector: ReturnType<typeof fakeCollector>, ...messages: object[]) =>
    collector.handle({
      method: "POST",
      path: "/v1/batch",
      headers: {},
      body: new TextEncoder().encode(JSON.stringify({ batch: messages })),
    });

  it("resolves with messages that have arrived, and as soon as enough arrive", async () => {
    const collector = fakeCollector();
    keep(collector, track({ event: "A" }));
    expect(await collector.waitFor({ event: "A" })).toMatchObject([{ event: "A" }]);
    const both = collector.waitFor(({ event }) => event === "A", { count: 2 });
    keep(collector, track({ event: "B" }), track({ event: "A", properties: { n: 2 } }));
    expect(await both).toMatchObject([{ event: "A" }, { properties: { n: 2 } }]);
    expect(await collector.waitFor({ properties: { n: 2 } })).toHaveLength(1);
  });

  it("rejects with an error whose first line is that of the call", async () => {
    await using loopback = await loopbackCollector();
    for (const collector of [fakeCollector(), loopback]) {
      const here = new Error("here").stack?.split("\n")[1]?.match(/fake-collector\.test\.ts:(\d+)/);
      const error: Error = await collector.waitFor({ event: "never" }, { timeoutMs: 1 }).catch((e) => e);
      const [message, first] = error.stack?.split("\n") ?? [];
      expect(message).toBe(`Error: ${error.message}`);
      expect(first).toContain(`fake-collector.test.ts:${Number(here?.[1]) + 1}:`);
    }
  });

  it("rejects with a list of what arrived", async () => {
    const collector = fakeCollector();
    await expect(collector.waitFor({ event: "never" }, { timeoutMs: 1 })).rejects.toThrow(
      "Waited 1 ms for 1 matching messages; nothing arrived",
    );
    keep(collector, track({ event: "Signed In" }), { type: "identify", userId: "u" });
    await expect(collector.waitFor({ event: "never" }, { timeoutMs: 1 })).rejects.toThrow(
      'Waited 1 ms for 1 matching messages; 0 of 2 matched; arrived: track "Signed In", identify',
    );
  });

  it.each(["of messages that are there", "of messages that arrive"])(
    "rejects with the error of its function, and breaks nothing else: %s",
    async (when) => {
      const collector = fakeCollector();
      const others = collector.waitFor({ event: "B" });
      if (when === "of messages that are there") keep(collector, track({ event: "A" }));
      const failing = collector.waitFor(() => {
        throw new Error("of the test");
      });
      const failed = expect(failing).rejects.toThrow("of the test");
      expect(keep(collector, track({ event: "B" }))).toMatchObject({ answer: { status: 200 } });
      await failed;
      expect(await others).toHaveLength(1);
      keep(collector, track({ event: "C" }));
    },
  );

  it.each<[name: string, options: WaitOptions, arrive: readonly string[], expected: readonly string[]]>([
    ["none", { count: 0 }, [], []],
    ["the first of more", { count: 1 }, ["A", "A"], ["A"]],
    ["the second that arrives", { count: 2 }, ["A", "B", "A"], ["A", "A"]],
  ])("resolves once with as many as it is asked for: %s", async (_name, options, arrive, expected) => {
    const collector = fakeCollector();
    const found = collector.waitFor({ event: "A" }, options);
    for (const event of arrive) keep(collector, track({ event }));
    expect((await found).map(({ event }) => event)).toEqual(expected);
  });

  it("does not see messages that were cleared", async () => {
    const collector = fakeCollector();
    keep(collector, track());
    collector.clear();
    expect([collector.messages, collector.requests]).toEqual([[], []]);
  });
});
