/**
 * The minimum for ingestion: node:http, JSON.parse once, the raw body appended to a file, one fdatasync for all that arrived
 * during the last one, then the 200. No write keys, no validation, no dedupe, no look-up.
 * Sends `{port, writeKey}` when it is ready.
 */
import { fdatasync, mkdtempSync, openSync, rmSync, writev } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { answerCpuTime } from "./cpu-time.mjs";

const directory = mkdtempSync(join(tmpdir(), "sluice-floor-"));
const file = openSync(join(directory, "log"), "a");

let waiting = [];
let isWriting = false;

function commit() {
  if (isWriting || waiting.length === 0) return;
  isWriting = true;
  const group = waiting;
  waiting = [];
  const fail = (error) => {
    for (const { response } of group) response.writeHead(503).end(String(error));
  };
  writev(
    file,
    group.map(({ body }) => body),
    (error) => {
      if (error) return fail(error);
      fdatasync(file, (error) => {
        if (error) return fail(error);
        for (const { response, accepted } of group) {
          const answer = `{"success":true,"accepted":${accepted}}`;
          response.writeHead(200, { "content-type": "application/json", "content-length": answer.length });
          response.end(answer);
        }
        isWriting = false;
        commit();
      });
    },
  );
}

const server = createServer((request, response) => {
  const chunks = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () => {
    const body = chunks.length === 1 ? chunks[0] : Buffer.concat(chunks);
    const { batch } = JSON.parse(body.toString());
    waiting.push({ body, response, accepted: batch?.length ?? 1 });
    commit();
  });
});
answerCpuTime();
server.listen(0, "127.0.0.1", () => process.send({ port: server.address().port, writeKey: "floor" }));
process.on("SIGTERM", () => {
  rmSync(directory, { recursive: true, force: true });
  process.exit(0);
});
