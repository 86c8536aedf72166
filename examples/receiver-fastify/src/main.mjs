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

/** A message may arrive more than once: this process handles each id once. */
const dedupe = memoryDedupe();

function onMessage(message, { messageId, attempt }) {
  // `message.type` is track, identify, page, screen, group, alias or delete.
  const what = message.type === "track" ? `${message.type} ${JSON.stringify(message.event)}` : message.type;
  console.log(`${messageId}: ${what} (attempt ${attempt})`);
}

const app = Fastify();
// As a plugin it has its own parser, which keeps the raw body. Other routes are not affected.
app.register(fastifyHandler({ secret, onMessage, dedupe }), { prefix: "/hook" });

const address = await app.listen({ port: Number(PORT), host: "127.0.0.1" });
console.log(`${address}/hook`);
