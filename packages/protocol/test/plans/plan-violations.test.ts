import { describe, expect, it } from "vitest";
import { type Plan, planViolations, readPlan, requestBudget } from "../../src/index.js";

function planOf(json: unknown): Plan {
  const reading = readPlan(json);
  if (reading.kind === "invalid") throw new Error(JSON.stringify(reading.issues));
  return reading.plan;
}

/** The violations of one property `x` with that schema. */
function ofValue(schema: unknown, x: unknown): string[] {
  const plan = planOf({
    $defs: { Id: { type: "string", minLength: 2 } },
    track: { E: { properties: { x: schema } } },
  });
  return planViolations({ type: "track", event: "E", properties: { x } }, plan).map(
    ({ path, message }) => `${path} ${message}`,
  );
}

describe("a value", () => {
  const rawJson = (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON;
  const cases: [name: string, schema: unknown, value: unknown, violations: string[]][] = [
    ["type", { type: "number" }, "5", ["properties.x must be a number, and is a string"]],
    ["one of two types", { type: ["string", "null"] }, null, []],
    ["an integer is a number", { type: "number" }, 5, []],
    [
      "a number is no integer",
      { type: "integer" },
      5.5,
      ["properties.x must be an integer, and is a number"],
    ],
    ["a number with many digits", { type: "integer", minimum: 10 }, rawJson("12345678901234567890"), []],
    ["enum", { enum: ["a", "b"] }, "c", ['properties.x must be one of "a", "b"']],
    ["const", { const: { a: [1] } }, { a: [1] }, []],
    ["const of another object", { const: { a: [1] } }, { a: [2] }, ['properties.x must be {"a":[1]}']],
    [
      "minLength counts characters",
      { minLength: 2 },
      "😀",
      ["properties.x must have at least 2 characters, and has 1"],
    ],
    ["maximum", { exclusiveMaximum: 5 }, 5, ["properties.x must be below 5"]],
    ["multipleOf with decimals", { multipleOf: 0.01 }, 4.35, []],
    ["not a multiple", { multipleOf: 0.01 }, 4.355, ["properties.x must be a multiple of 0.01"]],
    [
      "items",
      { items: { type: "string" } },
      ["a", 1],
      ["properties.x.1 must be a string, and is an integer"],
    ],
    ["maxItems", { maxItems: 1 }, [1, 2], ["properties.x must have at most 1 item, and has 2"]],
    ["required", { required: ["a"] }, {}, ["properties.x must have the property `a`"]],
    [
      "__proto__ is an ordinary name",
      { required: ["__proto__"] },
      {},
      ["properties.x must have the property `__proto__`"],
    ],
    [
      "additionalProperties: false",
      { properties: { a: {} }, additionalProperties: false },
      { a: 1, b: 2 },
      ["properties.x.b is not allowed"],
    ],
    [
      "additionalProperties as a schema",
      { additionalProperties: { type: "string" } },
      { b: 2 },
      ["properties.x.b must be a string, and is an integer"],
    ],
    [
      "anyOf",
      { anyOf: [{ type: "string" }, { minimum: 5 }] },
      4,
      ["properties.x fits none of the 2 schemas that are allowed"],
    ],
    [
      "oneOf that both fit",
      { oneOf: [{ type: "number" }, { minimum: 5 }] },
      6,
      ["properties.x must fit one of 2 schemas, and fits 2"],
    ],
    ["allOf", { allOf: [{ type: "number" }, { minimum: 5 }] }, 4, ["properties.x must be at least 5"]],
    ["not", { not: { const: 4 } }, 4, ["properties.x fits a schema that is ruled out"]],
    ["$ref", { $ref: "#/$defs/Id" }, "a", ["properties.x must have at least 2 characters, and has 1"]],
    ["format", { format: "email" }, "nobody", ["properties.x must have the format email"]],
    ["pattern", { pattern: "^[A-Z]{2}-\\d+$" }, "de-1", ["properties.x must match ^[A-Z]{2}-\\d+$"]],
  ];
  it.each(cases)("%s", (_name, schema, value, violations) =>
    expect(ofValue(schema, value)).toEqual(violations),
  );
});

describe("formats", () => {
  const cases: [format: string, right: string[], wrong: string[]][] = [
    ["date", ["2026-11-22"], ["2026-13-01", "22.11.2026"]],
    [
      "date-time",
      ["2026-11-22T10:00:00Z", "2026-11-22T10:00:00.5+01:00"],
      ["2026-11-22", "2026-11-22T25:00:00Z"],
    ],
    ["time", ["10:00:00Z"], ["10:00"]],
    ["email", ["a@b.example"], ["a@", "a b@c"]],
    ["hostname", ["a-b.example"], ["-a.example", "a..b"]],
    ["ipv4", ["10.0.0.1"], ["10.0.0.256", "10.0.1"]],
    ["ipv6", ["::1", "2001:db8::8:800:200c:417a", "::ffff:10.0.0.1"], ["1:2:3", ":::1", "12345::"]],
    ["uri", ["https://example.com/a?b"], ["/relative", "https://a b"]],
    ["uuid", ["123e4567-e89b-12d3-a456-426614174000"], ["123e4567"]],
  ];
  it.each(cases)("%s", (format, right, wrong) => {
    for (const text of right) expect(ofValue({ format }, text)).toEqual([]);
    for (const text of wrong) expect(ofValue({ format }, text)).toHaveLength(1);
  });
});

describe("a pattern matches what JavaScript's own engine matches", () => {
  const patterns = [
    "abc",
    "^abc$",
    "a|b|cd",
    "^(?:a|bc)*d?$",
    "a{2,3}b",
    "^a{2,}$",
    "[^a-c]",
    "[\\d.-]+",
    "\\.\\w\\s",
    "^$",
    "(a*)*b",
    "x+?y",
    "^.$",
    "\\u0041",
    "^\\ud83d\\ude00$",
    "[\\ud83d\\ude00-\\ud83d\\ude0f]",
    "\\ud83d\\u0041",
    "\\ud83d",
    "a$|^b",
    "[]",
    "[^]",
  ];
  const texts = [
    "",
    "a",
    "abc",
    "xabcx",
    "bcbcd",
    "aab",
    "aaaab",
    "1.5-",
    ".a ",
    "xxy",
    "\n",
    "A",
    "b",
    "dcba",
    "😀",
    "é",
  ];
  it.each(patterns)("%s", (pattern) => {
    for (const text of texts)
      expect([text, ofValue({ pattern }, text).length === 0]).toEqual([
        text,
        new RegExp(pattern, "u").test(text),
      ]);
  });
});

describe("a message", () => {
  const plan = planOf({
    track: { Paid: { required: ["total"] } },
    page: { Home: {} },
    identify: { required: ["email"], properties: { email: { type: "string" } } },
    alias: { properties: { previousId: { pattern: "^anon_" } } },
    unplanned: "violation",
  });
  const cases: [name: string, message: Record<string, unknown>, violations: string[]][] = [
    ["without properties", { type: "track", event: "Paid" }, ["properties must have the property `total`"]],
    [
      "of an event that is not planned",
      { type: "track", event: "Payed" },
      ["event is not in the tracking plan"],
    ],
    ["of a page without a name", { type: "page" }, ["name is not in the tracking plan"]],
    ["of a kind that is not planned", { type: "screen", name: "X" }, []],
    ["with some of the traits", { type: "identify", traits: { plan: "pro" } }, []],
    [
      "with a wrong trait",
      { type: "identify", traits: { email: 5 } },
      ["traits.email must be a string, and is an integer"],
    ],
    ["of an alias", { type: "alias", userId: "u", previousId: "x" }, ["previousId must match ^anon_"]],
  ];
  it.each(cases)("%s", (_name, message, violations) =>
    expect(planViolations(message, plan).map(({ path, message: text }) => `${path} ${text}`)).toEqual(
      violations,
    ),
  );

  it("of an unplanned event is fine if the plan allows it", () => {
    const open = planOf({ track: { Paid: {} } });
    expect(planViolations({ type: "track", event: "Other" }, open)).toEqual([]);
  });
});

describe("a message that is costly to check is given up", () => {
  const tooComplex = ["properties is too complex to check against the tracking plan"];
  const violationsOf = (plan: unknown, properties: unknown) =>
    planViolations({ type: "track", event: "E", properties }, planOf(plan)).map(
      ({ path, message }) => `${path} ${message}`,
    );

  it("by a pattern that counts nothing, for ever", () => {
    const plan = { track: { E: { properties: { x: { pattern: "^((((){9999}){9999}){9999}){9999}a$" } } } } };
    const event = (x: string) => ({ type: "track", event: "E", properties: { x } });
    expect(planViolations(event("a"), planOf(plan))).toEqual([]);
    expect(planViolations(event("b"), planOf(plan))).toHaveLength(1);
  });

  it("by a pattern that JavaScript's engine would backtrack on for ever", () => {
    const plan = { track: { E: { properties: { x: { pattern: "^((a+)+)+$" } } } } };
    expect(violationsOf(plan, { x: `${"a".repeat(30)}b` })).toEqual(["properties.x must match ^((a+)+)+$"]);
    expect(violationsOf(plan, { x: `${"a".repeat(32_000)}b` })).toEqual(tooComplex);
  });

  it("by branches that double at each level", () => {
    const branch = { properties: { a: { $ref: "#/$defs/T" } } };
    const plan = {
      $defs: {
        T: {
          anyOf: [
            { ...branch, required: ["q"] },
            { ...branch, required: ["z"] },
          ],
        },
      },
      track: { E: { $ref: "#/$defs/T" } },
    };
    const nested = (levels: number): unknown => (levels === 0 ? {} : { a: nested(levels - 1) });
    expect(violationsOf(plan, nested(60))).toEqual(tooComplex);
  });

  it("by values that are nested deeper than the stack is", () => {
    const plan = {
      $defs: { T: { properties: { a: { $ref: "#/$defs/T" } } } },
      track: { E: { $ref: "#/$defs/T" } },
    };
    const nested = (levels: number): unknown => (levels === 0 ? {} : { a: nested(levels - 1) });
    expect(violationsOf(plan, nested(900))).toEqual(tooComplex);
  });

  it("by many messages of one request", () => {
    const plan = planOf({ track: { E: { properties: { x: { pattern: "(a?){20}b" } } } } });
    const message = { type: "track", event: "E", properties: { x: "a".repeat(100) } };
    const budget = requestBudget(5_000);
    const found = Array.from({ length: 100 }, () => planViolations(message, plan, budget)[0]?.message);
    expect(found[0]).toBe("must match (a?){20}b");
    expect(found.at(-1)).toBe("is too complex to check against the tracking plan");
    expect(budget.stepsLeft).toBeLessThan(0);
  });

  it("takes a list that fills a message", () => {
    const plan = { track: { E: { properties: { x: { items: { type: "number" } } } } } };
    expect(violationsOf(plan, { x: Array.from({ length: 16_000 }, () => 1) })).toEqual([]);
  });
});
