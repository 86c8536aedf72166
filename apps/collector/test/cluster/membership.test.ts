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
  const names = (membership: Membership): string[] =>
    membership
      .members()
      .map(
        ({ node, isAlive, isDrained }) => `${node}${isAlive ? "" : " silent"}${isDrained ? " drained" : ""}`,
      );
  return { clock, leases, taken, open, names };
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
    const { clock, leases, open } = world();
    const a = await open("a");
    await clock.advance(10_000);
    expect(a.trouble).toBeUndefined();
    leases.cut("a");
    await clock.advance(2_000);
    const sinceMs = clock.monotonic();
    await clock.advance(10_000);
    expect(a.trouble).toEqual({ reason: "cut off", sinceMs });
    leases.mend("a");
    await clock.advance(2_000);
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
});
