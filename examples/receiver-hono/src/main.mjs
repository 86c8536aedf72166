// A webhook receiver in a Hono application.
//
//   SHARED_SECRET=… node src/main.mjs
import { serve } from "@hono/node-server";
import { honoHandler, memoryDedupe } from "@sluice/webhooks";
import { Hono } from "hono";

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

const app = new Hono();
app.all("/hook", honoHandler({ secret, onMessage, dedupe }));

serve({ fetch: app.fetch, port: Number(PORT), hostname: "127.0.0.1" }, ({ port }) => {
  console.log(`http://127.0.0.1:${port}/hook`);
});
