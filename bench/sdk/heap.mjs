/** Heap bytes per queued message, after a full garbage collection. Needs --expose-gc. */
import { Analytics } from "@sluice/node";
import { trackCall } from "./message.mjs";

const COUNT = 50_000;
const analytics = new Analytics({
  writeKey: "bench",
  transport: { send: () => new Promise(() => {}) },
  maxQueueSize: 1_000_000,
  maxQueueBytes: 1_000_000_000,
});
for (let i = 0; i < 2_000; i++) analytics.track(trackCall(i));
globalThis.gc();
const before = process.memoryUsage();
for (let i = 0; i < COUNT; i++) analytics.track(trackCall(i));
globalThis.gc();
const after = process.memoryUsage();
const bytes = after.heapUsed - before.heapUsed + after.external - before.external;
console.log(JSON.stringify({ bytesPerMessage: bytes / COUNT }));
process.exit(0);
