import { expect, test } from "vitest";
import {
  firstTrustedTime,
  nextTrustedTime,
  type TrustedTime,
  trustedMs,
} from "../../src/rules/trusted-time.js";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** What is trusted after the wall clock stood so far from the truth for so long each, read every ten seconds. */
function after(stretches: readonly (readonly [setByMs: number, forMs: number])[], lastMs?: number): number {
  let monotonicMs = 0;
  let time: TrustedTime | undefined;
  for (const [setByMs, forMs] of stretches) {
    for (const endMs = monotonicMs + forMs; monotonicMs < endMs; monotonicMs += 10 * SECOND) {
      const reading = { wallMs: monotonicMs + setByMs, monotonicMs };
      time = time === undefined ? firstTrustedTime(reading, lastMs) : nextTrustedTime(time, reading);
    }
  }
  return trustedMs(time ?? { offsetMs: 0 }, monotonicMs) - monotonicMs;
}

test.each<[string, [number, number][], number | undefined, number]>([
  ["a clock that is right", [[0, HOUR]], undefined, 0],
  [
    "a clock that is adjusted",
    [
      [0, HOUR],
      [30 * SECOND, HOUR],
    ],
    undefined,
    30 * SECOND,
  ],
  [
    "a glitch forward",
    [
      [0, HOUR],
      [48 * HOUR, 20 * SECOND],
      [0, MINUTE],
    ],
    undefined,
    0,
  ],
  [
    "in the middle of a glitch",
    [
      [0, HOUR],
      [48 * HOUR, 20 * SECOND],
    ],
    undefined,
    0,
  ],
  [
    "glitch upon glitch",
    [
      [0, HOUR],
      [48 * HOUR, 50 * MINUTE],
      [72 * HOUR, 50 * MINUTE],
    ],
    undefined,
    0,
  ],
  [
    "a clock set forward for good",
    [
      [0, HOUR],
      [48 * HOUR, 61 * MINUTE],
    ],
    undefined,
    48 * HOUR,
  ],
  [
    "a clock set back",
    [
      [0, HOUR],
      [-3 * HOUR, 20 * SECOND],
    ],
    undefined,
    0,
  ],
  [
    "a clock set back for good",
    [
      [0, HOUR],
      [-3 * HOUR, 61 * MINUTE],
    ],
    undefined,
    -3 * HOUR,
  ],
  ["a start soon after the end", [[0, MINUTE]], -30 * SECOND, 0],
  ["a start in a glitch", [[48 * HOUR, MINUTE]], 0, 0],
  ["a start after a long stop, at first", [[48 * HOUR, 59 * MINUTE]], 0, 0],
  ["a start after a long stop, an hour later", [[48 * HOUR, 61 * MINUTE]], 0, 48 * HOUR],
])("%s", (_case, stretches, lastMs, expected) => {
  expect(after(stretches, lastMs)).toBe(expected);
});
