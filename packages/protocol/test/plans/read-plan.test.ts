import { describe, expect, it } from "vitest";
import { PLAN_LIMITS, readPlan } from "../../src/index.js";

function firstIssue(plan: unknown) {
  const reading = readPlan(plan);
  return reading.kind === "plan" ? undefined : reading.issues[0];
}

const deep = (levels: number): unknown => (levels === 0 ? {} : { items: deep(levels - 1) });

describe("readPlan names the place and the mistake", () => {
  const event = (schema: unknown) => ({ track: { Paid: schema } });
  const cases: [name: string, plan: unknown, path: string, message: RegExp][] = [
    ["not an object", [], "", /must be a JSON object/],
    ["an unknown field", { tracks: {} }, "/tracks", /is not a field of a tracking plan/],
    ["a kind that is no object", { track: [] }, "/track", /name → JSON Schema/],
    ["a schema that is no schema", event(5), "/track/Paid", /must be a JSON Schema/],
    ["an unknown keyword", event({ if: {} }), "/track/Paid/if", /`if` is not supported/],
    ["a slash in a name", { track: { "a/b": { else: {} } } }, "/track/a~1b/else", /not supported/],
    [
      "a wrong type",
      event({ properties: { total: { type: "float" } } }),
      "/track/Paid/properties/total/type",
      /one or more of/,
    ],
    [
      "required: true",
      event({ properties: { total: { required: true } } }),
      "/track/Paid/properties/total/required",
      /around this one/,
    ],
    ["a remote $ref", event({ $ref: "https://example.com/x" }), "/track/Paid/$ref", /of this file/],
    ["a $ref to nothing", event({ $ref: "#/$defs/X" }), "/track/Paid/$ref", /no definition `X`/],
    [
      "a $ref in a circle",
      { $defs: { A: { anyOf: [{ $ref: "#/$defs/B" }] }, B: { $ref: "#/$defs/A" } } },
      "/$defs/A",
      /refers to itself/,
    ],
    [
      "patterns that are too long together",
      event({ allOf: Array.from({ length: 60 }, () => ({ pattern: "a{900}" })) }),
      "/track/Paid/allOf/55/pattern",
      /too long together/,
    ],
    ["tuples", event({ items: [{}, {}] }), "/track/Paid/items", /not supported/],
    ["an unknown format", event({ format: "iban" }), "/track/Paid/format", /must be one of date/],
    ["a look-ahead", event({ pattern: "(?=a)" }), "/track/Paid/pattern", /no look-around/],
    ["a back reference", event({ pattern: "(a)\\1" }), "/track/Paid/pattern", /no back references/],
    ["a pattern that unfolds", event({ pattern: "((a{99}){99}){99}" }), "/track/Paid/pattern", /too long/],
    ["a negative length", event({ minLength: -1 }), "/track/Paid/minLength", /from 0 and whole/],
    ["nested too deep", event(deep(40)), `/track/Paid${"/items".repeat(32)}`, /nested deeper than 32/],
    ["unplanned", { unplanned: "refuse" }, "/unplanned", /"allow" or "violation"/],
    [
      "too many names",
      { track: Object.fromEntries(Array.from({ length: 2_001 }, (_, i) => [i, {}])) },
      "",
      /the most are 2000/,
    ],
  ];
  it.each(cases)("%s", (_name, plan, path, message) => {
    expect(firstIssue(plan)).toEqual({ path, message: expect.stringMatching(message) });
  });

  it("lists at most 20 mistakes", () => {
    const track = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [i, { if: {} }]));
    const reading = readPlan({ track });
    expect(reading.kind === "invalid" && reading.issues).toHaveLength(20);
  });

  it("takes a recursive definition that goes through a property", () => {
    const tree = { type: "object", properties: { children: { items: { $ref: "#/$defs/Tree" } } } };
    expect(firstIssue({ $defs: { Tree: tree }, track: { Grown: { $ref: "#/$defs/Tree" } } })).toBeUndefined();
  });

  it("ends soon for a long chain of definitions", () => {
    const chain = Object.fromEntries(
      Array.from({ length: PLAN_LIMITS.definitions + 1 }, (_, i) => [`d${i}`, { $ref: `#/$defs/d${i + 1}` }]),
    );
    expect(firstIssue({ $defs: chain })?.message).toMatch(/the most are 500|no definition/);
  });
});

describe("exports of other tools", () => {
  it("leave out rules of a kind that is no text", () => {
    const rules = [{ type: { toString: 1 } }, { eventType: ["track"], name: "A" }, { name: "Paid" }];
    const reading = readPlan({ rules });
    expect(reading.kind === "plan" && [...(reading.plan.track?.keys() ?? [])]).toEqual(["Paid"]);
  });

  const rule = {
    type: "object",
    properties: {
      properties: {
        type: "object",
        properties: { total: { type: "number", id: "/total" } },
        required: ["total"],
      },
    },
  };
  const traits = { properties: { traits: { properties: { email: { type: ["string", "null"] } } } } };
  const cases: [name: string, json: unknown][] = [
    [
      "Segment's file",
      {
        name: "Shop",
        rules: { events: [{ name: "Paid", description: "Money came", rules: rule }], identify: traits },
      },
    ],
    [
      "Segment's API",
      {
        data: {
          name: "Shop",
          rules: [
            { type: "TRACK", key: "Paid", jsonSchema: rule },
            { type: "IDENTIFY", jsonSchema: traits },
          ],
        },
      },
    ],
    [
      "RudderStack's file",
      {
        name: "Shop",
        events: [
          { name: "Paid", eventType: "track", rules: rule },
          { eventType: "identify", rules: traits },
        ],
      },
    ],
  ];
  it.each(cases)("%s", (_name, json) => {
    const reading = readPlan(json);
    if (reading.kind === "invalid") throw new Error(JSON.stringify(reading.issues));
    expect(reading.plan.track?.get("Paid")?.required).toEqual(["total"]);
    expect(reading.plan.identify?.properties?.get("email")?.types).toEqual(["string", "null"]);
  });
});
