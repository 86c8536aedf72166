import { manualClock } from "@sluice/resilience/testing";
import { describe, expect, test } from "vitest";
import { Membership } from "../../src/cluster/membership/membership.js";
import { MemoryLeases } from "./memory-leases.js";

function world() {
  const clock = manualClock();
  const leases = new MemoryLeases();
  const taken: string[] = [];
  const open = async (node: string, instance = node): Promise<Membership> => {
    const startedAtMs = clock.now();
    const membership = new Membership({
      leases: leases.of(instance),
      clock,
      heartbeatMs: 2_000,
      self: () => ({
        ...{ node, instance, address: `http://${node}`, version: "1.0.0", startedAtMs },
        ...{ role: "following", isReady: true, applied: 7, behindEntries: 0, behindMs: 0 },
      }),
      onChange: () => {},
      onNameTaken: () => taken.push(instance),
      onProblem: () => {},
    });
    await membership.start();
    return membership;
  };
  /** Lets every call end that has begun. */
  const settled = async (): Promise<void> => {
    for (let turn = 0; turn < 10; turn++) await clock.advance(0);
  };
  const names = (membership: Membership): string[] =>
    membership
      .members()
      .map(
        ({ node, isAlive, isDrained }) => `${node}${isAlive ? "" : " silent"}${isDrained ? " drained" : ""}`,
      );
  return { clock, leases, taken, open, names, settled };
}

describe("Membership", () => {
  test("processes see each other, and see who becomes silent, ends, or is forgotten", async () => {
    const { clock, leases, open, names } = world();
    const a = await open("a");
    const b = await open("b");
    await open("c");
    expect(names(a)).toEqual(["a", "b", "c"]);
    expect(a.members()[1]).toMatchObject({ address: "http://b", applied: 7 });
    await clock.advance(60_000);
    expect(names(a)).toEqual(["a", "b", "c"]);
    leases.cut("c");
    await clock.advance(12_000);
    expect(names(a)).toEqual(["a", "b", "c silent"]);
    await b.close();
    expect(names(a)).toEqual(["a", "c silent"]);
    await clock.advance(3_600_000);
    expect(names(a)).toEqual(["a"]);
  });

  test("knows since when the engine does not take its record, and why", async () => {
    const { clock, leases, open, settled } = world();
    const a = await open("a");
    await clock.advance(10_000);
    await settled();
    expect(a.trouble).toBeUndefined();
    leases.cut("a");
    await clock.advance(2_000);
    await settled();
    const sinceMs = clock.monotonic();
    await clock.advance(10_000);
    await settled();
    expect(a.trouble).toEqual({ reason: "cut off", sinceMs });
    leases.mend("a");
    await clock.advance(2_000);
    await settled();
    expect(a.trouble).toBeUndefined();
  });

  test("a drain is known everywhere, and outlives the process", async () => {
    const { open, names } = world();
    const a = await open("a");
    const b = await open("b");
    expect(await b.drain("a")).toBe(true);
    expect(await b.drain("nobody")).toBe(false);
    expect(names(a)).toEqual(["a drained", "b"]);
    await a.close();
    const again = await open("a");
    expect(names(again)).toEqual(["a drained", "b"]);
    expect(await again.cancelDrain("a")).toBe(true);
    expect(names(b)).toEqual(["a", "b"]);
    expect(await again.cancelDrain("a")).toBe(true);
    expect(await again.cancelDrain("nobody")).toBe(false);
  });

  test("of two processes with one name, the one that started later is told", async () => {
    const { clock, taken, open } = world();
    await open("a", "first");
    await clock.advance(1_000);
    await open("a", "second");
    await clock.advance(10_000);
    expect(new Set(taken)).toEqual(new Set(["second"]));
  });

  test("a process that starts again after a crash replaces its record", async () => {
    const { clock, leases, taken, open, names } = world();
    await open("a", "first");
    leases.cut("first");
    await clock.advance(1_000);
    const again = await open("a", "second");
    await clock.advance(60_000);
    expect(taken).toEqual([]);
    expect(names(again)).toEqual(["a"]);
    expect(again.members()[0]?.instance).toBe("second");
  });

  test("an answer about a drain that comes after the drain was cancelled changes nothing, and the other way round", async () => {
    const { leases, open, names, settled } = world();
    const a = await open("a");
    const b = await open("b");
    /** The first answer, to the question who is drained, comes; that to the change comes late. */
    const withLateAnswer = async (change: Promise<boolean>, meanwhile: () => Promise<boolean>) => {
      await settled();
      const answer = leases.delay("a");
      asked();
      await settled();
      await meanwhile();
      answer();
      expect(await change).toBe(true);
    };
    let asked = leases.delay("a");
    await withLateAnswer(a.drain("b"), () => b.cancelDrain("b"));
    expect([names(a), names(b)]).toEqual([
      ["a", "b"],
      ["a", "b"],
    ]);
    await b.drain("b");
    asked = leases.delay("a");
    await withLateAnswer(a.cancelDrain("b"), () => b.drain("b"));
    expect([names(a), names(b)]).toEqual([
      ["a", "b drained"],
      ["a", "b drained"],
    ]);
  });

  test("a drain that another process cancels or repeats between question and change is made all the same", async () => {
    const { leases, open, names, settled } = world();
    const a = await open("a");
    const b = await open("b");
    let answer = leases.delay("a");
    const drained = a.drain("b");
    await settled();
    await b.drain("b");
    await b.cancelDrain("b");
    await b.drain("b");
    answer();
    expect(await drained).toBe(true);
    expect(names(a)).toEqual(["a", "b drained"]);

    answer = leases.delay("a");
    const cancelled = a.cancelDrain("b");
    await settled();
    await b.cancelDrain("b");
    await b.drain("b");
    answer();
    expect(await cancelled).toBe(true);
    expect([names(a), names(b)]).toEqual([
      ["a", "b"],
      ["a", "b"],
    ]);
  });

  test("what changed while the record was being written is written, too", async () => {
    const { clock, leases, open, settled } = world();
    const a = await open("a");
    const writes: string[] = [];
    await leases.of("observer").watch("members.", (key) => writes.push(key), new AbortController().signal);
    writes.length = 0;
    a.beat();
    a.beat();
    await settled();
    expect(writes).toHaveLength(2);
    a.beat();
    await a.close();
    await clock.advance(60_000);
    expect(writes.length).toBeLessThanOrEqual(4);
    expect(clock.pending).toBe(0);
  });
});
