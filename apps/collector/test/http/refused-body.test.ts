import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { basic, type IngestServer, startIngestServer, WRITE_KEY } from "../ingest/ingest-server.js";

const TRIES = 100;
const KB = 1_024;

let server: IngestServer;
beforeAll(async () => {
  server = await startIngestServer({ limits: { drainTimeoutMs: 2_000 } });
});
afterAll(() => server.close());

/** Sends everything, as a client does that only then reads: the status of the first answer, or the error that came instead. */
function sendThenRead(chunks: readonly string[]): Promise<string> {
  return new Promise((resolve) => {
    let text = "";
    const socket = connect({ port: server.port, host: "127.0.0.1", allowHalfOpen: true });
    const finish = (outcome: string): void => {
      socket.destroy();
      resolve(outcome);
    };
    socket.setEncoding("latin1");
    socket.on("error", ({ code }: NodeJS.ErrnoException) => finish(code ?? "error"));
    socket.on("close", () => finish("closed"));
    socket.on("connect", () => {
      const rest = [...chunks];
      const next = (): void => {
        const chunk = rest.shift();
        if (chunk !== undefined) socket.write(chunk, () => setImmediate(next));
        else {
          socket.on("data", (data) => {
            text += data;
          });
          socket.on("end", () =>
            finish(/^(?:HTTP\/1\.1 100 .*?\r\n\r\n)?HTTP\/1\.1 (\d+)/s.exec(text)?.[1] ?? "nothing"),
          );
        }
      };
      next();
    });
  });
}

const head = (...lines: readonly string[]): string => `${lines.join("\r\n")}\r\n\r\n`;
const inPieces = (text: string, bytes: number): string[] =>
  Array.from({ length: Math.ceil(text.length / bytes) }, (_, i) => text.slice(i * bytes, (i + 1) * bytes));

const REFUSALS: readonly [status: string, line: string, key: string][] = [
  ["404", "POST /v1/nowhere", WRITE_KEY],
  ["401", "POST /v1/batch", "wrong"],
  ["413", "POST /v1/track", WRITE_KEY],
];
const SIZES = [33 * KB, 100 * KB, 400 * KB, 1_024 * KB];

const request = (
  line: string,
  key: string,
  body: string,
  version = "1.1",
  ...more: readonly string[]
): string[] => [
  head(
    `${line} HTTP/${version}`,
    "Host: x",
    `Authorization: ${basic(key)}`,
    `Content-Length: ${body.length}`,
    ...more,
  ),
  ...inPieces(body, 64 * KB),
];
const chunked = (line: string, key: string, body: string): string[] => [
  head(
    `${line} HTTP/1.1`,
    "Host: x",
    `Authorization: ${basic(key)}`,
    "Transfer-Encoding: chunked",
    "Connection: close",
  ),
  ...inPieces(body, 64 * KB).map((piece) => `${piece.length.toString(16)}\r\n${piece}\r\n`),
  "0\r\n\r\n",
];

/** How often each outcome came. */
async function outcomes(chunks: readonly string[]): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (let sent = 0; sent < TRIES; sent += 10) {
    for (const outcome of await Promise.all(Array.from({ length: 10 }, () => sendThenRead(chunks))))
      counts[outcome] = (counts[outcome] ?? 0) + 1;
  }
  return counts;
}

describe.each(REFUSALS)(
  "a refusal with %s reaches a client that sends all of its body first",
  (status, line, key) => {
    test.each(SIZES.map((bytes) => [bytes / KB, "x".repeat(bytes)] as const))(
      "%i KB",
      async (_kilobytes, body) => {
        const all = { [status]: TRIES };
        expect(await outcomes(request(line, key, body, "1.1", "Connection: close"))).toEqual(all);
        expect(await outcomes(request(line, key, body, "1.0"))).toEqual(all);
        expect(await outcomes(chunked(line, key, body))).toEqual(all);
      },
    );

    test("with more requests behind it", async () => {
      const refused = request(line, key, "x".repeat(64 * KB), "1.1", "Connection: close");
      expect(await outcomes([...refused, ...refused, ...refused])).toEqual({ [status]: TRIES });
    });

    test("which had asked whether to send it, and did not wait", async () => {
      const refused = request(
        line,
        key,
        "x".repeat(400 * KB),
        "1.1",
        "Expect: 100-continue",
        "Connection: close",
      );
      expect(await outcomes(refused)).toEqual({ [status]: TRIES });
    });
  },
);

test("headers that are too long get a response, whatever follows them", async () => {
  const sent = [`GET / HTTP/1.1\r\nHost: x\r\nA: ${"x".repeat(200 * KB)}\r\n\r\n`, "x".repeat(200 * KB)];
  expect(await outcomes(sent)).toEqual({ "431": TRIES });
});

test("a body that never ends keeps its connection only for the drain timeout", async () => {
  const [first = ""] = request("POST /v1/nowhere", WRITE_KEY, "x".repeat(KB), "1.1", "Connection: close");
  const socket = connect({ port: server.port, host: "127.0.0.1", allowHalfOpen: true });
  socket.on("error", () => {});
  socket.resume();
  socket.write(first);
  const hasOne = /^sluice_http_connections 1$/m;
  await expect.poll(() => server.metrics.render()).toMatch(hasOne);
  await expect.poll(() => server.metrics.render()).not.toMatch(hasOne);
  socket.destroy();
});
