import { describe, expect, it } from "vitest";
import { mergeEvents, mergeUsage } from "../../src/cluster/gateway/spread/merge-source-views.js";
import { mergeVerdicts, type PartVerdict } from "../../src/cluster/gateway/spread/merge-verdicts.js";

const rejected = (index: number) => ({ index, code: "missing_user" as const, message: "no user" });
const stored = (indexes: readonly number[] | undefined, body: object): PartVerdict => ({
  indexes,
  answer: { status: 200, body: { success: true, accepted: indexes?.length ?? 1, ...body } },
});
const refused = (status: number, code: string, retryAfter?: number): PartVerdict => ({
  indexes: [9],
  answer: {
    status,
    body: { success: false, code, message: `${code}: why` },
    ...(retryAfter === undefined ? {} : { retryAfter }),
  },
});

describe("the answers to the parts of a batch", () => {
  it("are the answer to the whole: sums, and refusals at their places in the batch", () => {
    expect(
      mergeVerdicts([
        stored([0, 3, 5], { accepted: 2, rejected: [{ ...rejected(1), messageId: "m-3" }], duplicates: 1 }),
        stored([1, 2], {}),
        stored([4, 6], { accepted: 0, rejected: [rejected(0), rejected(1)], duplicates: 2 }),
      ]),
    ).toEqual({
      status: 200,
      body: {
        success: true,
        accepted: 4,
        rejected: [{ ...rejected(3), messageId: "m-3" }, rejected(4), rejected(6)],
        duplicates: 3,
      },
    });
  });

  it("have no fields for refusals and duplicates where there are none, in the order of one collector", () => {
    const { body } = mergeVerdicts([stored([0], {}), stored([1, 2], {})]);
    expect(JSON.stringify(body)).toBe('{"success":true,"accepted":3}');
    const all = mergeVerdicts([stored([0], { rejected: [rejected(0)], duplicates: 1 }), stored([1], {})]);
    expect(Object.keys(all.body as object)).toEqual(["success", "accepted", "rejected", "duplicates"]);
  });

  it("are a refusal in one if all parts were refused", () => {
    expect(mergeVerdicts([refused(429, "rate_limited", 2), refused(429, "rate_limited", 7)])).toEqual({
      status: 429,
      headers: { "retry-after": "7", "x-ratelimit-reset": "7" },
      body: { success: false, code: "rate_limited", message: "rate_limited: why" },
    });
    expect(mergeVerdicts([refused(401, "invalid_write_key"), refused(401, "invalid_write_key")])).toEqual({
      status: 401,
      body: { success: false, code: "invalid_write_key", message: "invalid_write_key: why" },
    });
  });

  it.each([
    ["has no owner", [stored([0], {}), refused(503, "no_owner", 1)], "1"],
    ["is limited", [refused(429, "rate_limited", 4), stored([0], {})], "4"],
    ["failed", [stored([0], {}), refused(500, "internal")], "1"],
    [
      "is limited and another one has no owner",
      [refused(429, "x", 4), stored([1], {}), refused(503, "y", 1)],
      "4",
    ],
  ])(
    "are a 503 that asks for all messages again if a part %s and others are stored",
    (_, verdicts, after) => {
      const { status, headers, body } = mergeVerdicts(verdicts);
      expect([status, headers]).toEqual([503, { "retry-after": after }]);
      expect(body).toMatchObject({ success: false, code: "partly_stored" });
    },
  );

  it("are what is temporary before what is not: nothing may be given up that was not looked at", () => {
    const { status } = mergeVerdicts([refused(401, "invalid_write_key"), refused(503, "no_owner", 1)]);
    expect(status).toBe(503);
    expect(mergeVerdicts([stored([0], {}), refused(401, "invalid_write_key")]).status).toBe(401);
  });
});

describe("what the control API says of a spread source", () => {
  it("sums up the days", () => {
    const day = (name: string, accepted: number) => ({ day: name, accepted, filtered: 1, delivered: 2 });
    expect(
      mergeUsage([
        { days: [day("2026-11-22", 1), day("2026-11-20", 1)] },
        { days: [day("2026-11-23", 5), day("2026-11-22", 2)] },
        { days: [] },
      ]),
    ).toEqual({
      days: [
        day("2026-11-23", 5),
        { day: "2026-11-22", accepted: 3, filtered: 2, delivered: 4 },
        day("2026-11-20", 1),
      ],
    });
  });

  const event = (name: string, count: number, at: string) => ({
    ...{ type: "track", name, count, firstSeenAt: at, lastSeenAt: at, violations: 0, sampled: count },
    properties: [{ name: "a", types: [count > 1 ? "string" : "integer"], seen: count }],
    example: { messageId: `m-${at}`, receivedAt: at },
  });
  const page = (items: ReturnType<typeof event>[], names: number, nextCursor?: string) => ({
    ...{ items, names, notKept: 0, behind: 1 },
    ...(nextCursor === undefined ? {} : { nextCursor }),
  });

  it("counts a name that several partitions have once", () => {
    const merged = mergeEvents(
      [page([event("A", 2, "3"), event("B", 1, "1")], 2), page([event("A", 1, "4")], 1)],
      50,
    );
    expect(merged).toMatchObject({ names: 2, behind: 2, places: undefined });
    expect(merged.items.map(({ name }) => name)).toEqual(["A", "B"]);
    expect(merged.items[0]).toMatchObject({
      ...{ count: 3, firstSeenAt: "3", lastSeenAt: "4", sampled: 3, example: { messageId: "m-4" } },
      properties: [{ name: "a", types: ["string", "integer"], seen: 3 }],
    });
  });

  it("goes on behind the last name of a page in each partition", () => {
    const first = [
      page([event("A", 1, "1"), event("C", 1, "1")], 3, "track C"),
      page([event("B", 1, "1")], 1),
    ];
    const merged = mergeEvents(first, 2);
    expect(merged.items.map(({ name }) => name)).toEqual(["A", "B"]);
    expect(merged.places).toEqual(["track A", "track B"]);
    const last = mergeEvents([page([event("C", 1, "1"), event("D", 1, "1")], 3), page([], 1)], 2);
    expect([last.items.length, last.places]).toEqual([2, undefined]);
  });
});
