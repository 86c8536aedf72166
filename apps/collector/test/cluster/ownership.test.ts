import { type ManualClock, manualClock } from "@sluice/resilience/testing";
import { describe, expect, test } from "vitest";
import { type Leadership, Ownership } from "../../src/cluster/ownership/ownership.js";
import { MemoryLeases } from "./memory-leases.js";

interface World {
  readonly clock: ManualClock;
  readonly leases: MemoryLeases;
  readonly events: string[];
  readonly drained: Set<string>;
  /** Makes the next attempts of these nodes to lead fail. */
  readonly broken: Set<string>;
  /** The next attempts of these nodes to lead last until they are not wanted any more. */
  readonly stuck: Set<string>;
  readonly lost: Map<string, (reason: string) => void>;
  open(node: string): Promise<Ownership>;
}

function world(): World {
  const clock = manualClock();
  const leases = new MemoryLeases();
  const events: string[] = [];
  const drained = new Set<string>();
  const broken = new Set<string>();
  const stuck = new Set<string>();
  const lost = new Map<string, (reason: string) => void>();
  const nodes: string[] = [];
  const lead =
    (node: string) =>
    async (term: number, isLost: (reason: string) => void, signal: AbortSignal): Promise<Leadership> => {
      if (broken.has(node)) throw new Error("broken");
      if (stuck.has(node))
        await new Promise((_, reject) => {
          signal.addEventListener("abort", () => reject(new Error("stopped")));
        });
      lost.set(node, isLost);
      events.push(`${node} leads ${term}`);
      return {
        end: async (how) => {
          events.push(`${node} ends ${how}`);
        },
      };
    };
  const open = async (node: string): Promise<Ownership> => {
    nodes.push(node);
    const ownership = new Ownership({
      leases: leases.of(node),
      key: "owner",
      self: { node, instance: `instance of ${node}`, address: `http://${node}` },
      clock,
      leaseMs: 3_000,
      heartbeatMs: 1_000,
      facts: () => ({
        isReady: true,
        isDrained: drained.has(node),
        hasSuccessor: nodes.some((other) => other !== node && !drained.has(other)),
      }),
      lead: lead(node),
      onChange: () => {},
      onStepDown: (_how, reason) => events.push(`${node} steps down: ${reason}`),
      onProblem(what) {
        if (what === "cannot become the owner") events.push(`${node} ${what}`);
      },
    });
    await ownership.start();
    await clock.advance(0);
    return ownership;
  };
  return { clock, leases, events, drained, broken, stuck, lost, open };
}

describe("Ownership", () => {
  test("the first process takes the lease and keeps it; the others see where it is", async () => {
    const { clock, events, open } = world();
    const a = await open("a");
    const b = await open("b");
    await clock.advance(60_000);
    expect(events).toEqual(["a leads 1"]);
    expect(a.state).toMatchObject({ kind: "leading", term: 1 });
    expect(b.state).toEqual({ kind: "following" });
    expect(b.lease?.holder).toMatchObject({ node: "a", address: "http://a", phase: "leading" });
  });

  test("an owner that is cut off is followed after the lease, and stops when it hears of it", async () => {
    const { clock, leases, events, open } = world();
    const a = await open("a");
    const b = await open("b");
    await clock.advance(5_000);
    leases.cut("a");
    await clock.advance(2_000);
    expect(events).toEqual(["a leads 1"]);
    await clock.advance(1_100);
    expect(events).toEqual(["a leads 1", "b leads 2"]);
    expect(a.state.kind).toBe("leading");
    leases.mend("a");
    await clock.advance(0);
    expect(events.slice(2)).toEqual(["a steps down: b took over", "a ends lost"]);
    await clock.advance(60_000);
    expect(a.state.kind).toBe("following");
    expect(b.state).toMatchObject({ kind: "leading", term: 2 });
  });

  test("an owner that stays cut off stops by itself", async () => {
    const { clock, leases, events, open } = world();
    await open("a");
    leases.cut("a");
    await clock.advance(14_000);
    expect(events.slice(1)).toEqual([
      expect.stringMatching(/^a steps down: the lease was not renewed for 1\d{4} ms$/),
      "a ends lost",
    ]);
  });

  test("while nobody reaches the engine for less than four leases, the owner stays", async () => {
    const { clock, leases, events, open } = world();
    await open("a");
    await open("b");
    leases.cut("a");
    leases.cut("b");
    await clock.advance(7_000);
    leases.mend("a");
    leases.mend("b");
    await clock.advance(60_000);
    expect(events).toEqual(["a leads 1"]);
  });

  test("closing hands over at once", async () => {
    const { clock, events, open } = world();
    const a = await open("a");
    const b = await open("b");
    const left = a.leave();
    await clock.advance(0);
    await clock.advance(0);
    await left;
    a.close();
    await clock.advance(0);
    expect(events).toEqual(["a leads 1", "a steps down: the process ends", "a ends hand over", "b leads 2"]);
    expect(b.state.kind).toBe("leading");
    await b.leave();
    b.close();
    expect(clock.pending).toBe(0);
  });

  test("draining hands over; the last process cannot be drained", async () => {
    const { clock, events, drained, open } = world();
    const a = await open("a");
    const b = await open("b");
    drained.add("a");
    a.wake();
    for (let i = 0; i < 5; i++) await clock.advance(0);
    expect(events.slice(1)).toEqual(["a steps down: it is drained", "a ends hand over", "b leads 2"]);
    drained.add("b");
    b.wake();
    await clock.advance(60_000);
    expect(b.state.kind).toBe("leading");
    expect(a.state.kind).toBe("following");
  });

  test("a process that fails to start its stages gives the lease to the next one", async () => {
    const { clock, events, broken, open } = world();
    broken.add("a");
    await open("a");
    await open("b");
    for (let i = 0; i < 5; i++) await clock.advance(0);
    expect(events).toEqual(["a cannot become the owner", "b leads 2"]);
  });

  test("a process that cannot catch up stops trying when it closes, and the next one takes over", async () => {
    const { clock, events, stuck, open } = world();
    stuck.add("a");
    const a = await open("a");
    const b = await open("b");
    await clock.advance(20_000);
    expect([a.state.kind, events]).toEqual(["starting", []]);
    const left = a.leave();
    for (let i = 0; i < 5; i++) await clock.advance(0);
    await left;
    expect(events).toEqual(["a steps down: the process ends", "b leads 2"]);
    expect(b.state.kind).toBe("leading");
  });

  test("an owner that the log refuses stops, and may own the log again later", async () => {
    const { clock, events, lost, open } = world();
    await open("a");
    lost.get("a")?.("the log refused a write");
    await clock.advance(0);
    expect(events.slice(1)).toEqual(["a steps down: the log refused a write", "a ends lost"]);
    await clock.advance(3_000);
    expect(events.at(-1)).toBe("a leads 2");
  });
});
