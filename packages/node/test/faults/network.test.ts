import type { AddressInfo } from "node:net";
import { createServer, type Server, type Socket } from "node:net";
import { gzipSync } from "node:zlib";
import { loopbackCollector } from "@sluice/testing";
import { afterEach, describe, expect, it } from "vitest";
// @boundaries-ignore the thread is for tests of three packages
import { answeringThread } from "../../../resilience/test/answering-thread.js";
import { Analytics, type AnalyticsOptions, type ErrorDetail, fetchTransport } from "../../src/index.js";

const open: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0)) await close();
});

/** A server that reads each request and then calls `answer` with its socket. */
async function rawServer(answer: (socket: Socket, nth: number) => void): Promise<string> {
  const sockets = new Set<Socket>();
  let requests = 0;
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    socket.on("error", () => {});
    let text = "";
    socket.on("data", (chunk) => {
      text += chunk.toString("latin1");
      const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0);
      if (text.length < text.indexOf("\r\n\r\n") + 4 + length) return;
      text = "";
      requests += 1;
      answer(socket, requests);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  open.push(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

it("accepts an answer that arrived in time, although the process stood still beyond the deadline", async () => {
  const collector = await answeringThread();
  const requestTimeoutMs = 1_000;
  const now = (): number => performance.now();
  const startedMs = now();
  const sending = sendOne(`http://127.0.0.1:${collector.port}`, { requestTimeoutMs, maxRetries: 0 });
  await collector.standStill(now, startedMs + requestTimeoutMs + 100);
  const { result, errors } = await sending;
  expect(errors).toEqual([]);
  expect(result).toMatchObject({ delivered: 1 });
  await collector.close();
});

const http = (status: string, headers: string, body: string): string =>
  `HTTP/1.1 ${status}\r\n${headers}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;

/** Sends one message. Returns the result and the errors. */
async function sendOne(host: string, options: Partial<AnalyticsOptions> = {}) {
  const errors: { status: number; message: string; detail: ErrorDetail }[] = [];
  const analytics = new Analytics({
    writeKey: "k",
    host,
    maxRetries: 1,
    requestTimeoutMs: 500,
    onError: (status, message, detail) => errors.push({ status, message, detail }),
    ...options,
  });
  open.push(async () => {
    await analytics.close({ timeoutMs: 0 });
  });
  analytics.track({ userId: "u", event: "E" });
  const result = await analytics.flush();
  return { result, errors, analytics };
}

const DELIVERED = { delivered: 1, failed: 0, refused: 0 };
const FAILED = { delivered: 0, failed: 1, refused: 0 };

describe.each<[name: string, options: () => Partial<AnalyticsOptions>]>([
  ["undici", () => ({})],
  ["fetch", () => ({ transport: fetchTransport() })],
])("over %s, a server that", (_name, options) => {
  it.each<[name: string, answer: (socket: Socket, nth: number) => void, result: object, requests: number]>([
    ["answers 200 with JSON", (s) => s.write(http("200 OK", "", '{"success":true}')), DELIVERED, 1],
    [
      "answers 200 with HTML",
      (s) => s.write(http("200 OK", "content-type: text/html\r\n", "<html>hello</html>")),
      DELIVERED,
      1,
    ],
    ["answers 204", (s) => s.write("HTTP/1.1 204 No Content\r\n\r\n"), DELIVERED, 1],
    [
      "answers with a header of 15 KB",
      (s) => s.write(http("200 OK", `x: ${"y".repeat(15_000)}\r\n`, "")),
      DELIVERED,
      1,
    ],
    ["redirects", (s) => s.write(http("301 Moved", "location: http://127.0.0.1:1/\r\n", "")), FAILED, 1],
    ["resets", (s) => s.resetAndDestroy(), FAILED, 2],
    [
      "resets once",
      (s, nth) => (nth === 1 ? s.resetAndDestroy() : s.write(http("200 OK", "", ""))),
      DELIVERED,
      2,
    ],
    ["hangs", () => {}, FAILED, 2],
    ["hangs up without a word", (s) => s.end(), FAILED, 2],
    ["answers garbage", (s) => s.end("\u0000\u0001 I am not HTTP \r\n\r\n"), FAILED, 2],
    ["answers half a body", (s) => s.end("HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n{"), FAILED, 2],
    ["drips a body forever", (s) => s.write("HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n{"), FAILED, 2],
    ["answers 10 MB", (s) => s.write(http("200 OK", "", "x".repeat(10_000_000))), DELIVERED, 1],
    [
      "answers 503 and 10 MB, then 200",
      (s, nth) => s.write(nth === 1 ? http("503 No", "", "x".repeat(10_000_000)) : http("200 OK", "", "")),
      DELIVERED,
      2,
    ],
  ])("%s", async (what, answer, expected, requests) => {
    let seen = 0;
    const host = await rawServer((socket, nth) => {
      seen = nth;
      answer(socket, nth);
    });
    // On a busy machine, ten megabytes may take longer than the timeout for a hang.
    const patience = what.includes("10 MB") ? { requestTimeoutMs: 10_000 } : {};
    const { result, errors } = await sendOne(host, { ...options(), ...patience });
    expect(result).toEqual(expected);
    expect(seen).toBe(requests);
    expect(errors).toHaveLength(expected === FAILED ? 1 : 0);
  });

  it("does not listen", async () => {
    const gone = await rawServer(() => {});
    await open.pop()?.();
    const { result, errors } = await sendOne(gone, options());
    expect(result).toEqual(FAILED);
    expect(errors).toMatchObject([{ status: -1, detail: { code: "retries_exhausted", attempts: 2 } }]);
    expect(errors[0]?.message).toContain("ECONNREFUSED");
  });

  it("has a name that does not resolve", async () => {
    const { result, errors } = await sendOne("http://nowhere.invalid", options());
    expect(result).toEqual(FAILED);
    expect(errors[0]?.message).toMatch(/ENOTFOUND|EAI_AGAIN/);
  });

  it("answers with a gzip bomb: it is not inflated", async () => {
    const bomb = gzipSync(Buffer.alloc(50_000_000));
    const host = await rawServer((socket) => {
      socket.write(`HTTP/1.1 400 No\r\ncontent-encoding: gzip\r\ncontent-length: ${bomb.length}\r\n\r\n`);
      socket.write(bomb);
    });
    const { result, errors } = await sendOne(host, options());
    expect(result).toEqual(FAILED);
    expect(errors[0]?.message.length).toBeLessThan(600);
  });
});

it("uses one connection for consecutive batches", async () => {
  await using collector = await loopbackCollector();
  const analytics = new Analytics({ writeKey: "k", host: collector.url });
  for (let i = 0; i < 5; i++) {
    analytics.track({ userId: "u", event: `E${i}` });
    await analytics.flush();
  }
  await analytics.close();
  expect(collector.requests).toHaveLength(5);
});

it("keeps up to maxInFlight requests in flight, each on its own connection", async () => {
  let outstanding = 0;
  let most = 0;
  const waiting: Socket[] = [];
  const host = await rawServer((socket) => {
    outstanding += 1;
    most = Math.max(most, outstanding);
    waiting.push(socket);
    if (waiting.length < 4) return;
    for (const one of waiting.splice(0)) {
      outstanding -= 1;
      one.write(http("200 OK", "", ""));
    }
  });
  const analytics = new Analytics({ writeKey: "k", host, batchSize: 10, maxInFlight: 4 });
  for (let i = 0; i < 80; i++) analytics.track({ userId: "u", event: "E" });
  expect(await analytics.close()).toEqual({ delivered: 80, failed: 0, refused: 0 });
  expect(most).toBe(4);
});

it("compresses bodies if gzip is on", async () => {
  await using collector = await loopbackCollector();
  const analytics = new Analytics({ writeKey: "k", host: collector.url, gzip: true });
  for (let i = 0; i < 50; i++) analytics.track({ userId: "u", event: "Ünïcode" });
  expect(await analytics.close()).toMatchObject({ delivered: 50 });
  expect(collector.requests[0]?.headers["content-encoding"]).toBe("gzip");
  expect(collector.messages).toHaveLength(50);
});
