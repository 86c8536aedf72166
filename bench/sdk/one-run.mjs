/**
 * One client and one load in one process: `node one-run.mjs clients/NAME|peers/NAME stream|paced COUNT URL`.
 * Prints one line of JSON: CPU microseconds per message (user and system, all threads), from the first call after the warm-up to the
 * end of `close()`.
 */
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import { trackCall } from "./message.mjs";

const [client, manner, countText, url] = process.argv.slice(2);
const count = Number(countText);
const WARM_UP = 5_000;
const { open } = await import(`./${client}.mjs`);

const warm = open(url);
for (let i = 0; i < WARM_UP; i++) {
  warm.track(trackCall(i));
  if (i % 50 === 49) await nextTurn();
}
await warm.close();

const measured = open(url);
const calls = Array.from({ length: count }, (_, i) => trackCall(i));
globalThis.gc?.();
const startedMs = performance.now();
const before = process.cpuUsage();
if (manner === "stream") {
  for (let i = 0; i < count; i++) {
    measured.track(calls[i]);
    if (i % 50 === 49) await nextTurn();
  }
} else {
  // 5,000 a second: 25 every 5 ms, paced by the clock so that late timers do not slow it down.
  for (let i = 0; i < count; i++) {
    measured.track(calls[i]);
    if (i % 25 === 24) await sleep(Math.max(0, startedMs + (i + 1) / 5 - performance.now()));
  }
}
await measured.close();
const { user, system } = process.cpuUsage(before);
console.log(
  JSON.stringify({
    cpuMicros: (user + system) / count,
    wallMs: performance.now() - startedMs,
    warmUp: WARM_UP,
  }),
);
process.exit(0);
