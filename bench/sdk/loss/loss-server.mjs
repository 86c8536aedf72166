/** Runs one scenario (`node loss-server.mjs NAME`) and counts which of the numbered messages arrive. */
import { createServer } from "node:http";
import { gunzipSync } from "node:zlib";
import { SCENARIOS } from "./scenarios.mjs";

const { fault } = SCENARIOS[process.argv[2]];
const arrived = new Map();
let requests = 0;
let firstMs;

const keep = (text) => {
  for (const message of JSON.parse(text).batch ?? []) {
    const number = message.properties?.number;
    arrived.set(number, (arrived.get(number) ?? 0) + 1);
  }
};

const server = createServer((request, response) => {
  const chunks = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () => {
    const body = Buffer.concat(chunks);
    const text = (request.headers["content-encoding"] === "gzip" ? gunzipSync(body) : body).toString();
    // Other requests of a client, such as for feature flags, are not batches.
    if (!text.includes('"batch"')) {
      response.end("{}");
      return;
    }
    requests += 1;
    firstMs ??= Date.now();
    const met = fault(requests, Date.now() - firstMs);
    if (met === "hang") return;
    if (met === "reset") return void request.socket.resetAndDestroy();
    if (met === undefined || met === "accept_then_reset") keep(text);
    if (met === "accept_then_reset") return void request.socket.resetAndDestroy();
    const headers = {
      "content-type": "application/json",
      ...(met?.retryAfter && { "retry-after": met.retryAfter }),
    };
    response.writeHead(met?.status ?? 200, headers);
    response.end(met ? '{"success":false}' : '{"success":true}');
  });
});
process.on("message", () => {
  const twice = [...arrived.values()].filter((times) => times > 1).length;
  process.send({ numbers: [...arrived.keys()], twice, requests });
});
process.on("disconnect", () => process.exit(0));
server.listen(0, "127.0.0.1", () => process.send({ port: server.address().port }));
