import { createHmac, hash } from "node:crypto";
import { afterAll, describe, expect, it } from "vitest";
import { openSandboxes, type TransformCode, type TransformResult } from "../src/index.js";
import { codeOf, fixedOf, itemOf, itemsOf, TIME_MS } from "./items.js";

const sandboxes = openSandboxes();
afterAll(() => sandboxes.close());

async function runOne(
  code: string | TransformCode,
  fields: { readonly [name: string]: unknown } = {},
): Promise<TransformResult> {
  const [result] = await sandboxes.run(typeof code === "string" ? codeOf(code) : code, [itemOf(fields)]);
  return result as TransformResult;
}

const transformed = (fields: object) => ({
  ...fixedOf("m"),
  event: "Order Completed",
  ...fields,
});

describe("a transformation", () => {
  it.each([
    ["returns what it got", "(m) => m", { kind: "same" }],
    ["returns a copy of it", "(m) => ({ ...m })", { kind: "same" }],
    ["returns null", "() => null", { kind: "dropped" }],
    ["returns an empty array", "() => []", { kind: "messages", messages: [] }],
    ["is asynchronous", "async (m) => { await null; return m }", { kind: "same" }],
    ["drops asynchronously", "async () => null", { kind: "dropped" }],
  ])("that %s", async (_, body, expected) => {
    expect(await runOne(`export default ${body}`)).toEqual({ ...expected, logs: [] });
  });

  it("has each line of log with the message that wrote it, also beside those without", async () => {
    const code = codeOf(`export default (m, { log }) => {
      if (m.properties.n === 1) throw new Error("x");
      if (m.properties.n === 2) return null;
      if (m.properties.n === 4) log("four");
      return m;
    }`);
    const results = await sandboxes.run(code, itemsOf(6));
    const lines = results.map(({ logs }) => logs.map(({ text }) => text));
    expect(lines).toEqual([[], [], [], [], ["four"], []]);
  });

  it("changes a message", async () => {
    const code = "export default function transform(m) { m.event = 'Bought'; return m }";
    expect(await runOne(code)).toEqual({
      kind: "messages",
      messages: [transformed({ event: "Bought" })],
      logs: [],
    });
  });

  it("makes several messages, also of one and of the same, with ids of their own", async () => {
    const result = await runOne("export default (m) => [m, { ...m, event: 'Copy' }]");
    expect(result).toMatchObject({
      messages: [
        { messageId: "m.1", event: "Order Completed" },
        { messageId: "m.2", event: "Copy" },
      ],
    });
    expect(await runOne("export default (m) => [m]")).toMatchObject({ messages: [{ messageId: "m.1" }] });
  });

  it("may leave out what cannot be changed", async () => {
    expect(await runOne("export default () => ({ event: 'New' })")).toMatchObject({
      messages: [{ messageId: "m", type: "track", event: "New" }],
    });
  });

  it("gets the results of a batch in its order, over borders of batches", async () => {
    const code = codeOf(
      "export default (m) => m.properties.n % 3 ? m : { ...m, event: 'Third ' + m.properties.n }",
    );
    const results = await sandboxes.run(code, itemsOf(250));
    expect(results).toHaveLength(250);
    for (const [n, result] of results.entries())
      if (n % 3) expect(result.kind).toBe("same");
      else expect(result).toMatchObject({ messages: [{ messageId: `m${n}`, event: `Third ${n}` }] });
  });

  it("gets secrets and a log, which never shows them", async () => {
    const code = codeOf(
      `export default (m, { secrets, log }) => {
        log("key", secrets.partner, { a: 1 }); log.warn("w"); console.error(new Error("e " + secrets.partner));
        return { ...m, event: secrets.partner };
      }`,
      { secrets: { partner: "hush-hush" } },
    );
    expect(await runOne(code)).toMatchObject({
      messages: [{ event: "hush-hush" }],
      logs: [
        { level: "info", text: 'key [secret partner] {"a":1}' },
        { level: "warn", text: "w" },
        { level: "error", text: "Error: e [secret partner]" },
      ],
    });
  });

  it("has sha256, which is that of every other language", async () => {
    const code = `export default (m, { sha256 }) => ({
      a: sha256("abc"), b: sha256("ä\\u0000b", "key"), c: ["", "\\uFEFFä", "\u{1F600}", "a\\u0000b", "\\uD800"].map((one) => sha256(one)),
    })`;
    expect(await runOne(code)).toMatchObject({
      messages: [
        {
          a: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
          b: createHmac("sha256", "key").update("ä\0b").digest("hex"),
          c: ["", "\uFEFFä", "\u{1F600}", "a\0b", "\uFFFD"].map((one) => hash("sha256", one)),
        },
      ],
    });
  });

  it("sees the message's own time, in UTC", async () => {
    const code = `export default () => ({
      now: Date.now(), made: new Date(), text: Date(), hours: new Date().getHours(), local: new Date(2026, 0, 1).toISOString(),
      is: new Date() instanceof Date, own: new Date(0).constructor === Date, parsed: Date.parse("2026-01-01"),
    })`;
    expect(await runOne(code)).toMatchObject({
      messages: [
        {
          now: TIME_MS,
          made: "2026-05-17T09:30:00.000Z",
          text: "Sun May 17 2026 09:30:00 GMT+0000",
          hours: 9,
          local: "2026-01-01T00:00:00.000Z",
          is: true,
          own: true,
          parsed: Date.UTC(2026, 0, 1),
        },
      ],
    });
  });

  it("keeps nothing between messages, whatever it tries", async () => {
    const code = codeOf(`
      let n = 0; const seen = new Map(); class Counter { static n = 0 } const pattern = /o/g;
      export default (m) => {
        n++; seen.set(m.messageId, 1); Counter.n++; pattern.test("foo");
        return { ...m, n, size: seen.size, static: Counter.n, index: pattern.lastIndex };
      }`);
    const results = await sandboxes.run(code, itemsOf(120));
    for (const result of results)
      expect(result).toMatchObject({ messages: [{ n: 1, size: 1, static: 1, index: 2 }] });
  });

  it("keeps the digits of numbers that stay in their place", async () => {
    const json = `{"messageId":"m","type":"track","properties":{"big":12345678901234567890,"huge":1e400,"list":[0.12345678901234567890]}}`;
    const [result] = await sandboxes.run(codeOf("export default (m) => ({ ...m, event: 'x' })"), [
      { fixed: fixedOf("m"), timeMs: 0, json },
    ]);
    expect(JSON.stringify(result)).toContain(
      '"properties":{"big":12345678901234567890,"huge":1e400,"list":[0.12345678901234567890]},"event":"x"',
    );
  });
});

