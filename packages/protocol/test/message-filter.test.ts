import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type FilterSubject, formatFilter, matchesFilter, parseFilter } from "../src/index.js";

const signedUp: FilterSubject = {
  messageId: "m-1",
  sourceId: "src_1",
  message: {
    type: "track",
    event: "Signed Up",
    userId: "42",
    properties: { plan: "pro", seats: 5, nested: { deep: true }, "utm.source": "mail", nothing: null },
    context: { page: { path: "/pricing" } },
  },
  outcomes: [
    { destinationId: "a", state: "delivered" },
    { destinationId: "b", state: "failed" },
  ],
};

function matches(text: string, subject: FilterSubject = signedUp): boolean {
  const parsed = parseFilter(text);
  if (!parsed.ok) throw new Error(parsed.issue.message);
  return matchesFilter(parsed.filter, subject);
}

describe("a filter", () => {
  it.each([
    ["nothing asked", "", true],
    ["the whole example", 'type:track event:"Signed Up" user:42 outcome:failed', true],
    ["one term that does not hold", "type:track user:43", false],
    ["the same field twice: either", "type:identify type:track", true],
    ["a prefix", "event:Sign*", true],
    ["a quoted asterisk is no prefix", 'event:"Sign*"', false],
    ["not", "-type:identify", true],
    ["not, where it holds", "-type:track", false],
    ["a path", "properties.plan:pro", true],
    ["a number at a path", "properties.seats:5", true],
    ["a boolean deep down", "properties.nested.deep:true", true],
    ["a path that is not there", "properties.none:1", false],
    ["a name with dots", "properties.utm.source:mail", true],
    ["what is null", "properties.nothing:null", false],
    ["an inherited name at a path", "properties.constructor:x", false],
    ["text, ignoring case", "PRICING", true],
    ["two texts: both", "pricing nowhere", false],
    ["quoted text with a colon", '"path\\":\\"/pricing"', true],
    ["a state none has", "outcome:filtered", false],
    ["a state and a destination of one outcome", "destination:a outcome:delivered", true],
    ["a state and a destination of two outcomes", "destination:a outcome:failed", false],
    ["no such outcome", "-outcome:failed", false],
  ])("%s", (_name, text, expected) => {
    expect(matches(text)).toBe(expected);
  });

  it.each([
    ['event:"Signed Up', "quotation mark"],
    ["type:", "needs a value"],
    ["colour:red", "is not a field"],
    ["https://example.com", "quotation marks"],
    ["outcome:lost", "must be one of"],
  ])("refuses %s and says why", (text, message) => {
    const parsed = parseFilter(text);
    expect(parsed.ok).toBe(false);
    if (!parsed.ok) expect(parsed.issue.message).toContain(message);
  });

  it.each([
    ["more than 50 terms", "a ".repeat(3_000).slice(0, 1_500), "50 terms"],
    ["more than 2,000 characters", "x".repeat(2_001), "2000 characters"],
  ])("refuses %s", (_name, text, message) => {
    const parsed = parseFilter(text);
    expect(parsed.ok).toBe(false);
    if (!parsed.ok) expect(parsed.issue.message).toContain(message);
    expect(parseFilter("a ".repeat(50)).ok).toBe(true);
  });

  it("writes a message as text once, however many terms look for text in it", () => {
    const parsed = parseFilter(Array.from({ length: 50 }, (_, i) => `-text${i}`).join(" "));
    if (!parsed.ok) throw new Error(parsed.issue.message);
    let written = 0;
    const counted = {
      toJSON: () => {
        written++;
        return {};
      },
    };
    expect(matchesFilter(parsed.filter, { ...signedUp, message: { properties: counted } })).toBe(true);
    expect(written).toBe(1);
  });

  it("writes an object that many terms ask for once", () => {
    const terms = Array.from({ length: 50 }, (_, i) => `-properties.nested:${i}`).join(" ");
    const parsed = parseFilter(terms);
    if (!parsed.ok) throw new Error(parsed.issue.message);
    let written = 0;
    const nested = {
      toJSON: () => {
        written++;
        return {};
      },
    };
    expect(matchesFilter(parsed.filter, { ...signedUp, message: { properties: { nested } } })).toBe(true);
    expect(written).toBe(1);
  });

  it("reads again what formatFilter wrote, whatever the values are", () => {
    const value = fc.string({ minLength: 1, maxLength: 12 });
    const term = fc.tuple(fc.constantFrom("event", "user", "properties.a", ""), fc.boolean(), value);
    fc.assert(
      fc.property(fc.array(term, { maxLength: 4 }), (terms) => {
        const text = terms
          .map(
            ([name, negated, raw]) =>
              `${negated ? "-" : ""}${name === "" ? "" : `${name}:`}"${raw.replace(/["\\]/g, "\\$&")}"`,
          )
          .join(" ");
        const first = parseFilter(text);
        if (!first.ok) throw new Error(first.issue.message);
        expect(parseFilter(formatFilter(first.filter))).toEqual(first);
      }),
    );
  });

  it("never throws, whatever is typed", () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        parseFilter(text);
      }),
    );
  });
});
