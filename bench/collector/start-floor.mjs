/**
 * The minimum for a start: node:http, undici, and one file of messages, a JSON line each. It posts the messages of the file from
 * the first one on, signed, and appends the messages of a request with one fdatasync before it answers. It reads the whole file at no
 * time, and validates, dedupes and looks up nothing.
 *
 * Environment: `SLUICE_DATA_DIR` has the file `log` and the file `target` with the URL of the receiver. It reports that it is ready
 * as the collector does.
 */
import { createHmac } from "node:crypto";
import { createReadStream, fdatasync, openSync, readFileSync, write } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Pool } from "undici";

const { createServer } = process.getBuiltinModule("node:http");
const folder = process.env.SLUICE_DATA_DIR;
const log = join(folder, "log");
const { origin, pathname } = new URL(readFileSync(join(folder, "target"), "utf8"));
const pool = new Pool(origin, { connections: 50 });
const file = openSync(log, "a");

async function post(message) {
  const body = Buffer.from(JSON.stringify({ version: 1, ...message }));
  const answer = await pool.request({
    path: pathname,
    method: "POST",
    headers: {
      "content-type": "application/json",
      "x-message-id": message.messageId,
      "x-signature": createHmac("sha1", "a shared secret").update(body).digest("hex"),
    },
    body,
  });
  await answer.body.dump();
}

const server = createServer((request, response) => {
  const chunks = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () => {
    const { batch } = JSON.parse(Buffer.concat(chunks).toString());
    const lines = batch.map((message) => `${JSON.stringify(message)}\n`).join("");
    write(file, lines, (error) => {
      if (error) throw error;
      fdatasync(file, (error) => {
        if (error) throw error;
        response.writeHead(200, { "content-type": "application/json" });
        response.end(JSON.stringify({ success: true, accepted: batch.length }));
        for (const message of batch) post(message);
      });
    });
  });
});
server.listen(0, "127.0.0.1", () => {
  process.stderr.write(
    `${JSON.stringify({ msg: "ready", url: `http://127.0.0.1:${server.address().port}` })}\n`,
  );
});
for await (const line of createInterface({ input: createReadStream(log) })) await post(JSON.parse(line));