describe("a transformation that fails", () => {
  it.each([
    ["throws", "\n  throw new RangeError('no')", { code: "exception", message: "RangeError: no", line: 2 }],
    [
      "throws later",
      "await null;\n\n throw new Error('no')",
      { code: "exception", message: "Error: no", line: 3 },
    ],
    ["throws no error", "throw 5", { code: "exception", message: "threw 5" }],
    [
      "uses what is not there",
      "\nfetch('x')",
      { code: "exception", message: "ReferenceError: 'fetch' is not defined", line: 2 },
    ],
    [
      "returns nothing",
      "",
      { code: "bad_result", message: expect.stringContaining("return the message, or null") },
    ],
    ["returns a text", "return 'a'", { code: "bad_result" }],
    [
      "returns a list of texts",
      "return ['a']",
      { code: "bad_result", message: expect.stringContaining("Element 0") },
    ],
    [
      "changes the id",
      "m.messageId = 'x'; return m",
      { code: "bad_result", message: expect.stringContaining("messageId") },
    ],
    [
      "changes the type",
      "return [{ ...m, type: 'page' }]",
      { code: "bad_result", message: expect.stringContaining("type") },
    ],
    [
      "adds a time of receipt",
      "m.receivedAt = 'x'; return m",
      { code: "bad_result", message: expect.stringContaining("receivedAt") },
    ],
    ["never settles", "await new Promise(() => {})", { code: "never_settles" }],
    ["makes a message too large", "m.x = 'a'.repeat(40_000); return m", { code: "too_large" }],
    ["makes too many", "return Array(101).fill(m)", { code: "too_large" }],
    ["makes too much", "m.x = 'a'.repeat(20_000); return Array(90).fill(m)", { code: "too_large" }],
    ["calls chance", "Math.random()", { code: "exception", message: expect.stringContaining("Math.random") }],
  ])("because it %s", async (_, body, expected) => {
    const result = await runOne(`export default async (m) => {${body}}`);
    expect(result).toMatchObject({ kind: "failed", ...expected });
  });

  it.each([
    ["throws for the second", "if (m.properties.n === 1) throw new Error('no')", "exception"],
    ["never ends for the second", "while (m.properties.n === 1) {}", "timeout"],
    [
      "takes all memory for the second",
      "const a = []; while (m.properties.n === 1) a.push(new Uint8Array(1e5))",
      "memory",
    ],
    [
      "recurs without an end for the second",
      "const f = () => f() + 1; if (m.properties.n === 1) f()",
      "stack",
    ],
  ])("because it %s leaves the others of its batch alone", async (_, body, code) => {
    const results = await sandboxes.run(codeOf(`export default (m) => {\n${body};\nreturn m }`), itemsOf(5));
    expect(results.map((one) => one.kind)).toEqual(["same", "failed", "same", "same", "same"]);
    expect(results[1]).toMatchObject({ code });
  });

  it("for every message in the same way does not take a deadline for each", async () => {
    const results = await sandboxes.run(codeOf("export default () => { for (;;) {} }"), itemsOf(50));
    expect(results).toHaveLength(50);
    for (const result of results) expect(result).toMatchObject({ kind: "failed", code: "timeout" });
    expect(results[49]).toMatchObject({ message: expect.stringContaining("was not tried") });
  });
});
