import { expect } from "vitest";
import { parseRetryAfter } from "../../../../packages/resilience/src/retry-after.js";
import { textTarget } from "../../engine/target.js";

const NOW_MS = Date.UTC(2026, 10, 21, 9, 30);
const IMF_FIXDATE =
  /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), (?:0[1-9]|[12]\d) [A-Z][a-z]{2} (?:19|20)\d\d [01]\d:[0-5]\d:[0-5]\d GMT$/;

export const retryAfter = textTarget({
  name: "retry-after",
  rule: "a Retry-After is undefined or a whole number of milliseconds from 0, and a date is the one that Date.parse reads",
  runs: 3_000,
  alphabet: "text",
  dictionary: ["GMT", "UTC", "Nov", "Sun, ", "Sunday, ", "06-Nov-94 ", " 1994", ":60", "1.5"],
  maxLength: 120,
  check(text) {
    const ms = parseRetryAfter(text, NOW_MS);
    if (ms === undefined) return;
    expect(Number.isSafeInteger(ms)).toBe(true);
    expect(ms).toBeGreaterThanOrEqual(0);
    const dateMs = IMF_FIXDATE.test(text) ? Date.parse(text) : Number.NaN;
    if (!Number.isNaN(dateMs)) expect(ms).toBe(Math.max(0, dateMs - NOW_MS));
  },
});
