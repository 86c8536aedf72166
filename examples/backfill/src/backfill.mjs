// Sends the orders of a file, one JSON object per line. It needs the same memory for a thousand and for a million.
//
//   SLUICE_WRITE_KEY=… SLUICE_URL=http://127.0.0.1:8787 node src/backfill.mjs orders.jsonl
import { appendFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { Analytics } from "@sluice/node";

const { SLUICE_WRITE_KEY: writeKey, SLUICE_URL: host, MAX_IN_FLIGHT = "1" } = process.env;
const [path] = process.argv.slice(2);
if (writeKey === undefined || path === undefined) {
  console.error("Usage: SLUICE_WRITE_KEY=… node src/backfill.mjs FILE");
  process.exit(2);
}

const analytics = new Analytics({
  writeKey,
  host,
  // More than 1 is faster if the collector is far away, but orders may then arrive out of order.
  maxInFlight: Number(MAX_IN_FLIGHT),
  // A script can wait: with so many retries, it outlasts an outage of hours.
  maxRetries: 1_000,
  onError: (status, message, { messages }) => {
    console.error(`lost ${messages.length}: ${status} ${message}`);
    for (const { messageId } of messages) appendFileSync(`${path}.lost`, `${messageId}\n`);
  },
});

const file = await open(path);
for await (const line of file.readLines()) {
  const { id, customer, at, total, items } = JSON.parse(line);
  // Waits while the queue is full. It must come right before the call.
  await analytics.ready();
  analytics.track({
    // The id comes from the row, so you can run the script again: the collector recognizes what it has.
    messageId: `order-${id}`,
    userId: customer,
    event: "Order Completed",
    timestamp: at,
    properties: { total, items },
  });
}

// `flush()` has no deadline. `close()` would give up after a minute.
await analytics.flush();
await analytics.close();

const { delivered, failed, refused, peakQueued } = analytics.stats();
const peakMb = Math.round(process.resourceUsage().maxRSS / 1_024);
console.log(`delivered ${delivered}, lost ${failed + refused}`);
console.log(`at most ${peakQueued} messages in the queue, ${peakMb} MB of memory`);
process.exitCode = failed + refused === 0 ? 0 : 1;
