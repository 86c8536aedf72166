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
  ])("%s is %s ms", (value, ms) => {
    expect(parseRetryAfter(value, now)).toBe(ms);
  });
});
