import type { UrlRetry } from "@sluice/event-log";
import { RETRY_WINDOW, retrySchedule } from "@sluice/protocol";
import { describe, expect, it } from "vitest";
import {
  type Decision,
  decide,
  isOver,
  lastCallMs,
  RETRY_DEFAULTS,
  type RoundEnd,
  retryPolicyFor,
  windowText,
} from "../../src/delivery/settling/retry-schedule.js";
import type { CountedOutcome, TargetRetry } from "../../src/destinations/destination.js";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const NOW = Date.UTC(2026, 0, 1);

type RetryOutcome = Extract<CountedOutcome, { kind: "retry" }>;
const retry = (retryAfterMs?: number): RetryOutcome => ({
  kind: "retry",
  reason: "HTTP 503",
  doneUrls: [],
  failedUrls: [],
  alive: false,
  ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
});

const end = (changes: Partial<RoundEnd> = {}): RoundEnd => ({
  rounds: 1,
  firstAttemptAtMs: NOW,
  nowMs: NOW,
  waitingRetries: 0,
  random: 0.5,
  ...changes,
});
/** `askedMs`: the delay that the receiver asked for. */
const due = (ms: number, askedMs?: number): Decision => ({
  kind: "retry",
  dueAtMs: NOW + ms,
  ...(askedMs === undefined ? {} : { notBeforeMs: NOW + askedMs }),
  doneUrls: [],
  failedUrls: [],
});
const gaveUp: Decision = {
  kind: "finish",
  state: "failed",
  reason: "gave up after 4 h of retries: HTTP 503",
};

describe("decide", () => {
  it.each<[name: string, outcome: Exclude<CountedOutcome, { kind: "aborted" }>, end: RoundEnd, Decision]>([
    [
      "delivered",
      { kind: "delivered", reason: "HTTP 200" },
      end(),
      { kind: "finish", state: "delivered", reason: "HTTP 200" },
    ],
    [
      "failed for good",
      { kind: "failed", reason: "HTTP 404" },
      end(),
      { kind: "finish", state: "failed", reason: "HTTP 404" },
    ],
    ["the first retry, about a second later", retry(), end(), due(1_000)],
    ["Retry-After: 0, which makes no retry earlier", retry(0), end(), due(1_000)],
    ["full jitter: at once", retry(), end({ random: 0 }), due(0)],
    ["full jitter: at most two seconds", retry(), end({ random: 0.999 }), due(1_998)],
    ["doubling", retry(), end({ rounds: 4 }), due(8_000)],
    ["the cap of 15 min", retry(), end({ rounds: 30, random: 0.9999 }), due(15 * MINUTE - 90)],
    ["Retry-After as a floor", retry(30_000), end(), due(30_000, 30_000)],
    ["a Retry-After that is shorter than the delay", retry(500), end({ rounds: 4 }), due(8_000, 500)],
    [
      "a Retry-After beyond the window: just before its end",
      retry(10 * HOUR),
      end(),
      due(4 * HOUR - 10_000, 10 * HOUR),
    ],
    [
      "an earlier Retry-After that has not passed",
      retry(),
      end({ notBeforeMs: NOW + 60_000 }),
      due(1_000, 60_000),
    ],
    ["an earlier Retry-After that has passed", retry(), end({ notBeforeMs: NOW - 1 }), due(1_000)],
    ["a burst of 20, spread over 10 s", retry(), end({ waitingRetries: 20 }), due(5_000)],
    ["a burst of 1,000, spread over a minute", retry(), end({ waitingRetries: 1_000 }), due(30_000)],
    [
      "a burst with a backoff longer than the spread",
      retry(),
      end({ waitingRetries: 1_000, rounds: 12 }),
      due(7.5 * MINUTE),
    ],
    [
      "just before the last part",
      retry(),
      end({ rounds: 20, firstAttemptAtMs: NOW - 3.75 * HOUR + 1 }),
      due(7.5 * MINUTE),
    ],
    ["in the last part", retry(), end({ rounds: 20, firstAttemptAtMs: NOW - 3.75 * HOUR }), gaveUp],
    [
      "in the last part, whatever Retry-After says",
      retry(1_000),
      end({ firstAttemptAtMs: NOW - 3.9 * HOUR }),
      gaveUp,
    ],
    ["after the window", retry(), end({ firstAttemptAtMs: NOW - 5 * HOUR }), gaveUp],
  ])("%s", (_name, outcome, roundEnd, expected) => {
    expect(decide(outcome, roundEnd, RETRY_DEFAULTS)).toEqual(expected);
  });

  it("makes the last attempt between 3 h 45 and 4 h, for every random value", () => {
    for (const random of [() => 0.0001, () => 0.5, () => 0.999_999, Math.random]) {
      let nowMs = NOW;
      for (let rounds = 1; rounds < 10_000; rounds++) {
        // Maximum duration of an attempt.
        const decision = decide(
          retry(),
          end({ rounds, nowMs: nowMs + 5_000, random: random() }),
          RETRY_DEFAULTS,
        );
        if (decision.kind === "finish") break;
        nowMs = decision.dueAtMs;
      }
      expect(nowMs - NOW).toBeGreaterThanOrEqual(3.75 * HOUR - 5_000);
      expect(nowMs - NOW).toBeLessThan(4 * HOUR);
    }
  });

  it("spreads 1,000 messages that fail at the same time so that no second has more than 5 % of them", () => {
    const perSecond = new Map<number, number>();
    // A seeded generator (mulberry32) makes the test deterministic.
    let seed = 7;
    const random = (): number => {
      seed = (seed + 0x6d2b79f5) | 0;
      let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
      t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
      return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
    };
    for (let waitingRetries = 0; waitingRetries < 1_000; waitingRetries++) {
      const decision = decide(retry(), end({ waitingRetries, random: random() }), RETRY_DEFAULTS);
      const second = decision.kind === "retry" ? Math.floor((decision.dueAtMs - NOW) / 1_000) : -1;
      perSecond.set(second, (perSecond.get(second) ?? 0) + 1);
    }
    expect(perSecond.has(-1)).toBe(false);
    expect(Math.max(...perSecond.values())).toBeLessThanOrEqual(50);
  });
});

