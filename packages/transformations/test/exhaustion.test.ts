import { afterAll, describe, expect, it } from "vitest";
import { openSandboxes, type TransformItem } from "../src/index.js";
import { codeOf, fixedOf, itemOf, itemsOf } from "./items.js";

const sandboxes = openSandboxes({ deadlineMs: 400 });
afterAll(() => sandboxes.close());

const innocent = codeOf("export default (m) => ({ ...m, event: 'fine' })");

async function isInnocentFine(): Promise<void> {
  expect(await sandboxes.run(innocent, [itemOf()])).toMatchObject([{ messages: [{ event: "fine" }] }]);
}

describe("exhaustion ends its own run, names the cause, and stops nobody else", () => {
  it.each([
    ["an endless loop", "for (;;) {}", "timeout"],
    ["one that catches all", "for (;;) { try { for (;;) {} } catch {} finally { continue } }", "timeout"],
    // Each promise waits for the next one, so the memory may end before the time.
    ["endless jobs", "const go = () => Promise.resolve().then(go); return go()", "timeout|memory"],
    [
      "endless jobs that nobody waits for",
      "(function f() { Promise.resolve().then(f) })(); return m",
      "timeout",
    ],
    [
      "endless jobs beside a result",
      "(function f() { Promise.resolve().then(f) })(); return Promise.resolve(m)",
      "timeout",
    ],
    [
      "endless jobs beside a promise that never settles",
      "(function f() { Promise.resolve().then(f) })(); return new Promise(() => {})",
      "timeout",
    ],
    [
      "endless jobs that take long",
      "const go = () => { for (let i = 0; i < 1e7; i++); Promise.resolve().then(go) }; go(); return new Promise(() => {})",
      "timeout",
    ],
    ["a promise that never settles", "return new Promise(() => {})", "never_settles"],
    ["a call that never asks for the time", "return [].indexOf.call({ length: 2 ** 53 - 1 }, 1)", "timeout"],
    ["endless waiting in a loop", "return (async () => { for (;;) await null })()", "timeout"],
    ["an endless generator", "return [...(function* () { for (;;) yield 1 })()]", "timeout|memory|exception"],
    ["a regular expression that explodes", "/(a+)+b/.test('a'.repeat(60))", "timeout"],
    [
      "a long native call",
      "const a = Array(3e6).fill(0).map((_, i) => -i); for (;;) a.sort(() => 1)",
      "timeout|memory",
    ],
    ["a huge text", "let s = 'a'; for (;;) s += s", "memory|exception"],
    ["many texts", "const a = []; for (let i = 0; ; i++) a.push('x'.repeat(1e6) + i)", "memory|timeout"],
    ["many objects", "const a = []; for (;;) a.push({ a })", "memory|timeout"],
    ["a huge buffer", "new Uint8Array(1e9)", "memory|exception"],
    ["a sparse array", "return Array(2 ** 32 - 1)", "too_large"],
    ["a long array of the same", "return Array(1e6).fill(m)", "too_large"],
    ["recursion", "const f = () => f() + 1; return f()", "stack"],
    ["recursion of getters", "const o = { get a() { return o.a } }; return o.a", "stack"],
    ["recursion of proxies", "const p = new Proxy({}, { get: (t, k, r) => r[k] }); return p.x", "stack"],
    [
      "a deep result",
      "let o = {}; for (let i = 0; i < 1e5; i++) o = { o }; return o",
      "stack|timeout|memory",
    ],
    ["a deep pattern", "new RegExp('('.repeat(1e5))", "exception|stack"],
    ["a cycle", "m.m = m; return m", "bad_result"],
    ["a BigInt", "m.n = 1n; return m", "bad_result"],
    ["a function", "return () => m", "bad_result"],
    ["a toJSON that is no object", "m.toJSON = () => 5; return m", "bad_result"],
    ["a toJSON that throws", "m.toJSON = () => { throw new Error('x') }; return m", "bad_result"],
    ["a toJSON without an end", "m.toJSON = () => { for (;;) {} }; return m", "timeout"],
    ["a getter that throws", "return { get a() { throw new Error('x') } }", "bad_result"],
    ["a proxy that lies", "return new Proxy({}, { ownKeys: () => { throw new Error('x') } })", "bad_result"],
    ["a proxy without a prototype", "return new Proxy({}, { getPrototypeOf() { for (;;) {} } })", "timeout"],
    [
      "an array that lies about its length",
      "return new Proxy([], { get: (t, k) => k === 'length' ? 2 ** 40 : t[k] })",
      "too_large",
    ],
    ["nothing in an array", "return [undefined]", "bad_result"],
    ["a thenable that is none", "return Object.setPrototypeOf({}, Promise.prototype)", "exception"],
    ["null thrown", "throw null", "exception"],
    ["undefined thrown", "throw undefined", "exception"],
    ["a symbol thrown", "throw Symbol('x')", "exception"],
    [
      "an error with traps",
      "throw Object.defineProperties(new Error(), { message: { get() { throw 1 } }, stack: { get() { throw 2 } }, name: { get() { throw 3 } } })",
      "exception",
    ],
    [
      "an error with a trap without an end",
      "throw Object.defineProperty(new Error(), 'message', { get() { for (;;) {} } })",
      "timeout",
    ],
    ["a proxy thrown", "throw new Proxy({}, { get() { throw 1 }, ownKeys() { throw 1 } })", "exception"],
    ["an error with a huge message", "throw new Error('x'.repeat(1e6))", "exception"],
    ["a rejection", "return Promise.reject(new Error('x'))", "exception"],
    [
      "a species that traps",
      "class P extends Promise { static get [Symbol.species]() { throw new Error('x') } } return new P(() => {})",
      "exception",
    ],
  ])("%s", async (_, body, code) => {
    const results = await sandboxes.run(codeOf(`export default (m) => {\n${body}\n}`), [itemOf()]);
    expect(results).toHaveLength(1);
    expect(results[0]).toMatchObject({ kind: "failed", code: expect.stringMatching(`^(${code})$`) });
    const { message } = results[0] as unknown as { message: string };
    expect(message).not.toBe("");
    expect(message.length).toBeLessThan(1_200);
    await isInnocentFine();
  });

  it("of a batch, those that left jobs without an end behind fail, and no others", async () => {
    const code = codeOf(`export default (m) => {
      if (m.properties.n === 2) (function f() { Promise.resolve().then(f) })();
      return m;
    }`);
    const results = await sandboxes.run(code, itemsOf(5));
    expect(results.map(({ kind }) => kind)).toEqual(["same", "same", "failed", "same", "same"]);
    expect(results[2]).toMatchObject({ code: "timeout", message: expect.stringContaining("left behind") });
  });

  it("objects without end are told as memory, whatever time there is", async () => {
    const patient = openSandboxes({ deadlineMs: 20_000 });
    const code = codeOf("export default (m) => { const a = []; for (;;) a.push({ a }) }");
    const [result] = await patient.run(code, [itemOf()]);
    await patient.close();
    expect(result).toMatchObject({ code: "memory", message: "More than 64 MB of memory were needed" });
  });

  it("thousands of lines of log are cut to 20, each to 1,024 characters, and counted", async () => {
    const code = codeOf(
      "export default (m, { log }) => { for (let i = 0; i < 2000; i++) log('x'.repeat(1100)); return m }",
    );
    const [result] = await sandboxes.run(code, [itemOf()]);
    expect(result?.kind).toBe("same");
    expect(result?.logs).toHaveLength(21);
    expect(result?.logs[0]?.text).toHaveLength(1_024);
    expect(result?.logs[20]).toEqual({ level: "warn", text: "1980 more lines were left out" });
  });

  it("a log of traps is a log", async () => {
    const code = codeOf(`export default (m, { log }) => {
      const cycle = {}; cycle.cycle = cycle;
      log(cycle, 1n, Symbol("s"), undefined, null, () => 1, { toJSON() { throw 1 } });
      return m;
    }`);
    const [result] = await sandboxes.run(code, [itemOf()]);
    expect(result).toMatchObject({
      kind: "same",
      logs: [{ text: expect.stringContaining("(cannot be shown)") }],
    });
  });

  it("the log of a message that ran out of time says what it did before", async () => {
    const [result] = await sandboxes.run(
      codeOf("export default (m, { log }) => { log('here'); for (;;) {} }"),
      [itemOf()],
    );
    expect(result).toMatchObject({ code: "timeout", logs: [{ level: "info", text: "here" }] });
  });

  it("a message that is nested too deeply for the VM fails alone", async () => {
    const deep: TransformItem = {
      fixed: fixedOf("deep"),
      timeMs: 0,
      json: `{"messageId":"deep","a":${"[".repeat(60_000)}${"]".repeat(60_000)}}`,
    };
    const [first, ...rest] = itemsOf(4);
    const code = codeOf("export default (m) => m");
    const results = await sandboxes.run(code, [first as TransformItem, deep, ...rest]);
    expect(results.map(({ kind }) => kind)).toEqual(["same", "failed", "same", "same", "same"]);
    // The engine looks for cycles in a way that takes long first.
    expect(results[1]).toMatchObject({ code: expect.stringMatching("stack|timeout") });
  });

  it("what others have under way runs while a key loops, and that key is kept apart from then on", async () => {
    const loop = codeOf("export default (m) => { for (;;) {} }");
    const looping = sandboxes.run(loop, itemsOf(3));
    const others = await Promise.all(Array.from({ length: 5 }, () => sandboxes.run(innocent, itemsOf(10))));
    for (const results of others) for (const result of results) expect(result.kind).toBe("messages");
    await looping;
    const again = sandboxes.run(loop, itemsOf(3)).then(() => "the loop");
    expect(await Promise.race([again, isInnocentFine().then(() => "the innocent")])).toBe("the innocent");
    await again;
  });
});
