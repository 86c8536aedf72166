import { connect } from "node:net";
import { gzipSync } from "node:zlib";
import { expect } from "vitest";
import {
  basic,
  type IngestServer,
  startIngestServer,
  WRITE_KEY,
} from "../../../../apps/collector/test/ingest/ingest-server.js";
import { textTarget } from "../../engine/target.js";

/**
 * The bytes of one connection. A line that begins with `@@` says how they travel: `@@pause` sends what follows a moment later, `@@end`
 * and `@@reset` end the connection there. `@@chunk`, `@@length` and `@@gzip` frame the bytes up to the next such line as a correct
 * client would, so that changes elsewhere still reach the parser of messages.
 */
type Step = { readonly kind: "send"; readonly bytes: Buffer } | { readonly kind: "pause" | "end" | "reset" };

let server: IngestServer;
let connections = 0;

export const AUTHORIZATION = `Authorization: ${basic(WRITE_KEY)}`;

export const httpRequests = textTarget({
  name: "http-requests",
  rule: "whatever bytes a connection sends, answers are 2xx or 4xx, what is acknowledged is stored once, and others are still served",
  runs: 150,
  alphabet: "bytes",
  isLinear: false,
  maxLength: 30_000,
  dictionary: [
    ...[
      "POST /v1/batch HTTP/1.1\r\nHost: x\r\n",
      "GET /healthz HTTP/1.1\r\n\r\n",
      `${AUTHORIZATION}\r\n`,
      "\r\n\r\n",
      "\n@@pause\n",
      "\n@@end\n",
    ],
    ...[
      "\n@@reset\n",
      "\n@@chunk\n",
      "\n@@length\n",
      "\n@@gzip\n",
      "Content-Length: 5\r\n",
      "Content-Length: 5, 6\r\n",
      "Content-Length: +5\r\n",
    ],
    ...[
      "Transfer-Encoding: chunked\r\n",
      "Transfer-Encoding: identity\r\n",
      "Transfer-Encoding: chunked, identity\r\n",
      "Transfer-Encoding : chunked\r\n",
    ],
    ...[
      "transfer-encoding: xchunked\r\n",
      "0\r\n\r\n",
      "5;a=b\r\n",
      "ffffffffffffffff\r\n",
      "Expect: 100-continue\r\n",
      "Connection: close\r\n",
    ],
    ...[
      "Connection: upgrade\r\nUpgrade: h2c\r\n",
      "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
      "HTTP/1.0\r\n",
      "X: y\r\n\tfolded\r\n",
      "Content-Encoding: gzip\r\n",
    ],
    ...[
      "POST /v1/batch HTTP/1.1\n",
      "\x16\x03\x01",
      "X-A: b\r\n".repeat(40),
      "Host: y\r\n",
      '{"batch":[{"type":"page","userId":"u","messageId":"m-9"}]}',
    ],
  ],
  async open() {
    server = await startIngestServer({
      limits: {
        headersTimeoutMs: 600,
        requestTimeoutMs: 800,
        timeoutCheckMs: 50,
        keepAliveTimeoutMs: 50,
        drainTimeoutMs: 200,
      },
    });
    return () => server.close();
  },
  async check(input) {
    const before = server.store.stats().messages;
    // Each connection has messages of its own, so that nothing is a duplicate of an earlier input.
    const unique = input.replaceAll("m-", `m${connections++}-`);
    const answer = await exchange(stepsOf(unique));
    const statuses = Array.from(answer.matchAll(/HTTP\/1\.1 (\d{3}) /g), ([, status]) => status ?? "");
    for (const status of statuses) expect(status).toMatch(/^(100|2..|4..)$/);
    expect(answer).not.toMatch(/\bat .*:\d+:\d+/);
    let accepted = 0;
    for (const [, count, , twice = "0"] of answer.matchAll(
      /"success":true,"accepted":(\d+)(,"rejected":\[.*?\])?(?:,"duplicates":(\d+))?/g,
    ))
      accepted += Number(count) - Number(twice);
    expect(server.store.stats().messages - before).toBeGreaterThanOrEqual(accepted);
    const good = await server.post("/v1/page", { userId: "u", messageId: `good ${connections++}` });
    expect(good).toMatchObject({ status: 200, body: { accepted: 1 } });
    const logged = server.logged.splice(0);
    expect(logged.filter((line) => line.includes('"level":"error"'))).toEqual([]);
  },
});

function stepsOf(input: string): Step[] {
  const [first = "", ...rest] = input.split(/\n@@/);
  const steps: Step[] = [{ kind: "send", bytes: Buffer.from(first, "latin1") }];
  for (const part of rest) {
    const end = part.indexOf("\n");
    const [command, content] = end < 0 ? [part, ""] : [part.slice(0, end), part.slice(end + 1)];
    if (command === "pause" || command === "end" || command === "reset") steps.push({ kind: command });
    steps.push({ kind: "send", bytes: framed(command, Buffer.from(content, "latin1")) });
  }
  return steps;
}

function framed(command: string, content: Buffer): Buffer {
  const headers = (more: string, body: Buffer): Buffer =>
    Buffer.concat([Buffer.from(`\r\n${more}Content-Length: ${body.length}\r\n\r\n`), body]);
  switch (command) {
    case "chunk":
      return Buffer.concat([Buffer.from(`${content.length.toString(16)}\r\n`), content, Buffer.from("\r\n")]);
    case "length":
      return headers("", content);
    case "gzip":
      return headers("Content-Encoding: gzip\r\n", gzipSync(content));
    default:
      return content;
  }
}

/** Everything that came back until the server ended the connection, or we did. */
function exchange(steps: readonly Step[]): Promise<string> {
  return new Promise((resolve) => {
    let received = "";
    const socket = connect({ port: server.port, host: "127.0.0.1", allowHalfOpen: true });
    socket.setEncoding("latin1").on("data", (chunk) => {
      received += chunk;
    });
    socket.on("end", () => socket.destroy());
    socket.on("error", () => {});
    socket.on("close", () => resolve(received));
    socket.on("connect", () => send(steps, socket));
  });
}

function send(steps: readonly Step[], socket: import("node:net").Socket): void {
  for (const [index, step] of steps.entries()) {
    if (step.kind === "send") {
      if (step.bytes.length > 0 && !socket.writableEnded) socket.write(step.bytes);
    } else if (step.kind === "end") socket.end();
    else if (step.kind === "reset") socket.resetAndDestroy();
    else {
      const rest = steps.slice(index + 1);
      setTimeout(() => (socket.destroyed || socket.writableEnded ? undefined : send(rest, socket)), 5);
      return;
    }
  }
  // Nothing more comes: a half request ends at once instead of at the server's time limit.
  if (!socket.destroyed && !socket.writableEnded) setTimeout(() => socket.end(), 5);
}
