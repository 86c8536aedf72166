import { describe, expect, it } from "vitest";
import { decideFlush, type FlushPolicy } from "../../src/queue/scheduler.js";

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
