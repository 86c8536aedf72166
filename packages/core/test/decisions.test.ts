import { describe, expect, it } from "vitest";
import { classifyResponse, type SendOutcome } from "../src/classify-response.js";
import { decideRetry, type RetryDecision, type RetrySituation } from "../src/decide-retry.js";
import { decideFlush, type FlushPolicy } from "../src/flush-policy.js";

const batched: FlushPolicy = { kind: "batched", flushAt: 20, flushAfterMs: 5_000 };

describe("decideFlush", () => {
  it.each<[name: string, policy: FlushPolicy, waiting: number, decision: object]>([
    ["one message waits for the time", batched, 1, { kind: "wait", untilMs: 6_000 }],
    ["one below the count waits", batched, 19, { kind: "wait", untilMs: 6_000 }],
    ["the count flushes", batched, 20, { kind: "flush" }],
    ["eager never waits", { ...batched, kind: "eager" }, 1, { kind: "flush" }],
  ])("%s", (_name, policy, waiting, decision) => {
    expect(decideFlush(policy, waiting, 1_000)).toEqual(decision);
  });
});

describe("classifyResponse", () => {
  const kindOf = (status: number): SendOutcome["kind"] =>
    classifyResponse({ kind: "answered", status, body: "" }, 0).kind;

  it.each<[kind: SendOutcome["kind"], statuses: number[]]>([
    ["delivered", [200, 201, 202, 204, 299]],
    ["rejected", [301, 302, 307, 308, 400, 401, 403, 404, 405, 409, 415, 421, 422, 501, 505, 511, 600, 0]],
    ["retryable", [408, 410, 429, 460, 500, 502, 503, 504, 507, 520, 599]],
    ["too_large", [413]],
  ])("%s: %s", (kind, statuses) => {
    expect(statuses.map(kindOf)).toEqual(statuses.map(() => kind));
  });

  it("retries where no answer came", () => {
    expect(classifyResponse({ kind: "failed", reason: "ECONNRESET" }, 0)).toEqual({
      kind: "retryable",
      status: -1,
      reason: "ECONNRESET",
    });
  });

  it.each<[retryAfter: string, ms: number | undefined]>([
    ["5", 5_000],
    ["3600", 300_000],
    ["Thu, 01 Jan 1970 00:00:09 GMT", 9_000],
    ["soon", undefined],
  ])("Retry-After %s is %s ms", (retryAfter, retryAfterMs) => {
    const outcome = classifyResponse({ kind: "answered", status: 503, retryAfter, body: "" }, 0);
    expect(outcome).toMatchObject({ kind: "retryable", retryAfterMs });
  });

  it.each<[name: string, body: string, reason: string]>([
    [
      "the collector's code and sentence",
      '{"success":false,"code":"invalid_write_key","message":"No such key"}',
      "invalid_write_key: No such key",
    ],
    [
      "a sentence that begins with its code, once",
      '{"code":"invalid_write_key","message":"invalid_write_key: No such key"}',
      "invalid_write_key: No such key",
    ],
    ["other text as it is, on one line", "Bad\n  gateway", "Bad gateway"],
    ["nothing", "", "HTTP 400"],
    ["JSON of another shape", '["x"]', '["x"]'],
    ["JSON with other types", '{"code":5,"message":null}', '{"code":5,"message":null}'],
    ["no more than 500 characters", "x".repeat(9_999), "x".repeat(500)],
  ])("the reason is %s", (_name, body, reason) => {
    expect(classifyResponse({ kind: "answered", status: 400, body }, 0)).toMatchObject({ reason });
  });

  it.each<[name: string, body: string, rejected: unknown[]]>([
    [
      "verdicts",
      '{"success":true,"rejected":[{"index":1,"code":"c","message":"m"}]}',
      [{ index: 1, code: "c", message: "m" }],
    ],
    ["none", '{"success":true}', []],
    ["HTML", '<html>"rejected"</html>', []],
    ["another shape", '{"rejected":{"index":1}}', []],
    ["entries without an index", '{"rejected":[null,5,{"code":"c"},{"index":"0"}]}', []],
  ])("reads a 200 with %s", (_name, body, rejected) => {
    expect(classifyResponse({ kind: "answered", status: 200, body }, 0)).toEqual({
      kind: "delivered",
      status: 200,
      rejected,
    });
  });
});

describe("decideRetry", () => {
  const policy = { maxRetries: 10, maxTotalMs: 43_200_000 };
  const at = (situation: Partial<RetrySituation>): RetryDecision =>
    decideRetry(policy, {
      countedRetries: 0,
      elapsedMs: 0,
      retryAfterMs: undefined,
      random: 0.999,
      ...situation,
    });

  it.each<[name: string, situation: Partial<RetrySituation>, decision: RetryDecision]>([
    ["the first retry", {}, { kind: "retry", delayMs: 99, asked: false }],
    ["by the lowest chance", { random: 0 }, { kind: "retry", delayMs: 80, asked: false }],
    ["doubles", { countedRetries: 3, random: 0 }, { kind: "retry", delayMs: 640, asked: false }],
    ["is capped at 10 s", { countedRetries: 9, random: 0 }, { kind: "retry", delayMs: 8_000, asked: false }],
    ["gives up after the last", { countedRetries: 10 }, { kind: "give_up" }],
    ["does as the server asks", { retryAfterMs: 5_000 }, { kind: "retry", delayMs: 5_000, asked: true }],
    [
      "which costs no retry",
      { countedRetries: 10, retryAfterMs: 5_000 },
      { kind: "retry", delayMs: 5_000, asked: true },
    ],
    ["but a wait of nothing is none", { countedRetries: 10, retryAfterMs: 0 }, { kind: "give_up" }],
    ["and ends with the total time", { elapsedMs: 43_199_999, retryAfterMs: 5_000 }, { kind: "give_up" }],
  ])("%s", (_name, situation, decision) => {
    expect(at(situation)).toEqual(decision);
  });

  it.each([0, 0.5, 0.999])("outlasts a server that is away for 30 s, with chance at %s", (random) => {
    let totalMs = 0;
    for (let countedRetries = 0; ; countedRetries++) {
      const decision = at({ countedRetries, random });
      if (decision.kind === "give_up") break;
      totalMs += decision.delayMs;
    }
    expect(totalMs).toBeGreaterThan(30_000);
  });
});
