import type { Leases } from "@sluice/event-log";
import { type ManualClock, manualClock } from "@sluice/resilience/testing";
import { describe, expect, it } from "vitest";
import { Membership } from "../../src/cluster/membership/membership.js";
import { precedenceMs, reasonToMove } from "../../src/cluster/ownership/balance.js";
import { ownerKey } from "../../src/cluster/ownership/owner-key.js";
import { type Leadership, Ownership } from "../../src/cluster/ownership/ownership.js";
import { balanceFacts } from "../../src/cluster/partitions/balance-facts.js";
import { MemoryLeases } from "./memory-leases.js";

const LEASE_MS = 3_000;
/** After that, a process that was lost counts as such, and everything has moved. */
const SETTLED_MS = 20_000;

/** Processes that share partitions over leases which each of them hears of a little later. */
function world(partitions: number, seed: number) {
  const random = randomNumbers(seed);
  const clock = manualClock({ random });
  const leases = new MemoryLeases();
  /** `b takes 2`, `a hands over 2` and `b loses 2`, in order. */
  const events: string[] = [];
  const ended = new Set<string>();
  const opened = new Map<string, readonly Ownership[]>();
  const open = async (node: string): Promise<void> => {
    const own = { leases: slow(leases.of(node), clock, 1 + Math.floor(random() * 30)), clock };
    let ownerships: readonly Ownership[] = [];
    const wakeAll = (): void => {
      for (const ownership of ownerships) ownership.wake();
    };
    const isReady = (): boolean => !ownerships.some(({ isLeaving }) => isLeaving);
    const startedAtMs = clock.now();
    const membership = new Membership({
      ...own,
      heartbeatMs: 2_000,
      self: () => ({
        ...{ node, instance: node, address: `http://${node}`, version: "1.0.0", startedAtMs },
        ...{ role: "following", isReady: isReady(), applied: 0, behindEntries: 0, behindMs: 0 },
      }),
      onChange: wakeAll,
      onNameTaken: () => {},
      onProblem: () => {},
    });
    const facts = () => balanceFacts({ ownerships, membership, node, leaseMs: LEASE_MS });
    const made = Array.from({ length: partitions }, (_, partition) => {
      return new Ownership({
        ...{ ...own, key: ownerKey(partition), partitions, leaseMs: LEASE_MS, heartbeatMs: LEASE_MS / 3 },
        self: { node, instance: node, address: `http://${node}` },
        facts: () => ({
          isReady: !ended.has(node),
          isDrained: false,
          hasSuccessor: membership.members().some((one) => one.node !== node && one.isAlive),
          precedenceMs: precedenceMs(facts(), partition),
          moveReason: reasonToMove(facts(), partition),
        }),
        async lead(): Promise<Leadership> {
          events.push(`${node} takes ${partition}`);
          await clock.sleep(random() * 400);
          return { end: async () => clock.sleep(random() * 400) };
        },
        onChange: () => {
          membership.beat();
          queueMicrotask(wakeAll);
        },
        onStepDown: (how) => {
          if (!ended.has(node))
            events.push(`${node} ${how === "lost" ? "loses" : "hands over"} ${partition}`);
        },
        onProblem: () => {},
      });
    });
    ownerships = made;
    opened.set(node, made);
    const started = membership.start().then(async () => {
      for (const ownership of made) await ownership.start();
    });
    // Without time, no answer arrives.
    await clock.advance(SETTLED_MS);
    await started;
  };
  return {
    events,
    open,
    /** Ends the process without a word. */
    async lose(node: string): Promise<void> {
      ended.add(node);
      leases.cut(node);
      await clock.advance(SETTLED_MS);
    },
    /** Has the process hand over, while it still answers. */
    async leave(node: string): Promise<void> {
      const left = Promise.all((opened.get(node) ?? []).map((ownership) => ownership.leave()));
      await clock.advance(SETTLED_MS);
      await left;
    },
    /** How many partitions each process owns. */
    async counts(): Promise<number[]> {
      const owned = new Map<string, number>();
      for (let partition = 0; partition < partitions; partition++) {
        const record = await leases.of("the test").get(ownerKey(partition));
        const { holder } = JSON.parse(record?.value ?? "{}") as { holder?: { node: string } };
        if (holder !== undefined) owned.set(holder.node, (owned.get(holder.node) ?? 0) + 1);
      }
      return [...owned.values()].sort();
    },
  };
}

function slow(leases: Leases, clock: ManualClock, ms: number): Leases {
  return {
    ...leases,
    put: async (...call) => {
      await clock.sleep(ms);
      return leases.put(...call);
    },
    watch: (prefix, listener, signal) =>
      leases.watch(prefix, (key, record) => void clock.after(ms, () => listener(key, record)), signal),
  };
}

/** The same numbers for the same seed. */
function randomNumbers(seed: number): () => number {
  let state = seed * 7_919 + 17;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}

const NODES = ["a", "b", "c", "d"];

describe("partitions change their owners as seldom as they can", () => {
  const cases = [1, 2].flatMap((seed) => [4, 7].map((partitions) => [partitions, seed] as const));

  it.each(cases)("when processes join and are lost: %i partitions, seed %i", async (partitions, seed) => {
    const { events, open, lose, counts } = world(partitions, seed);
    const handedOver = (): number => events.filter((event) => event.includes("hands over")).length;
    const taken = (): number => events.filter((event) => event.includes("takes")).length;
    let expectedTaken = 0;
    let expectedHandedOver = 0;
    for (const [before, node] of NODES.entries()) {
      await open(node);
      const toNew = before === 0 ? partitions : Math.floor(partitions / (before + 1));
      expectedTaken += toNew;
      if (before > 0) expectedHandedOver += toNew;
      expect({ taken: taken(), handedOver: handedOver() }, events.join(", ")).toEqual({
        taken: expectedTaken,
        handedOver: expectedHandedOver,
      });
    }
    for (const [index, node] of ["a", "c"].entries()) {
      const last = events.length;
      const held = events
        .filter((event) => event.startsWith(`${node} `))
        .reduce((sum, event) => sum + (event.includes("takes") ? 1 : -1), 0);
      await lose(node);
      expect(events.slice(last), `${node} is lost`).toEqual(
        Array.from({ length: held }, () => expect.stringContaining("takes")),
      );
      const left = NODES.length - 1 - index;
      const [least = 0] = await counts();
      expect((await counts()).at(-1)).toBeLessThanOrEqual(least + 1);
      expect(await counts()).toHaveLength(left);
    }
  });

  it("when a process ends in order", async () => {
    const { events, open, leave } = world(4, 5);
    for (const node of ["a", "b", "c"]) await open(node);
    const last = events.length;
    await leave("b");
    const moved = events.slice(last);
    expect(moved.filter((event) => event.startsWith("b hands over"))).toHaveLength(2);
    expect(moved.filter((event) => event.includes("takes"))).toHaveLength(2);
    expect(moved).toHaveLength(4);
  });
});
