import { existsSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { basic } from "../ingest/ingest-server.js";
import { type CollectorProcess, startCollectorProcess } from "./collector-process.js";

const MB = 1_024 * 1_024;
const isMeasurable = existsSync("/proc/self/clear_refs");
if (!isMeasurable) console.warn("skipped: the peak of another process's memory can be read on Linux only");

describe.skipIf(!isMeasurable)("what requests cost above rest", () => {
  let collector: CollectorProcess;
  const post = (body: string | Uint8Array, headers: Record<string, string> = {}): Promise<Response> =>
    fetch(`${collector.url}/v1/batch`, {
      method: "POST",
      headers: { authorization: basic(collector.writeKey), ...headers },
      body: body as string,
    });

  beforeAll(async () => {
    collector = await startCollectorProcess();
    // Rest is after the first few hundred requests: code is compiled and the heap has its size.
    const batch = Array.from({ length: 100 }, (_, i) => ({
      type: "page",
      userId: `u${i}`,
      properties: { a: "x".repeat(300) },
    }));
    for (let i = 0; i < 300; i++) expect((await post(JSON.stringify({ batch }))).status).toBe(200);
  });
  afterAll(() => collector?.close());

  const zeros = Buffer.alloc(200 * MB);
  const page = '{"type":"page","userId":"u1"}';
  const fill = (item: string, bytes: number): string =>
    `{"batch":[${page},{"type":"page","userId":"u","p":[${item.repeat(Math.floor(bytes / item.length)).slice(0, -1)}]}]}`;

  test.each<[name: string, body: () => string | Uint8Array, headers: Record<string, string>, status: number]>(
    [
      ["500 KB of empty objects", () => fill("{},", 511_000), {}, 200],
      ["500 KB of empty arrays", () => fill("[],", 511_000), {}, 200],
      ["500 KB of numbers", () => fill("0,", 511_000), {}, 200],
      ["500 KB of long numbers", () => fill("12345678901234567890,", 511_000), {}, 200],
      ["500 KB of exponents", () => fill("1e+300,", 511_000), {}, 200],
      ["500 KB of strings", () => fill('"a",', 511_000), {}, 200],
      [
        "500 KB of keys",
        () =>
          `{"batch":[{"type":"page","userId":"u","p":{${Array.from({ length: 45_000 }, (_, i) => `"k${i}":0`).join()}}}]}`,
        {},
        200,
      ],
      [
        "500 KB of brackets",
        () => `{"batch":[${page},${"[".repeat(255_000)}${"]".repeat(255_000)}]}`,
        {},
        200,
      ],
      [
        "2,500 messages that all are refused",
        () =>
          `{"batch":[${Array.from({ length: 2_500 }, (_, i) => `{"messageId":"m${i}","a":"${"x".repeat(150)}"}`).join()}]}`,
        {},
        200,
      ],
      [
        "a context under 2,500 messages",
        () =>
          `{"context":{${Array.from({ length: 100 }, (_, i) => `"k${i}":0`).join()}},"batch":[${Array.from({ length: 2_500 }, () => '{"type":"page","userId":"u","context":{}}').join()}]}`,
        {},
        200,
      ],
      ["200 MB of zeros in gzip", () => gzipSync(zeros), { "content-encoding": "gzip" }, 413],
      [
        "200 MB of zeros in br with the largest window",
        // At the best quality this machine would take longer to make the body than the collector takes to refuse it.
        () =>
          brotliCompressSync(zeros, {
            params: { [constants.BROTLI_PARAM_LGWIN]: 24, [constants.BROTLI_PARAM_QUALITY]: 5 },
          }),
        { "content-encoding": "br" },
        413,
      ],
      ["20 million items", () => `{"batch":[${"0,".repeat(20_000_000)}0]}`, {}, 413],
    ],
  )("one request, at most 64 MB: %s", async (_name, body, headers, status) => {
    const bytes = body();
    const { nowBytes: rest } = await collector.memory();
    await collector.resetPeak();
    expect((await post(bytes, headers)).status).toBe(status);
    const { peakBytes } = await collector.memory();
    expect((peakBytes - rest) / MB).toBeLessThan(64);
  });

  test("400 that unpack to 500 KB at once, hardly more than one after the other: others are served meanwhile", async () => {
    const window = { params: { [constants.BROTLI_PARAM_LGWIN]: 24 } };
    const bytes = brotliCompressSync(`{"batch":[]}${" ".repeat(511_000)}`, window);
    const { nowBytes: rest } = await collector.memory();
    await collector.resetPeak();
    const many = Array.from({ length: 400 }, () => post(bytes, { "content-encoding": "br" }));
    expect((await post(`{"batch":[${page}]}`)).status).toBe(200);
    const statuses = new Set((await Promise.all(many)).map(({ status }) => status));
    expect([...statuses].filter((status) => status !== 200 && status !== 503)).toEqual([]);
    const { peakBytes } = await collector.memory();
    expect((peakBytes - rest) / MB).toBeLessThan(128);
  });

  test("60 bodies in small chunks that do not end: no more than what arrived", async () => {
    const { nowBytes: rest } = await collector.memory();
    await collector.resetPeak();
    const sockets: Socket[] = [];
    // Chunks of 20 bytes: smaller ones are refused.
    const part = `14\r\n${"x".repeat(20)}\r\n`.repeat(500);
    for (let i = 0; i < 60; i++) {
      const socket = connect({ host: "127.0.0.1", port: Number(new URL(collector.url).port) });
      socket.on("error", () => {});
      socket.write(
        `POST /v1/batch HTTP/1.1\r\nHost: a\r\nAuthorization: ${basic(collector.writeKey)}\r\nTransfer-Encoding: chunked\r\n\r\n`,
      );
      sockets.push(socket);
    }
    for (let parts = 0; parts < 40; parts++)
      await Promise.all(sockets.map((socket) => new Promise((resolve) => socket.write(part, resolve))));
    const { peakBytes } = await collector.memory();
    for (const socket of sockets) socket.destroy();
    // 24 MB of bodies in buffers that grow, and what is on its way. As a Buffer for each chunk they took 250 MB.
    expect((peakBytes - rest) / MB).toBeLessThan(96);
  });

  test("the process keeps running and serving", async () => {
    expect(collector.isRunning).toBe(true);
    expect((await post(`{"batch":[${page}]}`)).status).toBe(200);
    expect(collector.stderr()).not.toContain('"level":"error"');
  });
});
