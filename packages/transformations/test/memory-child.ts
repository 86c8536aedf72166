/** Runs the built package in a process of its own: prints the memory that it takes, in MB, in different states. See `memory.test.ts`. */
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { systemClock } from "@sluice/resilience";
import { openSandboxes, type TransformCode, type TransformItem } from "@sluice/transformations";

const MB = 1_048_576;
const residentMb = async (): Promise<number> => {
  globalThis.gc?.();
  await sleep(20);
  globalThis.gc?.();
  return Math.round(process.memoryUsage.rss() / MB);
};

const codeOf = (code: string): TransformCode => ({ key: code, code, language: "javascript", secrets: {} });
const itemsOf = (count: number): TransformItem[] =>
  Array.from({ length: count }, (_, n) => {
    const fixed = { messageId: `m${n}`, type: "track", receivedAt: "2026-05-17T09:30:01.000Z" };
    return { fixed, timeMs: 0, json: JSON.stringify({ ...fixed, event: "Seen", properties: { n } }) };
  });

const ATTACKS = [
  "const a = []; for (let i = 0; ; i++) a.push('x'.repeat(1e6) + i)",
  "const a = []; for (;;) a.push({ a })",
  "const a = []; for (;;) a.push(new Uint8Array(1e5))",
  "let s = 'a'; for (;;) s += s",
  "return Array(100).fill({ ...m, x: 'a'.repeat(30_000) })",
  "for (let i = 0; i < 5000; i++) console.log('x'.repeat(5000)); return m",
  "const a = Array(1e6).fill(0).map((_, i) => [i]); for (;;) a.push(...a.slice(0, 1000))",
  "return m",
];

/** Deadlines on the clock come five times as late, so that CPU time decides also on a busy machine. */
const clock = { ...systemClock, after: (ms: number, run: () => void) => systemClock.after(5 * ms, run) };
const sandboxes = openSandboxes({ idleMs: 60, clock });
// Any process of ours has threads before.
await once(new Worker("", { eval: true }), "exit");
const beforeMb = await residentMb();
await Promise.all(
  Array.from({ length: 16 }, (_, n) =>
    sandboxes.run(codeOf(`export default (m) => ({ ...m, n: ${n} })`), itemsOf(200)),
  ),
);
const ended = async (): Promise<number> => {
  while (sandboxes.stats().threads > 0) await sleep(20);
  return residentMb();
};
const idleMb = await ended();
const outcomes = await Promise.all(
  ATTACKS.map(async (body) => {
    const results = await sandboxes.run(codeOf(`export default (m) => {\n${body}\n}`), itemsOf(40));
    const last = results[0];
    return last?.kind === "failed" ? last.code : last?.kind;
  }),
);
const attackedMb = await ended();
const peakMb = Math.round(process.resourceUsage().maxRSS / 1_024);
console.log(JSON.stringify({ beforeMb, idleMb, outcomes, attackedMb, peakMb }));
await sandboxes.close();
