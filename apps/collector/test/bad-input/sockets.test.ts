import { connect, type Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { basic, type IngestServer, startIngestServer, WRITE_KEY } from "../ingest/ingest-server.js";

let server: IngestServer;
beforeAll(async () => {
  server = await startIngestServer({
    // As in production, but every wait is short.
    limits: {
      headersTimeoutMs: 1_000,
      requestTimeoutMs: 2_000,
      timeoutCheckMs: 50,
      keepAliveTimeoutMs: 200,
      drainTimeoutMs: 300,
      idleTimeoutMs: 10_000,
    },
  });
});
const open = new Set<Socket>();
afterAll(async () => {
  for (const socket of open) socket.destroy();
  await server.close();
});

interface Ending {
  /** Status codes of the answers, in order; interim ones too. */
  readonly statuses: readonly number[];
  readonly text: string;
}

/** Sends bytes as they are and waits until the server has closed the connection. */
function exchange(
  chunks: readonly (string | Uint8Array)[],
  options: { end?: boolean; reset?: boolean; everyMs?: number } = {},
): Promise<Ending> {
  return new Promise((resolve) => {
    let text = "";
    const socket = connect({ port: server.port, host: "127.0.0.1", allowHalfOpen: true });
    open.add(socket);
    const finish = (): void => {
      socket.destroy();
      open.delete(socket);
      resolve({
        text,
        statuses: Array.from(text.matchAll(/HTTP\/1\.1 (\d{3}) /g), ([, code]) => Number(code)),
      });
    };
    socket.setEncoding("latin1");
    socket.on("data", (chunk) => {
      text += chunk;
    });
    socket.on("end", finish);
    socket.on("error", finish);
    socket.on("close", finish);
    socket.on("connect", () => {
      if (options.everyMs === undefined) {
        for (const chunk of chunks) socket.write(chunk);
        if (options.end) socket.end();
        if (options.reset) socket.resetAndDestroy();
        return;
      }
      const rest = [...chunks];
      const drip = setInterval(() => {
        const chunk = rest.shift();
        if (chunk === undefined || socket.destroyed) clearInterval(drip);
        else socket.write(chunk);
      }, options.everyMs);
    });
  });
}

const AUTH = `Authorization: ${basic(WRITE_KEY)}`;
const BODY = '{"batch":[]}';
const head = (...lines: string[]): string => `${lines.join("\r\n")}\r\n\r\n`;
const post = (body = BODY, ...headers: string[]): string =>
  head("POST /v1/batch HTTP/1.1", "Host: x", AUTH, `Content-Length: ${Buffer.byteLength(body)}`, ...headers) +
  body;
const chunked = (body: string, ...headers: string[]): string =>
  head("POST /v1/batch HTTP/1.1", "Host: x", AUTH, "Transfer-Encoding: chunked", ...headers) + body;
const CHUNKS = `${BODY.length.toString(16)}\r\n${BODY}\r\n0\r\n\r\n`;

type Case = [
  name: string,
  chunks: (string | Uint8Array)[],
  statuses: number[],
  options?: Parameters<typeof exchange>[1],
];

describe.concurrent("bytes that are no request", () => {
  test.for<Case>([
    ["nothing, and the other side keeps silent", [], [408]],
    ["nothing, then the end", [], [], { end: true }],
    ["a line feed", ["\n"], [408]],
    ["a word", ["hello\r\n\r\n"], [400]],
    ["NULs", [new Uint8Array(1_000)], [400]],
    ["0xff", [new Uint8Array(1_000).fill(255)], [400]],
    ["a TLS hello", [Buffer.from("16030100a5010000a103035f", "hex")], [400]],
    ["SSH", ["SSH-2.0-OpenSSH_9.2\r\n"], [400]],
    ["SMTP", ["EHLO example.com\r\n"], [400]],
    ["HTTP/2's preface", ["PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"], [400]],
    ["HTTP/0.9", ["GET /\r\n"], [408]],
    ["HTTP/3.0", [head("GET / HTTP/3.0", "Host: x")], [400]],
    ["an unknown method", [head("BREW /v1/batch HTTP/1.1", "Host: x")], [400]],
    ["a method in lower case", [head("post /v1/batch HTTP/1.1", "Host: x")], [400]],
    ["a blank in the address", [head("GET /a b HTTP/1.1", "Host: x")], [400]],
    ["a NUL in the address", [head("GET /a\0b HTTP/1.1", "Host: x")], [400]],
    ["a proxy's header of HAProxy", ["PROXY TCP4 1.1.1.1 2.2.2.2 1 2\r\n", post()], [400]],
    ["a header without colon", [head("GET /healthz HTTP/1.1", "Host: x", "nocolon")], [400]],
    ["a blank before the colon", [head("POST /v1/batch HTTP/1.1", "Host: x", "Content-Length : 5")], [400]],
    ["a NUL in a header", [head("GET /healthz HTTP/1.1", "Host: x", "A: b\0c")], [400]],
    ["a header's name with a blank", [head("GET /healthz HTTP/1.1", "Host: x", "A B: c")], [400]],
    ["an empty header name", [head("GET /healthz HTTP/1.1", "Host: x", ": c")], [400]],
    ["20 KB of one header", [head("GET /healthz HTTP/1.1", "Host: x", `A: ${"x".repeat(20_000)}`)], [431]],
    ["20 KB of address", [head(`GET /${"x".repeat(20_000)} HTTP/1.1`, "Host: x")], [431]],
    [
      "5,000 headers",
      [head("GET /healthz HTTP/1.1", "Host: x", ...Array.from({ length: 5_000 }, (_, i) => `A${i}: x`))],
      [431],
    ],
    ["a header line without end", [`GET /healthz HTTP/1.1\r\nA: ${"x".repeat(100_000)}`], [431]],
  ])("%s", async ([, chunks, statuses, options], { expect }) => {
    const ending = await exchange(chunks, options);
    expect(ending.statuses).toEqual(statuses);
    expect(ending.text).not.toMatch(/\bat .*:\d+:\d+/);
    if (statuses.length > 0) expect(ending.text).toMatch(/"success":false,"code":"[a-z_]+","message":"/);
  });
});

describe.concurrent("requests that two servers may read differently", () => {
  test.for<Case>([
    [
      "length and chunked",
      [
        head("POST /v1/batch HTTP/1.1", "Host: x", AUTH, "Content-Length: 5", "Transfer-Encoding: chunked") +
          CHUNKS,
      ],
      [400],
    ],
    ["chunked and length", [chunked(CHUNKS, "Content-Length: 5")], [400]],
    ["two lengths that differ", [post(BODY, "Content-Length: 5")], [400]],
    ["two lengths that agree", [post(BODY, `Content-Length: ${BODY.length}`)], [400]],
    [
      "a list of lengths",
      [head("POST /v1/batch HTTP/1.1", "Host: x", AUTH, "Content-Length: 12, 12") + BODY],
      [400],
    ],
    [
      "a negative length",
      [head("POST /v1/batch HTTP/1.1", "Host: x", AUTH, "Content-Length: -1") + BODY],
      [400],
    ],
    [
      "a length with a plus",
      [head("POST /v1/batch HTTP/1.1", "Host: x", AUTH, "Content-Length: +12") + BODY],
      [400],
    ],
    [
      "a length in hexadecimal",
      [head("POST /v1/batch HTTP/1.1", "Host: x", AUTH, "Content-Length: 0xc") + BODY],
      [400],
    ],
    [
      "a length with letters",
      [head("POST /v1/batch HTTP/1.1", "Host: x", AUTH, "Content-Length: 12a") + BODY],
      [400],
    ],
    [
      "a length of 30 digits",
      [head("POST /v1/batch HTTP/1.1", "Host: x", AUTH, `Content-Length: ${"9".repeat(30)}`)],
      [400],
    ],
    ["thousands of chunks of one byte", [chunked("1\r\nx\r\n".repeat(5_000))], [400]],
    ["chunked twice", [chunked(CHUNKS, "Transfer-Encoding: chunked")], [400]],
    [
      "chunked, then identity",
      [head("POST /v1/batch HTTP/1.1", "Host: x", AUTH, "Transfer-Encoding: chunked, identity") + CHUNKS],
      [400],
    ],
    [
      "an unknown coding",
      [head("POST /v1/batch HTTP/1.1", "Host: x", AUTH, "Transfer-Encoding: xchunked") + CHUNKS],
      [400],
    ],
    [
      "a vertical tab before chunked",
      [head("POST /v1/batch HTTP/1.1", "Host: x", AUTH, "Transfer-Encoding: \x0bchunked") + CHUNKS],
      [400],
    ],
    ["a chunk size that is none", [chunked(`zz\r\n${BODY}\r\n0\r\n\r\n`)], [400]],
    ["a chunk size with a sign", [chunked(`-1\r\n${BODY}\r\n0\r\n\r\n`)], [400]],
    ["a chunk size beyond 64 bits", [chunked(`${"f".repeat(17)}\r\n${BODY}`)], [400]],
    ["a chunk that is longer than its size", [chunked(`5\r\n${BODY}\r\n0\r\n\r\n`)], [400]],
    ["line feeds alone around a chunk", [chunked(CHUNKS.replaceAll("\r\n", "\n"))], [400]],
    [
      "a carriage return alone in the head",
      [`POST /v1/batch HTTP/1.1\r\nHost: x\rX: y\r\n${AUTH}\r\nContent-Length: 12\r\n\r\n${BODY}`],
      [400],
    ],
    [
      "a continued header line",
      [head("POST /v1/batch HTTP/1.1", "Host: x", AUTH, "Transfer-Encoding:\r\n chunked") + CHUNKS],
      [400],
    ],
    [
      "a body longer than its length is no second request",
      [head("POST /v1/batch HTTP/1.1", "Host: x", AUTH, "Content-Length: 12") + BODY + BODY],
      [200, 400],
    ],
  ])("%s", async ([, chunks, statuses, options], { expect }) => {
    const ending = await exchange(chunks, options);
    // The last of the answers may be swallowed by the close that goes with it: what matters is what was understood.
    expect(statuses.slice(0, ending.statuses.length)).toEqual(ending.statuses);
    expect(ending.statuses.length).toBeGreaterThanOrEqual(1);
  });
});

describe.concurrent("requests that are unusual but good", () => {
  test.for<Case>([
    ["a plain one", [post()], [200]],
    ["byte by byte", Array.from(post(), (c) => c), [200]],
    ["chunked", [chunked(CHUNKS)], [200]],
    ["chunks of one byte", [chunked(`${Array.from(BODY, (c) => `1\r\n${c}\r\n`).join("")}0\r\n\r\n`)], [200]],
    ["chunk extensions", [chunked(CHUNKS.replace("\r\n", ";a=b\r\n"))], [200]],
    [
      "trailers",
      [chunked(CHUNKS.replace("0\r\n\r\n", `0\r\nAuthorization: ${basic("other")}\r\n\r\n`))],
      [200],
    ],
    ["HTTP/1.0", [head("POST /v1/batch HTTP/1.0", AUTH, "Content-Length: 12") + BODY], [200]],
    [
      "an absolute address",
      [
        head(
          "POST http://collector.example.com/v1/batch?x=1 HTTP/1.1",
          "Host: x",
          AUTH,
          "Content-Length: 12",
        ) + BODY,
      ],
      [200],
    ],
    ["blank lines before", ["\r\n\r\n", post()], [200]],
    ["100 headers", [post(BODY, ...Array.from({ length: 90 }, (_, i) => `X-${i}: y`))], [200]],
    ["letters beyond ASCII in a header", [post(BODY, "X-Name: \u00e9")], [200]],
    ["an Upgrade nobody asked for", [post(BODY, "Connection: Upgrade", "Upgrade: h2c")], [200]],
    ["the writing side is closed", [post()], [200], { end: true }],
    ["Expect: 100-continue", [post(BODY, "Expect: 100-continue")], [100, 200]],
    ["50 requests at once", [post().repeat(50)], Array.from({ length: 50 }, () => 200)],
    ["one good and one bad", [post() + post("{")], [200, 400]],
    ["one bad and one good", [post("{") + post()], [400, 200]],
    ["HEAD", [head("HEAD /healthz HTTP/1.1", "Host: x")], [200]],
    ["GET with a body", [`${head("GET /healthz HTTP/1.1", "Host: x", "Content-Length: 5")}hello`], [200]],
  ])("%s", async ([, chunks, statuses, options], { expect }) => {
    expect((await exchange(chunks, options)).statuses).toEqual(statuses);
  });
});

describe.concurrent("requests that are refused", () => {
  test.for<Case>([
    ["HTTP/1.1 without Host", [head("POST /v1/batch HTTP/1.1", AUTH, "Content-Length: 12") + BODY], [400]],
    ["two Hosts", [post(BODY, "Host: y")], [400]],
    ["two Hosts that agree", [post(BODY, "Host: x")], [400]],
    ["CONNECT", [head("CONNECT example.com:443 HTTP/1.1", "Host: x")], []],
    ["TRACE", [head("TRACE /v1/batch HTTP/1.1", "Host: x")], [405]],
    ["OPTIONS *", [head("OPTIONS * HTTP/1.1", "Host: x")], [404]],
    ["another expectation", [post(BODY, "Expect: miracles")], [417]],
    [
      "a length beyond the limit, before the body",
      [head("POST /v1/batch HTTP/1.1", "Host: x", AUTH, "Content-Length: 999999999")],
      [413],
    ],
    [
      "the same with Expect: 100-continue: no 100",
      [head("POST /v1/batch HTTP/1.1", "Host: x", AUTH, "Content-Length: 999999999", "Expect: 100-continue")],
      [413],
    ],
    [
      "a wrong key, before the body",
      [head("POST /v1/batch HTTP/1.1", "Host: x", `Authorization: ${basic("x")}`, "Content-Length: 400000")],
      [401],
    ],
    [
      "a wrong key with the body",
      [post("x".repeat(400_000)).replace(AUTH, `Authorization: ${basic("x")}`)],
      [401],
    ],
    ["chunks beyond the limit", [chunked(`100000\r\n${"x".repeat(0x100000)}\r\n`)], [413]],
    [
      "percent signs that encode nothing",
      [head("GET /v1/projects/%E0%A4%A/settings HTTP/1.1", "Host: x")],
      [404],
    ],
    ["a path upwards", [head("GET /v1/../../etc/passwd HTTP/1.1", "Host: x")], [404]],
    ["a key with a NUL", [head("GET /v1/projects/a%00b/settings HTTP/1.1", "Host: x")], [401]],
    ["the prototype as a key", [head("GET /v1/projects/__proto__/settings HTTP/1.1", "Host: x")], [401]],
  ])("%s", async ([, chunks, statuses, options], { expect }) => {
    expect((await exchange(chunks, options)).statuses).toEqual(statuses);
  });
});

describe.concurrent("clients that are slow, silent or gone", () => {
  test.for<Case>([
    ["a head that stops", ["POST /v1/batch HTTP/1.1\r\nHost: x\r\n"], [408]],
    [
      "a head that never ends",
      Array.from({ length: 100 }, (_, i) => (i === 0 ? "GET / HTTP/1.1\r\n" : `X-${i}: y\r\n`)),
      [408],
      { everyMs: 30 },
    ],
    ["a body that stops", [post().slice(0, -3)], [408]],
    ["a body that drips", [post("x".repeat(100)).slice(0, -100), ..."x".repeat(100)], [408], { everyMs: 30 }],
    ["a chunk that stops", [chunked("c\r\n{")], [408]],
    ["a body that ends early", [post().slice(0, -3)], [400], { end: true }],
    ["a head that ends early", ["POST /v1/batch HT"], [400], { end: true }],
    ["a reset in the middle", [post().slice(0, -3)], [], { reset: true }],
    ["an answered connection that stays silent", [post()], [200]],
    ["half a second request", [post(), "POST /v1/"], [200, 408]],
  ])("%s", async ([, chunks, statuses, options], { expect }) => {
    expect((await exchange(chunks, options)).statuses).toEqual(statuses);
  });
});

test("500 connections with half a request do not block others", async () => {
  const slow = Array.from({ length: 500 }, () => exchange([post("x".repeat(1_000)).slice(0, -500)]));
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => server.post("/v1/page", { userId: "u1" })),
  );
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
  const endings = await Promise.all(slow);
  expect(new Set(endings.flatMap(({ statuses }) => statuses))).toEqual(new Set([408]));
});

test("a broken request does not get the response of the pending one before it", async () => {
  const message = '{"userId":"u1","messageId":"under-way"}';
  const request =
    head("POST /v1/page HTTP/1.1", "Host: x", AUTH, `Content-Length: ${message.length}`) + message;
  const ending = await exchange([`${request}garbage\r\n\r\n`]);
  expect(ending.statuses).toEqual([200]);
  expect((await server.messages()).map(({ messageId }) => messageId)).toContain("under-way");
});

test("none of this was logged as an error", () => {
  expect(server.logged.filter((line) => line.includes('"level":"error"'))).toEqual([]);
});
