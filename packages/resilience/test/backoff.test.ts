import { describe, expect, it } from "vitest";
import { type BackoffOptions, backoffDelayMs } from "../src/index.js";

const base: BackoffOptions = { initialMs: 100, maxMs: 10_000 };

describe("backoffDelayMs", () => {
  it.each<[name: string, retry: number, options: BackoffOptions, random: number, delayMs: number]>([
    ["full jitter starts at 0", 1, base, 0, 0],
    ["full jitter reaches up to the delay", 1, base, 0.999, 99],
    ["doubles", 3, { ...base, jitter: "none" }, 0.5, 400],
    ["equal jitter keeps half", 3, { ...base, jitter: "equal" }, 0, 200],
    ["equal jitter spreads the other half", 3, { ...base, jitter: "equal" }, 0.5, 300],
    ["a jitter of 0.2 keeps four fifths", 3, { ...base, jitter: 0.2 }, 0, 320],
    ["stops at the cap", 8, { ...base, jitter: "none" }, 0.5, 10_000],
    ["stays at the cap if the power overflows", 5_000, { ...base, jitter: "none" }, 0.5, 10_000],
    ["uses another factor", 3, { ...base, factor: 3, jitter: "none" }, 0.5, 900],
    ["a retry below 1 counts as the first", 0, { ...base, jitter: "none" }, 0.5, 100],
  ])("%s", (_name, retry, options, random, delayMs) => {
    expect(backoffDelayMs(retry, options, random)).toBe(delayMs);
  });
});
