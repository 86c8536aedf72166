import { EngineUnavailable } from "@sluice/event-log";
import { manualClock } from "@sluice/resilience/testing";
import { describe, expect, it, test } from "vitest";
import type { ClusterEngine } from "../../src/cluster/cluster-options.js";
import { waitForEngine } from "../../src/cluster/configured-engine.js";
import { type Decision, decide, type OwnershipView } from "../../src/cluster/ownership/decide.js";
import type { Lease, LeaseHolder } from "../../src/cluster/ownership/lease.js";

const holder = (instance: string): LeaseHolder => ({
  node: `node of ${instance}`,
  instance,
  address: "http://127.0.0.1:1",
  phase: "leading",
  sinceMs: 0,
});
const heldBy = (instance: string, term = 4): Lease => ({ revision: 9, term, holder: holder(instance) });
const given: Lease = { revision: 9, term: 4, holder: undefined };

const follower: OwnershipView = {
  instance: "me",
  lease: heldBy("other"),
  unchangedMs: 0,
  own: { kind: "follower" },
  isReady: true,
  isDrained: false,
  isClosing: false,
  hasSuccessor: true,
  leaseMs: 3_000,
};
const owner: OwnershipView = {
  ...follower,
  lease: heldBy("me"),
  own: { kind: "holder", term: 4, sinceRenewalMs: 1_000 },
};

const wait: Decision = { kind: "wait" };
const take: Decision = { kind: "take", expected: 9, term: 5 };
const renew: Decision = { kind: "renew", expected: 9 };
const lost = (reason: string) => ({ kind: "step down", how: "lost", reason });
const handOver = (reason: string) => ({ kind: "step down", how: "hand over", reason });

describe("decide", () => {
  test.each<[string, OwnershipView, object]>([
    [
      "nobody ever owned it",
      { ...follower, lease: undefined },
      { kind: "take", expected: undefined, term: 1 },
    ],
    ["the owner renews", follower, wait],
    ["the owner is silent for less than the lease", { ...follower, unchangedMs: 2_999 }, wait],
    ["the owner is silent for the lease", { ...follower, unchangedMs: 3_000 }, take],
    ["the owner gave it back", { ...follower, lease: given }, take],
    ["the answer to its own write was lost", { ...follower, lease: heldBy("me") }, take],
    ["its copy is not ready", { ...follower, lease: given, isReady: false }, wait],
    ["it is drained", { ...follower, lease: given, isDrained: true }, wait],
    [
      "it is drained, and nobody else is there",
      { ...follower, lease: given, isDrained: true, hasSuccessor: false },
      take,
    ],
    [
      "it is drained, and its successor has some time left",
      { ...follower, lease: given, isDrained: true, unchangedMs: 14_999 },
      wait,
    ],
    [
      "it is drained, and no successor has taken it for long",
      { ...follower, lease: given, isDrained: true, unchangedMs: 15_000 },
      take,
    ],
    ["it ends", { ...follower, lease: given, isClosing: true, hasSuccessor: false }, wait],
    ["an owner renews", owner, renew],
    ["an owner that has not seen its lease yet", { ...owner, lease: undefined }, { kind: "renew" }],
    [
      "an owner's renewal had no answer, but was written",
      { ...owner, lease: { ...heldBy("me"), revision: 12 } },
      { kind: "renew", expected: 12 },
    ],
    [
      "another process took the lease",
      { ...owner, lease: heldBy("other", 5) },
      lost("node of other took over"),
    ],
    [
      "another process has the lease with the same term, after the lease was deleted",
      { ...owner, lease: heldBy("other", 4) },
      lost("node of other took over"),
    ],
    [
      "another process took it and gave it back",
      { ...owner, lease: { ...given, term: 5 } },
      lost("another process took over"),
    ],
    [
      "it was taken by its own later term",
      { ...owner, lease: heldBy("me", 6) },
      lost("node of me took over"),
    ],
    [
      "an election of the engine takes longer than the lease",
      { ...owner, own: { kind: "holder", term: 4, sinceRenewalMs: 7_000 } },
      renew,
    ],
    [
      "no renewal for four leases",
      { ...owner, own: { kind: "holder", term: 4, sinceRenewalMs: 12_000 } },
      renew,
    ],
    [
      "no renewal for longer than that",
      { ...owner, own: { kind: "holder", term: 4, sinceRenewalMs: 12_001 } },
      lost("the lease was not renewed for 12001 ms"),
    ],
    ["the owner ends", { ...owner, isClosing: true, hasSuccessor: false }, handOver("the process ends")],
    ["the owner is drained", { ...owner, isDrained: true }, handOver("it is drained")],
    [
      "the owner is drained, and nobody else is there",
      { ...owner, isDrained: true, hasSuccessor: false },
      renew,
    ],
    ["the owner's copy is behind", { ...owner, isReady: false }, renew],
  ])("%s", (_name, view, expected) => {
    expect(decide(view)).toMatchObject(expected);
  });
});

