import { expect } from "vitest";
import { compileFilter } from "../../../../packages/protocol/src/filter/match-filter.js";
import {
  FILTER_LIMITS,
  formatFilter,
  parseFilter,
} from "../../../../packages/protocol/src/filter/parse-filter.js";
import { textTarget } from "../../engine/target.js";

const SUBJECT = {
  messageId: "m-1",
  sourceId: "src_1",
  message: {
    type: "track",
    event: "Signed Up",
    userId: "42",
    properties: { plan: "free", a: { b: [1, null] }, "": 0, __proto__: null },
    context: { ip: "203.0.113.7" },
  },
  outcomes: [{ destinationId: "dst_1", state: "failed" }],
};

export const filter = textTarget({
  name: "filter",
  rule: "a filter is refused with a place inside its text, or its text can be written again and means the same",
  runs: 3_000,
  alphabet: "text",
  dictionary: [
    "type:",
    "event:",
    "user:",
    "outcome:",
    "failed",
    "properties.",
    "traits.a",
    "-",
    "*",
    '"',
    '\\"',
    "destination:",
    "track",
    ":",
  ],
  maxLength: 300,
  check(text) {
    const parsed = parseFilter(text);
    if (!parsed.ok) {
      expect(parsed.issue.at).toBeGreaterThanOrEqual(0);
      expect(parsed.issue.at).toBeLessThanOrEqual(text.length);
      expect(parsed.issue.message.length).toBeLessThan(text.length + 300);
      return;
    }
    expect(parsed.filter.terms.length).toBeLessThanOrEqual(FILTER_LIMITS.terms);
    const written = formatFilter(parsed.filter);
    const again = parseFilter(written);
    if (written.length > FILTER_LIMITS.characters) return;
    expect(again, written).toEqual(parsed);
    expect(compileFilter(parsed.filter)(SUBJECT)).toBe(again.ok && compileFilter(again.filter)(SUBJECT));
  },
});
