import type { Leases } from "@sluice/event-log";
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
  /** Makes the next attempt of this node to lead last until the returned function is called, whatever its signal says. */
  slow(node: string): () => void;
  readonly lost: Map<string, (reason: string) => void>;
  /** What went wrong, and how often each node told of a change. */
  readonly problems: string[];
  readonly changes: Map<string, number>;
  /** Makes the next end of this node's leading last until the returned function is called. */
  slowEnd(node: string): () => void;
  /** Lets time pass, then every call end that follows. */
  pass(ms: number): Promise<void>;
  /** `through`: what stands between the process and the leases. */
  open(node: string, through?: (leases: Leases) => Leases): Promise<Ownership>;
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
  const problems: string[] = [];
  const changes = new Map<string, number>();
  const starts = new Map<string, Promise<void>>();
  const ends = new Map<string, Promise<void>>();
  const slowEnd = (node: string): (() => void) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    ends.set(node, promise);
    return resolve;
  };
  const slow = (node: string): (() => void) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    starts.set(node, promise);
    return resolve;
  };
  const pass = async (ms: number): Promise<void> => {
    await clock.advance(ms);
    for (let turn = 0; turn < 20; turn++) await clock.advance(0);
  };
  const lead =
    (node: string) =>
    async (term: number, isLost: (reason: string) => void, signal: AbortSignal): Promise<Leadership> => {
      await starts.get(node);
      if (broken.has(node)) throw new Error("broken");
      if (stuck.has(node))
        await new Promise((_, reject) => {
          signal.addEventListener("abort", () => reject(new Error("stopped")));
        });
      lost.set(node, isLost);
      events.push(`${node} leads ${term}`);
      return {
        end: async (how) => {
          await ends.get(node);
          events.push(`${node} ends ${how}`);
          if (broken.has(node)) throw new Error("broken");
        },
      };
    };
  const open: World["open"] = async (node, through = (same) => same) => {
    nodes.push(node);
    const ownership = new Ownership({
      leases: through(leases.of(node)),
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
      onChange: () => changes.set(node, (changes.get(node) ?? 0) + 1),
      onStepDown: (_how, reason) => events.push(`${node} steps down: ${reason}`),
      onProblem(what) {
        problems.push(`${node} ${what}`);
        if (what === "cannot become the owner") events.push(`${node} ${what}`);
      },
    });
    await ownership.start();
    await pass(0);
    return ownership;
  };
  return {
    clock,
    leases,
    events,
    drained,
    broken,
    stuck,
    slow,
    lost,
    problems,
    changes,
    slowEnd,
    pass,
    open,
  };
}