describe("waiting for the engine", () => {
  const away = new EngineUnavailable("No NATS server can be reached.");
  const waiting = (ask: () => Promise<ClusterEngine>, timeoutMs = 60_000, signal?: AbortSignal) => {
    const clock = manualClock({ startMs: 0 });
    const reasons: string[] = [];
    const opened = waitForEngine({
      ask,
      clock,
      timeoutMs,
      signal,
      onAway: (reason) => reasons.push(reason),
      drop: (engine) => engine.close(),
    });
    opened.catch(() => {});
    return { clock, reasons, opened };
  };

  it("tries again every second until it is there", async () => {
    const engine = {} as ClusterEngine;
    let attempts = 0;
    const { clock, reasons, opened } = waiting(async () => {
      attempts += 1;
      if (attempts < 4) throw away;
      return engine;
    });
    await clock.advance(3_000);
    expect(await opened).toBe(engine);
    expect([attempts, reasons]).toEqual([4, [away.message, away.message, away.message]]);
  });

  it("gives up with the last reason when the time is over, and not before", async () => {
    const { clock, reasons, opened } = waiting(async () => {
      throw away;
    }, 60_000);
    await clock.advance(59_999);
    expect([reasons.length, clock.pending]).toEqual([60, 1]);
    await clock.advance(1);
    await expect(opened).rejects.toThrow(
      "No NATS server can be reached. The collector waited for 60 s (clusterWaitMs)",
    );
  });

  it.each([
    ["another reason", 60_000, new Error("The NATS server does not accept the credentials")],
    ["no time to wait", 0, away],
  ])("rejects at once: %s", async (_name, timeoutMs, reason) => {
    const { reasons, opened } = waiting(async () => {
      throw reason;
    }, timeoutMs);
    await expect(opened).rejects.toBe(reason);
    expect(reasons).toEqual([]);
  });

  it("ends at once when it is interrupted", async () => {
    const abort = new AbortController();
    const { clock, opened } = waiting(
      async () => {
        throw away;
      },
      60_000,
      abort.signal,
    );
    await clock.advance(1_500);
    abort.abort(new Error("SIGTERM"));
    await expect(opened).rejects.toThrow("SIGTERM");
    expect(clock.pending).toBe(0);
  });

  it("ends at once when it is interrupted while the engine does not answer, and keeps no engine", async () => {
    const abort = new AbortController();
    const late = Promise.withResolvers<ClusterEngine>();
    const closed = Promise.withResolvers<void>();
    const { opened } = waiting(() => late.promise, 60_000, abort.signal);
    abort.abort(new Error("SIGTERM"));
    await expect(opened).rejects.toThrow("SIGTERM");
    late.resolve({ close: async () => closed.resolve() } as ClusterEngine);
    await closed.promise;
  });
});
