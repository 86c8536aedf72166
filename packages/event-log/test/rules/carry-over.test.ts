import { expect, test } from "vitest";
import { carriedOver, carryOver } from "../../src/rules/carry-over.js";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

test.each([
  ["a start right after the end", 1_000, undefined],
  ["a clock adjusted by a little", -1_000, undefined],
  ["a stop as long as the longest wait", 15 * MINUTE, undefined],
  ["a clock set back", -3 * HOUR, { dueMs: -3 * HOUR, windowMs: -3 * HOUR }],
  ["a clock set forward, or a long stop", 48 * HOUR, { dueMs: 0, windowMs: 48 * HOUR - 15 * MINUTE }],
])("%s", (_case, passedMs, expected) => {
  expect(carryOver(1e12, 1e12 + passedMs)).toEqual(expected);
});

test.each([
  ["set back: what was left of the delay is left", -3 * HOUR, { dueInMs: 10 * MINUTE, ageMs: HOUR }],
  [
    "set forward: due at once, the window 15 minutes shorter",
    48 * HOUR,
    { dueInMs: 10 * MINUTE - 48 * HOUR, ageMs: 1.25 * HOUR },
  ],
])("%s", (_case, passedMs, { dueInMs, ageMs }) => {
  const lastMs = 1e12;
  const nowMs = lastMs + passedMs;
  const shift = carryOver(lastMs, nowMs) ?? { dueMs: 0, windowMs: 0 };
  const url = { url: "https://hooks.example/a", rounds: 2, dueAtMs: lastMs + 10 * MINUTE };
  const retry = { firstAttemptAtMs: lastMs - HOUR, dueAtMs: lastMs + 10 * MINUTE, urls: [url] };
  expect(carriedOver(retry, shift)).toEqual({
    firstAttemptAtMs: nowMs - ageMs,
    dueAtMs: nowMs + dueInMs,
    urls: [{ ...url, dueAtMs: nowMs + dueInMs }],
  });
});
