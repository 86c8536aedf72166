/** How long a call takes with `held` messages in the queue: p50 and p99 in microseconds. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { Analytics } from "@sluice/node";
import { trackCall } from "./message.mjs";

const CALLS = 20_000;
const results = [];
const calls = Array.from({ length: CALLS }, (_, i) => trackCall(i));

for (const held of [1_000, 1_000, 10_000, 100_000]) {
  const analytics = new Analytics({
    writeKey: "bench",
    transport: { send: () => new Promise(() => {}) },
    maxQueueSize: 1_000_000,
    maxQueueBytes: 1_000_000_000,
    requestTimeoutMs: 3_600_000,
  });
  for (let i = 0; i < held; i++) analytics.track(calls[i % CALLS]);
  const micros = [];
  for (let i = 0; i < CALLS; i++) {
    const before = performance.now();
    analytics.track(calls[i]);
    micros.push((performance.now() - before) * 1_000);
    if (i % 50 === 49) await nextTurn();
  }
  micros.sort((a, b) => a - b);
  results.push({ held, p50: micros[CALLS * 0.5], p99: micros[CALLS * 0.99] });
  await analytics.close({ timeoutMs: 0 });
}
// The first round was the warm-up.
console.log(JSON.stringify(results.slice(1)));
process.exit(0);