describe("Ownership", () => {
  test("the first process takes the lease and keeps it; the others see where it is", async () => {
    const { pass, events, open } = world();
    const a = await open("a");
    const b = await open("b");
    await pass(60_000);
    expect(events).toEqual(["a leads 1"]);
    expect(a.state).toMatchObject({ kind: "leading", term: 1 });
    expect(b.state).toEqual({ kind: "following" });
    expect(b.lease?.holder).toMatchObject({ node: "a", address: "http://a", phase: "leading" });
  });

  test("an owner that is cut off is followed after the lease, and stops when it hears of it", async () => {
    const { pass, leases, events, open } = world();
    const a = await open("a");
    const b = await open("b");
    await pass(5_000);
    leases.cut("a");
    await pass(2_000);
    expect(events).toEqual(["a leads 1"]);
    await pass(1_100);
    expect(events).toEqual(["a leads 1", "b leads 2"]);
    expect(a.state.kind).toBe("leading");
    leases.mend("a");
    await pass(0);
    expect(events.slice(2)).toEqual(["a steps down: b took over", "a ends lost"]);
    await pass(60_000);
    expect(a.state.kind).toBe("following");
    expect(b.state).toMatchObject({ kind: "leading", term: 2 });
  });

  test("an owner that stays cut off stops by itself", async () => {
    const { pass, leases, events, open } = world();
    await open("a");
    leases.cut("a");
    await pass(14_000);
    expect(events.slice(1)).toEqual([
      expect.stringMatching(/^a steps down: the lease was not renewed for 1\d{4} ms$/),
      "a ends lost",
    ]);
  });

  test("while nobody reaches the engine for less than four leases, the owner stays", async () => {
    const { pass, leases, events, open } = world();
    await open("a");
    await open("b");
    leases.cut("a");
    leases.cut("b");
    await pass(7_000);
    leases.mend("a");
    leases.mend("b");
    await pass(60_000);
    expect(events).toEqual(["a leads 1"]);
  });

  test("closing hands over at once", async () => {
    const { pass, clock, events, open } = world();
    const a = await open("a");
    const b = await open("b");
    const left = a.leave();
    await pass(0);
    await pass(0);
    await left;
    a.close();
    await pass(0);
    expect(events).toEqual(["a leads 1", "a steps down: the process ends", "a ends hand over", "b leads 2"]);
    expect(b.state.kind).toBe("leading");
    await b.leave();
    b.close();
    expect(clock.pending).toBe(0);
  });

  test("an owner keeps the lease for as long as it hands over in order", async () => {
    const { pass, events, slowEnd, open } = world();
    const a = await open("a");
    const b = await open("b");
    expect(b.lease?.holder?.phase).toBe("leading");
    const end = slowEnd("a");
    const left = a.leave();
    await pass(0);
    expect([a.state.kind, b.lease?.holder?.phase]).toEqual(["ending", "ending"]);
    await pass(20_000);
    expect(b.lease?.holder).toMatchObject({ node: "a" });
    expect(events).toEqual(["a leads 1", "a steps down: the process ends"]);
    end();
    await left;
    await pass(0);
    expect(events.slice(2)).toEqual(["a ends hand over", "b leads 2"]);
  });

  test("an owner that has lost the log does not keep the lease while it stops", async () => {
    const { pass, events, lost, slowEnd, open } = world();
    const a = await open("a");
    await open("b");
    const end = slowEnd("a");
    lost.get("a")?.("refused");
    await pass(5_000);
    expect(events).toEqual(["a leads 1", "a steps down: refused", "b leads 2"]);
    expect(a.state.kind).toBe("ending");
    end();
    await pass(0);
    expect([a.state.kind, a.lease?.holder?.node]).toEqual(["following", "b"]);
  });

  test("the lease is one key, which may be removed: then the next one takes it", async () => {
    const { pass, leases, events, problems, open } = world();
    const a = await open("a");
    const others = leases.of("someone");
    await others.put("owner.else", "not a lease", undefined);
    await pass(0);
    await others.remove("owner", (await others.get("owner"))?.revision as number);
    await pass(60_000);
    expect([a.state.kind, events.at(0), problems]).toEqual(["leading", "a leads 1", []]);
    expect(a.lease?.holder).toMatchObject({ node: "a" });
  });

  test("what was handed over in order may be taken back at once, also if it had not begun", async () => {
    const { pass, events, drained, stuck, open } = world();
    stuck.add("a");
    const a = await open("a");
    const b = await open("b");
    const drain = async (node: string): Promise<void> => {
      drained.clear();
      drained.add(node);
      a.wake();
      b.wake();
      await pass(0);
    };
    await drain("a");
    stuck.clear();
    for (const node of ["b", "a", "b"]) await drain(node);
    expect(events.filter((event) => event.includes("leads"))).toEqual([
      "b leads 2",
      "a leads 3",
      "b leads 4",
      "a leads 5",
    ]);
  });

  test("a lease whose answer was lost is taken once more", async () => {
    const { pass, events, problems, open } = world();
    let isLost = true;
    const a = await open("a", (leases) => ({
      ...leases,
      async put(...args) {
        const revision = await leases.put(...args);
        if (!isLost) return revision;
        isLost = false;
        throw new Error("no answer");
      },
    }));
    await pass(1_000);
    expect([events, a.state]).toEqual([["a leads 2"], expect.objectContaining({ kind: "leading", term: 2 })]);
    expect(problems).toEqual(["a cannot write the lease"]);
  });

  test.each([false, true])(
    "says that the lease cannot be followed, unless it was closed: %s",
    async (closed) => {
      const { pass, problems, open } = world();
      const end = Promise.withResolvers<void>();
      const a = await open("a", (leases) => ({ ...leases, watch: () => end.promise }));
      if (closed) a.close();
      end.reject(new Error("gone"));
      await pass(0);
      expect(problems).toEqual(closed ? [] : ["a cannot follow the lease"]);
    },
  );

  test("a stage that fails to stop does not keep the lease", async () => {
    const { pass, broken, problems, events, open } = world();
    const a = await open("a");
    await open("b");
    broken.add("a");
    await a.leave();
    await pass(0);
    expect(problems).toEqual(["a a stage failed to stop"]);
    expect(events.at(-1)).toBe("b leads 2");
  });

  test("a lease of a newer version is a problem, and nobody takes it", async () => {
    const { pass, leases, events, problems, open } = world();
    const a = await open("a");
    const others = leases.of("someone");
    const record = await others.get("owner");
    await others.put("owner", JSON.stringify({ format: 2 }), record?.revision);
    await pass(0);
    expect(problems).toContain("a cannot read the lease");
    expect(events).toEqual(["a leads 1"]);
    a.close();
  });

  test("tells of each change of its state and of the lease, and of nothing after it was closed", async () => {
    const { pass, clock, changes, open } = world();
    const a = await open("a");
    // The lease was taken, then starting, leading, and the lease again.
    expect(changes.get("a")).toBe(4);
    await pass(1_000);
    expect(changes.get("a")).toBe(5);
    await a.leave();
    a.close();
    const told = changes.get("a");
    a.wake();
    await pass(10_000);
    expect([changes.get("a"), clock.pending]).toEqual([told, 0]);
  });

  test("draining hands over; the last process cannot be drained", async () => {
    const { pass, events, drained, open } = world();
    const a = await open("a");
    const b = await open("b");
    drained.add("a");
    a.wake();
    await pass(0);
    expect(events.slice(1)).toEqual(["a steps down: it is drained", "a ends hand over", "b leads 2"]);
    drained.add("b");
    b.wake();
    await pass(60_000);
    expect(b.state.kind).toBe("leading");
    expect(a.state.kind).toBe("following");
  });

  test("a process that fails to start its stages gives the lease to the next one", async () => {
    const { pass, events, broken, open } = world();
    broken.add("a");
    await open("a");
    await open("b");
    await pass(0);
    expect(events).toEqual(["a cannot become the owner", "b leads 2"]);
  });

  test("a process that cannot catch up stops trying when it closes, and the next one takes over", async () => {
    const { pass, events, stuck, open } = world();
    stuck.add("a");
    const a = await open("a");
    const b = await open("b");
    await pass(20_000);
    expect([a.state.kind, events]).toEqual(["starting", []]);
    const left = a.leave();
    await pass(0);
    await left;
    expect(events).toEqual(["a steps down: the process ends", "b leads 2"]);
    expect(b.state.kind).toBe("leading");
  });

  test("an owner that the log refuses stops, and may own the log again later", async () => {
    const { pass, events, lost, open } = world();
    await open("a");
    lost.get("a")?.("the log refused a write");
    await pass(0);
    expect(events.slice(1)).toEqual(["a steps down: the log refused a write", "a ends lost"]);
    await pass(3_000);
    expect(events.at(-1)).toBe("a leads 2");
  });

  test("leave() waits for the answer about a lease that is being taken, and gives it back without leading", async () => {
    const { pass, leases, events, open } = world();
    const b = await open("b");
    const a = await open("a");
    const answer = leases.delay("a");
    await b.leave();
    await pass(0);
    expect([a.state.kind, a.lease?.holder?.node]).toEqual(["following", "a"]);
    let hasLeft = false;
    const left = a.leave().then(() => {
      hasLeft = true;
    });
    await pass(0);
    expect(hasLeft).toBe(false);
    answer();
    await left;
    a.close();
    await pass(60_000);
    expect(events.filter((event) => event.startsWith("a"))).toEqual(["a steps down: the process ends"]);
    expect(a.lease?.holder).toBeUndefined();
  });

  test("leave() resolves if the lease that is being taken is not got", async () => {
    const { pass, leases, open } = world();
    const b = await open("b");
    const a = await open("a");
    leases.cut("a");
    await b.leave();
    leases.mend("a");
    leases.cut("a");
    await a.leave();
    expect(a.state.kind).toBe("following");
    await pass(0);
  });

  test("a process that hears that it got the lease after another one took it does not lead", async () => {
    const { pass, leases, events, open } = world();
    const first = await open("first");
    const a = await open("a");
    const answer = leases.delay("a");
    await first.leave();
    await pass(0);
    const b = await open("b");
    await pass(3_100);
    expect(b.state).toMatchObject({ kind: "leading", term: 3 });
    answer();
    await pass(0);
    expect(a.state.kind).toBe("following");
    expect(a.lease?.holder).toMatchObject({ node: "b" });
    await pass(60_000);
    expect(events.filter((event) => event.startsWith("a "))).toEqual([]);
  });

  test("an owner whose renewal is answered after another one took over stops once", async () => {
    const { pass, leases, events, open } = world();
    const a = await open("a");
    await open("b");
    const answer = leases.delay("a");
    await pass(1_000);
    await pass(3_100);
    await pass(0);
    answer();
    await pass(60_000);
    expect(events.slice(1).sort()).toEqual(["a ends lost", "a steps down: b took over", "b leads 2"]);
    expect(a.lease?.holder).toMatchObject({ node: "b" });
  });

  test("a process that becomes the owner although it is not wanted any more ends at once", async () => {
    const { pass, events, slow, open } = world();
    const start = slow("a");
    const a = await open("a");
    expect(a.state.kind).toBe("starting");
    const left = a.leave();
    expect(a.leave()).toBe(left);
    await pass(0);
    expect(events).toEqual(["a steps down: the process ends"]);
    start();
    await left;
    expect(events.slice(1)).toEqual(["a leads 1", "a ends hand over"]);
    expect([a.state.kind, a.lease?.holder]).toEqual(["following", undefined]);
  });

  test("an owner that loses the log twice stops once, and one that lost it in an earlier term goes on", async () => {
    const { pass, events, lost, open } = world();
    const a = await open("a");
    const loseFirst = lost.get("a");
    loseFirst?.("refused");
    loseFirst?.("refused");
    await pass(3_000);
    expect(events).toEqual(["a leads 1", "a steps down: refused", "a ends lost", "a leads 2"]);
    loseFirst?.("refused");
    await pass(0);
    expect(a.state.kind).toBe("leading");
  });
});
