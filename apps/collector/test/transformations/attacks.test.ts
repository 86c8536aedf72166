import { afterAll, beforeAll, expect, it } from "vitest";
import { openReceiver } from "../audiences/collector-world.js";
import { type CollectorProcess, startCollectorProcess } from "../bad-input/collector-process.js";

const MB = 1_048_576;
const MOST_BYTES = 512 * MB;

/** What a function does with each message, and why its message fails. */
const ATTACKS: readonly (readonly [name: string, body: string, codes: string])[] = [
  ["an endless loop", "for (;;) {}", "timeout"],
  ["one that catches all", "for (;;) { try { for (;;) {} } catch {} finally { continue } }", "timeout"],
  ["a call that never asks for the time", "[].indexOf.call({ length: 2 ** 53 - 1 }, 1)", "timeout"],
  ["an expression that explodes", "/(a+)+b/.test('a'.repeat(60))", "timeout"],
  ["endless jobs", "const go = () => Promise.resolve().then(go); return go()", "timeout|memory"],
  ["jobs that nobody waits for", "(function f() { Promise.resolve().then(f) })(); return m", "timeout"],
  ["a promise that never settles", "return new Promise(() => {})", "never_settles"],
  ["a getter without an end", "return { get a() { for (;;) {} } }", "timeout"],
  ["a huge text", "let s = 'a'; for (;;) s += s", "memory|exception|InternalError|RangeError"],
  ["many texts", "const a = []; for (let i = 0; ; i++) a.push('x'.repeat(1e6) + i)", "memory|timeout"],
  ["many objects", "const a = []; for (;;) a.push({ a })", "memory|timeout"],
  ["many buffers", "const a = []; for (;;) a.push(new Uint8Array(1e6))", "memory|timeout|RangeError"],
  ["a long array", "return Array(1e6).fill(m)", "too_large"],
  ["a large message", "m.x = 'x'.repeat(40_000); return m", "too_large"],
  ["recursion", "const f = () => f() + 1; return f()", "stack"],
  ["a deep result", "let o = {}; for (let i = 0; i < 1e5; i++) o = { o }; return o", "stack|timeout|memory"],
  ["a deep pattern", "new RegExp('('.repeat(1e5))", "SyntaxError|stack"],
  ["a change of arrays", "Array.prototype.map = () => 1; return m", "TypeError"],
  ["a field of all objects", "m.__proto__.polluted = 1; return m", "TypeError"],
  ["a constructor's constructor", "return m.constructor.constructor('return process')()", "TypeError"],
  ["a look at the process", "return process.env", "ReferenceError"],
  ["an import", "return import('node:fs')", "\\w+"],
  ["another's id", "m.messageId = 'x'; return m", "bad_result"],
  ["a thrown trap", "throw new Proxy({}, { get() { for (;;) {} } })", "timeout"],
];
const INNOCENT = "export default (m, { log }) => { log('fine'); return { ...m, event: m.event + '!' } }";
const INNOCENTS = 6;

let collector: CollectorProcess;
let receiver: Awaited<ReturnType<typeof openReceiver>>;
beforeAll(async () => {
  [collector, receiver] = await Promise.all([
    startCollectorProcess({ mostBytes: MOST_BYTES }),
    openReceiver(),
  ]);
});
afterAll(() => Promise.all([collector?.close(), receiver?.close()]));

async function destination(name: string, code: string): Promise<string> {
  const made = await collector.api("POST", "/transformations", { name, code });
  expect(made.status, JSON.stringify(made.body)).toBe(201);
  const created = await collector.api("POST", "/destinations", {
    type: "webhooks",
    name,
    sourceIds: [collector.sourceId],
    settings: { webhooks: [{ url: receiver.url }] },
    transformationId: made.body.id,
  });
  expect(created.status, JSON.stringify(created.body)).toBe(201);
  return created.body.id;
}

async function send(ids: readonly string[]): Promise<void> {
  const batch = ids.map((messageId) => ({ type: "track", event: "Seen", userId: "ada", messageId }));
  const { status } = await fetch(`${collector.url}/v1/batch`, {
    method: "POST",
    headers: {
      authorization: `Basic ${Buffer.from(`${collector.writeKey}:`).toString("base64")}`,
      "content-type": "application/json",
    },
    body: JSON.stringify({ batch }),
  });
  expect(status).toBe(200);
}

const innocentsGot = (count: number) =>
  receiver.until((got) => got.filter(({ event }) => event === "Seen!").length === count * INNOCENTS);

it(`${ATTACKS.length} of ${ATTACKS.length + INNOCENTS} destinations attack a collector of 512 MB: each fails with its cause, no other is stopped`, async () => {
  const attackers = new Map<string, string>();
  for (const [name, body] of ATTACKS)
    attackers.set(name, await destination(name, `export default (m) => {\n${body}\n}`));
  await destination(
    "thousands of lines",
    "export default (m, { log }) => { for (let i = 0; i < 5e3; i++) log('x'.repeat(5e3)); return m }",
  );
  for (let n = 0; n < INNOCENTS; n++) await destination(`innocent ${n}`, INNOCENT);

  await send(["m-0"]);
  await innocentsGot(1);
  const reasons: string[][] = [];
  for (const [name, , codes] of ATTACKS) {
    const path = `/wait?messageId=m-0&destinationId=${attackers.get(name)}&state=failed&timeoutMs=60000`;
    const { body } = await collector.api("GET", path);
    const { reason } = body.outcomes.find(
      (one: { destinationId: string }) => one.destinationId === attackers.get(name),
    );
    if (!new RegExp(`^transform_failed: ${name}, version 1: (line \\d+, )?(${codes})$`).test(reason))
      reasons.push([name, reason]);
  }
  expect(reasons).toEqual([]);

  // Those that took time are apart now: the others have the shared thread for themselves.
  const more = Array.from({ length: 20 }, (_, n) => `m-${n + 1}`);
  await send(more);
  await innocentsGot(21);
  const { peakBytes } = await collector.memory();
  expect(collector.isRunning, collector.stderr()).toBe(true);
  expect(peakBytes).toBeLessThan(MOST_BYTES);
}, 300_000);
