// A webhook receiver in a Fastify application.
//
//   SHARED_SECRET=… node src/main.mjs
import { fastifyHandler, memoryDedupe } from "@sluice/webhooks";
import Fastify from "fastify";

const { SHARED_SECRET: secret, PORT = "8800" } = process.env;
if (!secret) {
  console.error("Set SHARED_SECRET to the destination's shared secret.");
  process.exit(2);
}

/** A message comes at least once: this process handles each id once. */
const dedupe = memoryDedupe();

function onMessage(message, { messageId, attempt }) {
  // `message.type` tells which: track, identify, page, screen, group, alias or delete.
  const what = message.type === "track" ? `${message.type} ${JSON.stringify(message.event)}` : message.type;
  console.log(`${messageId}: ${what} (attempt ${attempt})`);
}

const app = Fastify();
// As a plugin it has a parser of its own, which keeps the very bytes that were signed; the other routes keep theirs.
app.register(fastifyHandler({ secret, onMessage, dedupe }), { prefix: "/hook" });

const address = await app.listen({ port: Number(PORT), host: "127.0.0.1" });
console.log(`${address}/hook`);
