/**
 * The minimum for receiving and forwarding messages: the server of `ingest-floor.mjs` (node:http, JSON.parse once, raw bodies
 * appended with one fdatasync for all that came during the last one, then the 200), and behind it one undici pool that posts each
 * message, signed. It validates, dedupes, traces, retries and looks up nothing.
 *
 * Sends `{port, writeKey}` when it is ready, and takes the same messages as `delivery-collector.mjs`: `{destinations: [url]}`,
 * `{mark: true}`, `{cpu: true}`.
 */
import { createHmac } from "node:crypto";
import { fdatasync, mkdtempSync, openSync, rmSync, writev } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Pool } from "undici";
import { answerCpuTime } from "./cpu-time.mjs";

const CONNECTIONS = 50;
const directory = mkdtempSync(join(tmpdir(), "sluice-floor-"));
const file = openSync(join(directory, "log"), "a");
const unsent = [];
let nextUnsent = 0;
let sending = 0;
let pool;
let path;

async function sendOne() {
  const message = unsent[nextUnsent++];
  if (nextUnsent === unsent.length) {
    unsent.length = 0;
    nextUnsent = 0;
  }
  const body = Buffer.from(JSON.stringify({ version: 1, ...message }));
  const answer = await pool.request({
    path,
    method: "POST",
    headers: {
      "user-agent": "Sluice/1.0",
      "content-type": "application/json",
      "x-message-id": message.messageId,
      "x-attempt": "1",
      "x-signature": createHmac("sha1", "a shared secret").update(body).digest("hex"),
    },
    body,
  });
  await answer.body.dump();
  if (answer.statusCode !== 200) throw new Error(`answered ${answer.statusCode}`);
}

async function worker() {
  while (nextUnsent < unsent.length) await sendOne();
  sending--;
}

function send(messages) {
  for (const message of messages) unsent.push(message);
  while (sending < CONNECTIONS && sending < unsent.length - nextUnsent) {
    sending++;
    worker();
  }
}

let waiting = [];
let isWriting = false;

function commit() {
  if (isWriting || waiting.length === 0) return;
  isWriting = true;
  const group = waiting;
  waiting = [];
  const bodies = group.map(({ body }) => body);
  writev(file, bodies, (error) => {
    if (error) throw error;
    fdatasync(file, (error) => {
      if (error) throw error;
      for (const { response, messages } of group) {
        const answer = `{"success":true,"accepted":${messages.length}}`;
        response.writeHead(200, { "content-type": "application/json", "content-length": answer.length });
        response.end(answer);
        send(messages);
      }
      isWriting = false;
      commit();
    });
  });
}

const server = createServer((request, response) => {
  const chunks = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () => {
    const body = chunks.length === 1 ? chunks[0] : Buffer.concat(chunks);
    const parsed = JSON.parse(body.toString());
    waiting.push({ body, response, messages: parsed.batch ?? [parsed] });
    commit();
  });
});

answerCpuTime();
process.on("message", (message) => {
  if (message.destinations === undefined) return;
  const url = new URL(message.destinations[0]);
  pool = new Pool(url.origin, { connections: CONNECTIONS, pipelining: 1 });
  path = url.pathname;
  process.send({ ids: ["floor"] });
});
process.on("SIGTERM", () => {
  rmSync(directory, { recursive: true, force: true });
  process.exit(0);
});
server.listen(0, "127.0.0.1", () => process.send({ port: server.address().port, writeKey: "floor" }));
