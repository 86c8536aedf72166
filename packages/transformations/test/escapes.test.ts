import { afterAll, describe, expect, it } from "vitest";
import { openSandboxes } from "../src/index.js";
import { codeOf, itemOf, itemsOf } from "./items.js";

const sandboxes = openSandboxes();
afterAll(() => sandboxes.close());

/** Runs the body for two messages. The second must not notice what the first did. */
async function twice(body: string) {
  const results = await sandboxes.run(codeOf(`export default async (m, context) => {\n${body}\n}`), [
    itemOf({}, "a"),
    itemOf({}, "b"),
  ]);
  return results.map((result) => (result.kind === "messages" ? result.messages[0] : result));
}

describe("what leads out of the sandbox is not there", () => {
  it("no global but the language's own, console, and nothing that reads a clock, the network or another machine", async () => {
    const [result] = await twice("return { names: Reflect.ownKeys(globalThis).map(String).sort() }");
    const { names } = result as unknown as { names: string[] };
    expect(names).toContain("console");
    for (const name of [
      ...["eval", "WebAssembly", "SharedArrayBuffer", "Atomics", "WeakRef", "FinalizationRegistry", "Intl"],
      ...["fetch", "require", "process", "setTimeout", "performance", "std", "os", "scriptArgs", "print"],
    ])
      expect(names).not.toContain(name);
  });

  it.each([
    ["eval", "return eval('1')", "eval"],
    ["Function", "return new Function('return 1')()", "Code cannot be made from text"],
    [
      "the constructor of a function",
      "return (() => {}).constructor('return 1')()",
      "Code cannot be made from text",
    ],
    [
      "that of an asynchronous one",
      "return (async () => {}).constructor('return 1')()",
      "Code cannot be made",
    ],
    ["that of a generator", "return (function* () {}).constructor('return 1')()", "Code cannot be made"],
    [
      "that of an asynchronous generator",
      "return (async function* () {}).constructor('1')()",
      "Code cannot be made",
    ],
    ["import", "return await import('fs')", ""],
    ["import of itself", "return await import('transform.ts')", ""],
  ])("%s", async (_, body, message) => {
    for (const result of await twice(body))
      expect(result).toMatchObject({
        kind: "failed",
        code: expect.any(String),
        message: expect.stringContaining(message),
      });
  });

  it("the caller of a function, and its arguments", async () => {
    const body = "const f = function () { return [f.caller, arguments.callee] }; return { a: f() }";
    for (const result of await twice(body))
      expect(result).toMatchObject({ kind: "failed", code: "exception" });
  });
});

