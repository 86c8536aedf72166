import { describe, expect, it } from "vitest";
import type { RetriedOutcome } from "../../src/sending/outcome.js";
import { splittingSender } from "../../src/sending/sender.js";
import { batchOf, scriptedSender } from "../doubles/scripted-sender.js";

const DELIVERED = { kind: "delivered", status: 200, rejected: [] } as const;
const TOO_LARGE = { kind: "too_large", status: 413, reason: "too large" } as const;
const open = new AbortController().signal;

describe("splittingSender", () => {
  it.each<[name: string, outcome: RetriedOutcome]>([
    ["delivered", DELIVERED],
    ["rejected", { kind: "rejected", status: 400, reason: "no" }],
    ["exhausted", { kind: "exhausted", status: 503, reason: "down", attempts: 3 }],
    ["abandoned", { kind: "abandoned", deadline: "close_deadline" }],
  ])("returns an outcome that splitting does not change: %s", async (_name, outcome) => {
    const inner = scriptedSender<RetriedOutcome>([outcome]);
    expect(await splittingSender(inner).send(batchOf("a", "b"), open)).toBe(outcome);
    expect(inner.sends).toHaveLength(1);
  });

  it("sends halves in order until they are small enough, and reports each part", async () => {
    const inner = scriptedSender<RetriedOutcome>([TOO_LARGE, TOO_LARGE, DELIVERED, DELIVERED, DELIVERED]);
    const outcome = await splittingSender(inner).send(batchOf("a", "b", "c", "d", "e"), open);
    expect(inner.sends.map(({ messageIds }) => messageIds.join(""))).toEqual([
      "abcde",
      "abc",
      "ab",
      "c",
      "de",
    ]);
    expect(outcome).toMatchObject({ kind: "split" });
    const parts = outcome.kind === "split" ? outcome.parts : [];
    expect(parts.map(({ batch }) => batch.map(({ messageId }) => messageId).join(""))).toEqual([
      "ab",
      "c",
      "de",
    ]);
  });

  it("rejects a single message that is too large", async () => {
    const inner = scriptedSender<RetriedOutcome>([TOO_LARGE]);
    expect(await splittingSender(inner).send(batchOf("a"), open)).toEqual({
      kind: "rejected",
      status: 413,
      reason: "too large",
    });
  });

  it("starts the attempts of each half at 1", async () => {
    const inner = scriptedSender<RetriedOutcome>([TOO_LARGE, DELIVERED]);
    await splittingSender(inner).send(batchOf("a", "b"), open, 4);
    expect(inner.sends.map(({ attempt }) => attempt)).toEqual([1, 1, 1]);
  });
});
