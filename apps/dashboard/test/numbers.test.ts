import { expect, test } from "vitest";
import { bytes, count, counted, duration, percent, perSecond } from "../src/words/numbers.js";
import { relativeTime } from "../src/words/times.js";

test.each([
  [0, "0 ms"],
  [0.4, "< 1 ms"],
  [84.4, "84 ms"],
  [999.4, "999 ms"],
  [1_000, "1 s"],
  [1_250, "1.2 s"],
  [59_999, "59 s"],
  [60_000, "1 min"],
  [90_500, "1 min 30 s"],
  [13_500_000, "3 h 45 min"],
  [86_400_000, "1 d"],
  [30 * 86_400_000, "30 d"],
])("%d ms is %s", (ms, words) => expect(duration(ms)).toBe(words));

test.each([
  [0, "0 %"],
  [0.000_01, "< 0.1 %"],
  [0.0123, "1.2 %"],
  [0.5, "50 %"],
  [0.9931, "99.3 %"],
  [0.999_999, "> 99.9 %"],
  [1, "100 %"],
])("a share of %d is %s: never all while one is missing", (share, words) =>
  expect(percent(share)).toBe(words),
);

test("counts, rates and sizes", () => {
  expect(count(12_408)).toBe("12,408");
  expect(count(1_240_800)).toBe("1.2M");
  expect(counted(1, "message")).toBe("1 message");
  expect(counted(0, "message")).toBe("0 messages");
  expect(counted(2, "delivery", "deliveries")).toBe("2 deliveries");
  expect(perSecond(0)).toBe("0/s");
  expect(perSecond(2.345)).toBe("2.3/s");
  expect(perSecond(1_234.5)).toBe("1,235/s");
  expect(bytes(1_024)).toBe("1.0 KB");
  expect(bytes(33_000)).toBe("32.2 KB");
});

test.each([
  [0, "just now"],
  [-999, "just now"],
  [-12_000, "12 s ago"],
  [-100_000, "1 min ago"],
  [-7_300_000, "2 h ago"],
  [200_000, "in 3 min"],
])("%d ms from now is %s", (distance, words) => {
  const now = Date.UTC(2026, 10, 21);
  expect(relativeTime(now + distance, now)).toBe(words);
});
