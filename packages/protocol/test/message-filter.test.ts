import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  asksMessage,
  asksOutcomes,
  type FilterSubject,
  formatFilter,
  matchesFilter,
  messageTerms,
  outcomeTerms,
  parseFilter,
} from "../src/index.js";

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
    ["a prefix of what is not there", "group:x*", false],
    ["two paths of the same letters are two fields", "properties.plan:pro properties.pl.an:x", false],
    ["a state none has, and not a destination", "outcome:filtered -destination:c", false],
    ["no such outcome", "-outcome:failed", false],
    ["a text that is there and one that is not", "pricing nowhere", false],
    ["not a text", "-pricing", false],
    ["an object, as JSON", 'properties.nested:"{\\"deep\\":true}"', true],
    ["a prefix of a path", "properties.plan:pr*", true],
    ["a prefix that is no prefix", "event:ign*", false],
    ["the start of a value, without an asterisk", "event:Sign", false],
    ["two paths: both", "properties.plan:pro properties.seats:6", false],
    ["a path twice: either", "properties.plan:free properties.plan:pro", true],
    ["one of two unwanted", "-type:identify -user:42", false],
    ["the message's id", "id:m-1", true],
    ["another id", "id:m-2", false],
    ["the source", "source:src_1", true],
    ["another source", "source:src_2", false],
    ["a field that the message does not have", "group:g", false],
    ["a destination that has an outcome", "destination:b", true],
    ["a destination that has none", "destination:c", false],
    ["a prefix of a destination", "destination:a*", true],
    ["two states: either", "outcome:failed outcome:filtered", true],
    ["no outcome at this destination", "-destination:a", false],
    ["no outcome at another destination", "-destination:c", true],
    ["failed, but not here", "outcome:failed -destination:a", false],
    ["failed, and no outcome there", "outcome:failed -destination:c", true],
    ["no outcome that is both", "-destination:a -outcome:failed", true],
    ["an outcome that is both", "-destination:b -outcome:failed", false],
    ["an outcome and a message term that does not hold", "outcome:failed type:page", false],
    ["a message term and an outcome that none has", "type:track outcome:filtered", false],
  ])("%s", (_name, text, expected) => {
    expect(matches(text)).toBe(expected);
  });

  it.each([
    ["name:Home", true],
    ["name:Docs", false],
    ["anonymous:a1", true],
    ["anonymous:a2", false],
    ["group:g1", true],
    ["group:g2", false],
    ["user:u1", false],
    ["event:Home", false],
  ])("%s on a page view: %s", (text, expected) => {
    const message = { type: "page", name: "Home", anonymousId: "a1", groupId: "g1" };
    expect(matches(text, { ...signedUp, message })).toBe(expected);
  });

  it.each([
    ["outcome:failed", false],
    ["destination:a", false],
    ["-outcome:failed", true],
    ["type:track", true],
  ])("%s on a message without outcomes: %s", (text, expected) => {
    const { outcomes: _, ...fresh } = signedUp;
    expect(matches(text, fresh)).toBe(expected);
  });

  it.each([
    ["", "", ""],
    ["type:track", "type:track", ""],
    ["outcome:failed", "", "outcome:failed"],
    ["destination:a", "", "destination:a"],
    ["outcome:failed text properties.outcome:1", "text properties.outcome:1", "outcome:failed"],
  ])("%j asks %j of the message and %j of its outcomes", (text, ofMessage, ofOutcomes) => {
    const parsed = parseFilter(text);
    if (!parsed.ok) throw new Error(parsed.issue.message);
    expect(formatFilter(messageTerms(parsed.filter))).toBe(ofMessage);
    expect(formatFilter(outcomeTerms(parsed.filter))).toBe(ofOutcomes);
    expect(asksMessage(parsed.filter)).toBe(ofMessage !== "");
    expect(asksOutcomes(parsed.filter)).toBe(ofOutcomes !== "");
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
