import { expect } from "vitest";
import { formatTime, parseTime, resolveTime } from "../../../../packages/protocol/src/messages/timestamps.js";
import { textTarget } from "../../engine/target.js";

const RECEIVED_AT_MS = Date.UTC(2026, 10, 21, 9, 30);

/** The forms that `Date.parse` reads in the same way: ECMAScript's own format, with a zone. */
const ECMASCRIPT =
  /^\d{4}-\d\d-\d\d(?:T(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,3})?)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d))?$/;

export const timestamps = textTarget({
  name: "timestamps",
  rule: "a time is read as Date.parse reads it, can be written again, and no message gets a time that cannot",
  runs: 3_000,
  alphabet: "text",
  dictionary: ["T", "Z", "+01:00", "-2359", "24:00:00", "60", "02-29", "0000", "9999", ".276", ",", " "],
  maxLength: 80,
  check(text) {
    const ms = parseTime(text);
    if (ms === undefined) {
      if (ECMASCRIPT.test(text) && isRealDay(text)) expect(Math.abs(Date.parse(text))).toBeGreaterThan(6e13);
    } else {
      expect(Number.isInteger(ms)).toBe(true);
      expect(parseTime(formatTime(ms))).toBe(ms);
      if (ECMASCRIPT.test(text)) expect(ms).toBe(Date.parse(text));
    }
    for (const message of [
      { timestamp: text },
      { originalTimestamp: text, sentAt: text },
      { timestamp: text, sentAt: text },
    ])
      expect(formatTime(resolveTime(message, RECEIVED_AT_MS))).toHaveLength(24);
  },
});

/** `Date.parse` accepts 31 February. */
function isRealDay(text: string): boolean {
  const [year = 0, month = 0, day = 0] = text.slice(0, 10).split("-").map(Number);
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  return month > 0 && day > 0 && date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
}
