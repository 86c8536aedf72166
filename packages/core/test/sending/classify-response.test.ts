import { describe, expect, it } from "vitest";
import { classifyResponse } from "../../src/sending/classify-response.js";
import type { AttemptOutcome } from "../../src/sending/outcome.js";

describe("classifyResponse", () => {
  const kindOf = (status: number): AttemptOutcome["kind"] =>
    classifyResponse({ kind: "answered", status, body: "" }, 0).kind;

  it.each<[kind: AttemptOutcome["kind"], statuses: number[]]>([
    ["delivered", [200, 201, 202, 204, 299]],
    [
      "rejected",
      [199, 300, 301, 302, 307, 308, 400, 401, 403, 404, 405, 409, 415, 421, 422, 501, 505, 511, 600, 0],
    ],
    ["retryable", [408, 410, 429, 460, 500, 502, 503, 504, 507, 520, 599]],
    ["too_large", [413]],
  ])("%s: %s", (kind, statuses) => {
    expect(statuses.map(kindOf)).toEqual(statuses.map(() => kind));
  });

  it("retries if no answer came", () => {
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
      "the collector's code and message",
      '{"success":false,"code":"invalid_write_key","message":"No such key"}',
      "invalid_write_key: No such key",
    ],
    [
      "a message that begins with its code, without repeating it",
      '{"code":"invalid_write_key","message":"invalid_write_key: No such key"}',
      "invalid_write_key: No such key",
    ],
    ["other text, on one line", "Bad\n  gateway", "Bad gateway"],
    ["nothing", "", "HTTP 400"],
    ["a message whose code is empty", '{"code":"","message":"No such key"}', "No such key"],
    ["the literal null", "null", "null"],
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
    ["a text", '"a text with \\"rejected\\""', []],
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
