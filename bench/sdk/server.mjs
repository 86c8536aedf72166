/**
 * The receiving server, in its own process so that its time does not count for the client: reads each request and responds with 200,
 * after `SERVER_DELAY_MS`. Sends its port to its parent; on "totals" it sends what arrived.
 */
import { createServer } from "node:http";
import { gunzipSync } from "node:zlib";

const delayMs = Number(process.env.SERVER_DELAY_MS ?? 0);
let messages = 0;
let bodyBytes = 0;
let requests = 0;
let socketBytes = 0;
const sockets = new Set();

const server = createServer((request, response) => {
  const chunks = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () => {
    const body = Buffer.concat(chunks);
    requests += 1;
    bodyBytes += body.length;
    const text = request.headers["content-encoding"] === "gzip" ? gunzipSync(body) : body;
    messages += countMessages(text);
    const answer = () => {
      response.setHeader("content-type", "application/json");
      response.end('{"success":true}');
    };
    if (delayMs > 0) setTimeout(answer, delayMs);
    else answer();
  });
});
server.on("connection", (socket) => {
  sockets.add(socket);
  socket.on("close", () => {
    sockets.delete(socket);
    socketBytes += socket.bytesRead;
  });
});

/** Every message of the benchmark contains this once. */
const MARK = Buffer.from('"MAYDEALS"');

function countMessages(text) {
  let count = 0;
  for (let at = text.indexOf(MARK); at !== -1; at = text.indexOf(MARK, at + MARK.length)) count += 1;
  return count;
}

process.on("message", () => {
  let open = 0;
  for (const socket of sockets) open += socket.bytesRead;
  process.send({ messages, requests, bodyBytes, socketBytes: socketBytes + open });
});
process.on("disconnect", () => process.exit(0));
server.listen(0, "127.0.0.1", () => process.send({ port: server.address().port }));
