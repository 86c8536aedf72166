import { describe, expect, it } from "vitest";
import { parseRetryAfter } from "../src/index.js";

const now = Date.UTC(2026, 10, 21, 9, 30, 0);

describe("parseRetryAfter", () => {
  it.each<[value: string | null | undefined, ms: number | undefined]>([
    ["5", 5_000],
    [" 120 ", 120_000],
    ["0", 0],
    ["1.5", 1_500],
    ["Sat, 21 Nov 2026 09:30:07 GMT", 7_000],
    ["Saturday, 21-Nov-26 09:30:07 GMT", 7_000],
    ["Sat Nov 21 09:30:07 2026", 7_000],
    ["Sat Nov  1 09:30:07 2026", 0],
    ["Sunday, 06-Nov-94 08:49:37 GMT", 0],
    ["Sat, 21 Nov 2026 09:29:00 GMT", 0],
    [undefined, undefined],
    [null, undefined],
    ["", undefined],
    ["-5", undefined],
    ["soon", undefined],
    ["1e3", undefined],
    ["0x10", undefined],
    ["99999999999999999999", undefined],
    ["Sat, 21 Foo 2026 09:30:07 GMT", undefined],
    ["Sat, 99 Nov 2026 09:30:07 GMT", undefined],
    ["2026-11-21T09:30:07Z", undefined],
    // Whole milliseconds, rounded up: never earlier than asked.
    ["1.25", 1_250],
    ["0.0001", 1],
    ["x5", undefined],
    ["5x", undefined],
    ["5.", undefined],
    // A two-digit year is at most 50 years ahead.
    ["Saturday, 21-Nov-76 09:30:00 GMT", Date.UTC(2076, 10, 21, 9, 30) - now],
    ["Sunday, 21-Nov-77 09:30:00 GMT", 0],
    // The last moments of a day and an hour, a leap second, and what lies beyond.
    ["Mon, 31 Dec 2026 23:59:59 GMT", Date.UTC(2026, 11, 31, 23, 59, 59) - now],
    ["Mon, 31 Dec 2026 23:59:60 GMT", Date.UTC(2027, 0, 1) - now],
    ["Tue, 01 Dec 2026 00:00:00 GMT", Date.UTC(2026, 11, 1) - now],
    ["Tue, 1 Dec 2026 00:00:00 GMT", Date.UTC(2026, 11, 1) - now],
    ["Tue, 00 Dec 2026 09:30:07 GMT", undefined],
    ["Tue, 32 Dec 2026 09:30:07 GMT", undefined],
    ["Tue, 01 Dec 2026 24:30:07 GMT", undefined],
    ["Tue, 01 Dec 2026 09:60:07 GMT", undefined],
    ["Tue, 01 Dec 2026 09:30:61 GMT", undefined],
    // Any case, UTC for GMT, and more than one space.
    ["sat, 21 nov 2026 09:30:07 utc", 7_000],
    ["Sat,  21 Nov 2026  09:30:07  GMT", 7_000],
    ["Wednesday, 25-Nov-26 09:30:00 GMT", 4 * 86_400_000],
    ["sat  nov  21  09:30:07  2026", 7_000],
    // Nothing before or behind a date.
    ["at Sat, 21 Nov 2026 09:30:07 GMT", undefined],
    ["Sat, 21 Nov 2026 09:30:07 GMT+1", undefined],
    ["Sat, 21 Nov 2026 09:30:07 PST", undefined],
    ["Sa, 21 Nov 2026 09:30:07 GMT", undefined],
    ["on Sat Nov 21 09:30:07 2026", undefined],
    ["Sat Nov 21 09:30:07 2026 GMT", undefined],
  ])("%s is %s ms", (value, ms) => {
    expect(parseRetryAfter(value, now)).toBe(ms);
  });

  it("knows the twelve months", () => {
    for (const [index, month] of "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ").entries()) {
      const ms = Date.UTC(2027, index, 5) - now;
      expect(parseRetryAfter(`Tue, 05 ${month} 2027 00:00:00 GMT`, now)).toBe(ms);
      expect(parseRetryAfter(`Tue ${month}  5 00:00:00 2027`, now)).toBe(ms);
    }
  });
});
