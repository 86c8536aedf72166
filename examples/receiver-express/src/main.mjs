// A webhook receiver in an Express application.
//
//   SHARED_SECRET=… node src/main.mjs
import { expressHandler, memoryDedupe } from "@sluice/webhooks";
import express from "express";

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

const app = express();
// It needs the raw body, so mount it before express.json().
app.all("/hook", expressHandler({ secret, onMessage, dedupe }));
app.use(express.json());

const server = app.listen(Number(PORT), "127.0.0.1", () => {
  console.log(`http://127.0.0.1:${server.address().port}/hook`);
});