describe("nothing stays behind for the next message", () => {
  it.each([
    ["a global", "globalThis.left ??= m.messageId; return { left: globalThis.left }"],
    ["a global without a declaration", "left = m.messageId; return { left }"],
    ["a method of arrays", "Array.prototype.map = () => 1; return {}"],
    ["a new method of texts", "String.prototype.left = 1; return {}"],
    ["JSON", "JSON.stringify = () => '{}'; return {}"],
    ["JSON itself", "globalThis.JSON = {}; return {}"],
    ["Promise", "Promise.prototype.then = () => {}; return {}"],
    ["the prototype of all objects", "Object.prototype.left = 1; return {}"],
    ["its toString", "Object.prototype.toString = () => 1; return {}"],
    ["its prototype", "Object.setPrototypeOf(Object.prototype, {}); return {}"],
    ["__proto__", "({}).__proto__.left = 1; return {}"],
    ["the prototype of iterators", "[].values().__proto__.next = () => 1; return {}"],
    ["that of generators", "(function* () {})().__proto__.__proto__.left = 1; return {}"],
    ["an error's", "TypeError.prototype.name = 'X'; return {}"],
    ["stack traces", "Error.prepareStackTrace = () => 1; return {}"],
    ["the console", "console.left = 1; return {}"],
    ["the log", "context.log.left = 1; return {}"],
    ["sha256", "context.sha256.left = 1; return {}"],
    ["the context", "context.left = 1; return {}"],
    ["the secrets", "context.secrets.left = 1; return {}"],
    ["Date", "Date.now = () => 1; return {}"],
    ["the last match", "RegExp.left = 1; return {}"],
  ])("%s", async (_, body) => {
    for (const result of await twice(body))
      expect(result).toMatchObject({ kind: "failed", code: "exception" });
  });

  it("a symbol that was registered, the last match, or a promise that nobody waits for", async () => {
    const [first, second] = await twice(`
      const before = String(RegExp.$1); /(a)/.exec("a");
      void Promise.resolve().then(() => { m.late = 1 }).then(() => { context.log("late") });
      return { known: Symbol.keyFor(Symbol("x")), before };`);
    expect({ ...second, messageId: "a" }).toEqual(first);
  });

  it("in anything that the language has: all of it is frozen, and has no setter with a memory", async () => {
    const [found] = await twice(`
      const seeds = [globalThis, async () => {}, Object.getPrototypeOf(function* () {}), Object.getPrototypeOf(async function* () {}), [].values(), new Map().keys(),
        new Set().keys(), ""[Symbol.iterator](), "a".matchAll(/a/g), context, context.log];
      const seen = new Set(), open = [], setters = new Set();
      const own = new Set(seeds.slice(1, 9));
      const visit = (value, path) => {
        if ((typeof value !== "object" && typeof value !== "function") || value === null || seen.has(value)) return;
        seen.add(value);
        if (!Object.isFrozen(value) && !own.has(value)) open.push(path);
        visit(Reflect.getPrototypeOf(value), path + ".__proto__");
        for (const name of Reflect.ownKeys(value)) {
          const { value: inner, get, set } = Reflect.getOwnPropertyDescriptor(value, name);
          visit(inner, path + "." + String(name)); visit(get, path + ".get " + String(name)); visit(set, path + ".set " + String(name));
          if (set !== undefined) setters.add(String(name));
        }
      };
      seeds.forEach((seed, i) => visit(seed, "seed" + i));
      return { open, setters: [...setters].sort(), count: seen.size };`);
    const { open, setters, count } = found as unknown as { open: string[]; setters: string[]; count: number };
    expect(open).toEqual([]);
    expect(count).toBeGreaterThan(500);
    // Those of allowOwnFields, and what the language says.
    expect(setters).toEqual([
      ...["Symbol(Symbol.toStringTag)", "__defineGetter__", "__defineSetter__", "__lookupGetter__"],
      ...["__lookupSetter__", "__proto__", "arguments", "caller", "constructor", "hasOwnProperty"],
      ...[
        "isPrototypeOf",
        "message",
        "name",
        "propertyIsEnumerable",
        "toLocaleString",
        "toString",
        "valueOf",
      ],
    ]);
  });

  it("the same message has the same result alone, first, last, and behind one that fails", async () => {
    const code = codeOf(`
      const cache = []; let last;
      export default (m) => {
        cache.push(m.messageId); const before = last; last = m.messageId;
        if (m.properties.n === 1) { Object.assign(m, { poison: 1 }); throw new Error("no") }
        return { ...m, seen: cache.length, before: before ?? "nothing", date: Date.now(), own: new (class { #x = 1; get x() { return this.#x++ } })().x };
      }`);
    const items = itemsOf(6);
    const together = await sandboxes.run(code, items);
    for (const [n, item] of items.entries()) {
      expect(await sandboxes.run(code, [item])).toEqual([together[n]]);
    }
    const backwards = await sandboxes.run(code, items.toReversed());
    expect(backwards.toReversed()).toEqual(together);
  });
});

describe("objects stay free", () => {
  it.each([
    ["a field toString", "m.toString = 'x'; return m", { toString: "x" }],
    ["a field constructor", "m.constructor = 'x'; return m", { constructor: "x" }],
    [
      "a class of errors with a name",
      "class Mine extends Error { constructor(t) { super(t); this.name = 'Mine' } } try { throw new Mine('a') } catch (e) { return { is: String(e) } }",
      { is: "Mine: a" },
    ],
    ["a field __proto__", 'return JSON.parse(\'{"__proto__": {"a": 1}, "b": 2}\')', { b: 2 }],
  ])("for %s", async (_, body, expected) => {
    const [result] = await twice(body);
    for (const [name, value] of Object.entries(expected))
      expect(Object.entries(result as object)).toContainEqual([name, value]);
  });
});