describe("decide, with retries per URL", () => {
  const A = "https://a.example/";
  const B = "https://b.example/";
  const C = "https://c.example/";
  const failed = (url: string, retryAfterMs?: number): TargetRetry => ({ url, tried: true, retryAfterMs });
  const each = (targets: readonly TargetRetry[], doneUrls: readonly string[] = []) => ({
    ...retry(),
    doneUrls,
    targets,
  });
  const urlRetry = (url: string, rounds: number, ms: number): UrlRetry => ({
    url,
    rounds,
    dueAtMs: NOW + ms,
  });
  const roundsAt = (url: string): number => ({ [A]: 1, [B]: 4 })[url] ?? 30;
  const late = { firstAttemptAtMs: NOW - 3.8 * HOUR };

  it.each<
    [
      name: string,
      outcome: RetryOutcome,
      end: RoundEnd,
      urls: readonly UrlRetry[],
      failedUrls: readonly string[],
    ]
  >([
    [
      "the first round: all together",
      each([failed(A), failed(B)]),
      end(),
      [urlRetry(A, 1, 1_000), urlRetry(B, 1, 1_000)],
      [],
    ],
    [
      "each URL by its own count",
      each([failed(A), failed(B), failed(C)]),
      end({ rounds: 9, roundsAt }),
      [urlRetry(A, 1, 1_000), urlRetry(B, 4, 8_000), urlRetry(C, 30, 7.5 * MINUTE)],
      [],
    ],
    [
      "a waiting URL keeps its due time",
      each([failed(A)]),
      end({ rounds: 9, roundsAt, waiting: [urlRetry(C, 7, 90_000)] }),
      [urlRetry(C, 7, 90_000), urlRetry(A, 1, 1_000)],
      [],
    ],
    [
      "a URL that accepted the message does not affect the others",
      each([], [A]),
      end({ rounds: 9, waiting: [urlRetry(C, 7, 90_000)] }),
      [urlRetry(C, 7, 90_000)],
      [],
    ],
    [
      "Retry-After of one URL is no other's",
      each([failed(A, 60_000), failed(B)]),
      end(),
      [urlRetry(A, 1, 60_000), urlRetry(B, 1, 1_000)],
      [],
    ],
    [
      "a skipped URL does not count as an attempt",
      each([{ url: B, tried: false }]),
      end({ roundsAt }),
      [urlRetry(B, 3, 4_000)],
      [],
    ],
    [
      "in the last part, a tried URL is given up, and a waiting one still gets its last attempt",
      each([failed(A)]),
      end({ ...late, waiting: [urlRetry(C, 7, 90_000)] }),
      [urlRetry(C, 7, 90_000)],
      [A],
    ],
    [
      "in the last part, a skipped URL is still tried",
      each([{ url: B, tried: false }]),
      end({ ...late, roundsAt }),
      [urlRetry(B, 3, 4_000)],
      [],
    ],
  ])("%s", (_name, outcome, roundEnd, urls, failedUrls) => {
    const askedMs = Math.max(0, ...(outcome.targets ?? []).map(({ retryAfterMs = 0 }) => retryAfterMs));
    expect(decide(outcome, roundEnd, RETRY_DEFAULTS)).toEqual({
      kind: "retry",
      dueAtMs: Math.min(...urls.map(({ dueAtMs }) => dueAtMs)),
      ...(askedMs === 0 ? {} : { notBeforeMs: NOW + askedMs }),
      doneUrls: [...outcome.doneUrls, ...failedUrls],
      failedUrls,
      urls,
    });
  });

  it("gives up after the last attempt at the last URL", () => {
    expect(decide(each([failed(A), failed(B)]), end(late), RETRY_DEFAULTS)).toEqual(gaveUp);
  });
});

