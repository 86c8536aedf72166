import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { identifyResults, openSandboxes } from "../src/index.js";
import { parseKeepingDigits } from "../src/results.js";
import { codeOf, fixedOf } from "./items.js";

describe("identifyResults", () => {
  const fixed = { messageId: "m", type: "track", receivedAt: "2026-01-01" };
  const original = { ...fixed, event: "a" };

  it.each([
    ["a single result keeps the id", [{ ...original, event: "b" }], false, [{ ...original, event: "b" }]],
    ["an array of one does not", [original], true, [{ ...original, messageId: "m.1" }]],
    [
      "an array counts from 1",
      [original, original],
      true,
      [
        { ...original, messageId: "m.1" },
        { ...original, messageId: "m.2" },
      ],
    ],
    ["an empty array is empty", [], true, []],
    [
      "what was left out comes back",
      [{ event: "b" }],
      false,
      [{ event: "b", messageId: "m", type: "track", receivedAt: "2026-01-01" }],
    ],
  ])("%s", (_, results, isArray, messages) => {
    const identified = results.map((result) => structuredClone(result));
    expect(identifyResults(fixed, identified, isArray)).toBeUndefined();
    expect(identified).toEqual(messages);
  });

  it.each([
    ["messageId", { ...original, messageId: "n" }],
    ["type", { ...original, type: "page" }],
    ["receivedAt", { ...original, receivedAt: null }],
  ])("%s cannot be changed", (field, result) => {
    for (const isArray of [false, true])
      expect(identifyResults(fixed, [structuredClone(result)], isArray)).toMatchObject({
        code: "bad_result",
        message: expect.stringContaining(field),
      });
  });
});

describe("parseKeepingDigits", () => {
  it.each([
    ["an integer", '{"a":12345678901234567890}', '{"a":12345678901234567000}', '{"a":12345678901234567890}'],
    ["a decimal", '{"a":0.1234567890123456789}', '{"a":0.12345678901234568}', '{"a":0.1234567890123456789}'],
    ["what is beyond a double", '{"a":1e999}', '{"a":null}', '{"a":1e999}'],
    [
      "what is in a list",
      '{"a":[1,{"b":9007199254740993}]}',
      '{"a":[1,{"b":9007199254740992}]}',
      '{"a":[1,{"b":9007199254740993}]}',
    ],
    ["a number that was changed", '{"a":12345678901234567890}', '{"a":5}', '{"a":5}'],
    [
      "a number that moved",
      '{"a":12345678901234567890}',
      '{"b":12345678901234567000}',
      '{"b":12345678901234567000}',
    ],
    [
      "a number in __proto__",
      '{"__proto__":{"a":12345678901234567890}}',
      '{"__proto__":{"a":12345678901234567000}}',
      '{"__proto__":{"a":12345678901234567890}}',
    ],
    [
      "a list that became an object",
      '{"a":[12345678901234567890]}',
      '{"a":{"0":12345678901234567000}}',
      '{"a":{"0":12345678901234567000}}',
    ],
    ["a text that looks like one", '{"a":"12345678901234567890"}', '{"a":"x"}', '{"a":"x"}'],
    [
      "an object that looks like one",
      '{"b":1e5,"a":{"rawJSON":"1"}}',
      '{"b":1e5,"a":{"rawJSON":"2"}}',
      '{"b":1e5,"a":{"rawJSON":"2"}}',
    ],
  ])("%s", (_, original, result, expected) => {
    expect(JSON.stringify(parseKeepingDigits(result, original))).toBe(expected);
  });
});

describe("a transformation that returns its input", () => {
  const sandboxes = openSandboxes();
  afterAll(() => sandboxes.close());
  const run = codeOf("export default (m) => m");

  /** JSON text that is not as `JSON.stringify` writes it: with spaces, escapes and numbers in other forms. */
  const loose = fc
    .tuple(
      fc.json(),
      fc.constantFrom("1.0", "1e3", "-0", "12345678901234567890", "0.1e-400", "1E400"),
      fc.string(),
    )
    .map(([value, number, text]) => {
      const escaped = [...text]
        .map((one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`)
        .join("");
      return `{ "messageId" : "m",\n"a": ${value} , "n":${number}, "${escaped}":[], "2":2, "1":1, "a":${value}}`;
    });

  it("is seen as the same, for any message", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.oneof(
            loose,
            fc.json().map((a) => `{"messageId":"m","a":${a}}`),
          ),
          { maxLength: 30 },
        ),
        async (texts) => {
          const items = texts.map((json) => ({ fixed: fixedOf("m"), timeMs: 0, json }));
          expect(await sandboxes.run(run, items)).toEqual(texts.map(() => ({ kind: "same", logs: [] })));
        },
      ),
      { numRuns: 150 },
    );
  });

  it("for any text and number", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.record({
            t: fc.string({ unit: "binary" }),
            n: fc.double(),
            k: fc.dictionary(fc.string(), fc.double()),
          }),
          { maxLength: 30 },
        ),
        async (fields) => {
          const items = fields.map((one) => ({
            fixed: fixedOf("m"),
            timeMs: 0,
            json: JSON.stringify({ messageId: "m", ...one }),
          }));
          expect(await sandboxes.run(run, items)).toEqual(items.map(() => ({ kind: "same", logs: [] })));
        },
      ),
      { numRuns: 150 },
    );
  });
});
