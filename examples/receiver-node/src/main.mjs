// A webhook receiver that uses only node:http.
//
//   SHARED_SECRET=… node src/main.mjs
import { createServer } from "node:http";
import { memoryDedupe, nodeHandler } from "@sluice/webhooks";

const { SHARED_SECRET: secret, PORT = "8800" } = process.env;
if (!secret) {
  console.error("Set SHARED_SECRET to the destination's shared secret.");
  process.exit(2);
}

/** A message may arrive more than once: this process handles each id once. */
const dedupe = memoryDedupe();

function onMessage(message, { messageId, attempt }) {
  // `message.type` is track, identify, page, screen, group, alias or delete.
  const what = message.type === "track" ? `${message.type} ${JSON.stringify(message.event)}` : message.type;
  console.log(`${messageId}: ${what} (attempt ${attempt})`);
}

const handle = nodeHandler({ secret, onMessage, dedupe });
const server = createServer((request, response) => {
  if (request.url === "/hook") handle(request, response);
  else response.writeHead(404).end();
});
server.listen(Number(PORT), "127.0.0.1", () => {
  console.log(`http://127.0.0.1:${server.address().port}/hook`);
});