describe("isOver", () => {
  it.each([
    [0, false],
    [4 * HOUR, false],
    [4 * HOUR + 1, true],
  ])("%i ms after the first attempt: %s", (ms, expected) => {
    expect(isOver(NOW, NOW + ms, RETRY_DEFAULTS)).toBe(expected);
  });
});

describe("lastCallMs", () => {
  it("is in the last part of the window with a margin, and spreads adjacent offsets over it", () => {
    const calls = Array.from({ length: 100 }, (_, offset) => lastCallMs(NOW, offset, RETRY_DEFAULTS) - NOW);
    expect(Math.min(...calls)).toBeGreaterThanOrEqual(3.75 * HOUR);
    expect(Math.max(...calls)).toBeLessThan(4 * HOUR - 2.5 * MINUTE);
    const perMinute = Map.groupBy(calls, (ms) => Math.floor(ms / MINUTE));
    expect(Math.max(...[...perMinute.values()].map((list) => list.length))).toBeLessThanOrEqual(12);
  });
});

describe("retryPolicyFor", () => {
  it("is the collector's policy without a window of its own, and with the default window", () => {
    expect(retryPolicyFor(RETRY_DEFAULTS, undefined)).toBe(RETRY_DEFAULTS);
    expect(retryPolicyFor(RETRY_DEFAULTS, RETRY_WINDOW.defaultMs)).toEqual(RETRY_DEFAULTS);
  });

  it.each([RETRY_WINDOW.minMs, 10 * MINUTE, 4 * HOUR, 7 * 24 * HOUR])(
    "makes the attempts that the schedule shows, for a window of %i ms",
    (windowMs) => {
      const policy = retryPolicyFor(RETRY_DEFAULTS, windowMs);
      const attemptsAtMs = [0];
      for (let nowMs = NOW, rounds = 1; rounds < 10_000; rounds++) {
        const decision = decide(retry(), end({ rounds, nowMs }), policy);
        if (decision.kind === "finish") break;
        nowMs = decision.dueAtMs;
        attemptsAtMs.push(nowMs - NOW);
      }
      expect(attemptsAtMs).toEqual(retrySchedule(windowMs).attemptsAtMs);
    },
  );
});

describe("windowText", () => {
  it.each([
    [30_000, "30 s of retries"],
    [MINUTE, "1 min of retries"],
    [90 * MINUTE, "1.5 h of retries"],
    [4 * HOUR, "4 h of retries"],
    [7 * 24 * HOUR, "7 d of retries"],
  ])("%i ms: %s", (windowMs, expected) => {
    expect(windowText({ ...RETRY_DEFAULTS, windowMs })).toBe(expected);
  });
});
