import { manualClock } from "@sluice/resilience/testing";
import { describe, expect, test } from "vitest";
import {
  amountsOfProcess,
  clientGroup,
  forgetAmounts,
  sharedAmounts,
} from "../../src/http/body/amounts-by-address.js";
import { bufferBudget } from "../../src/http/body/buffer-budget.js";

const MB = 1_024 * 1_024;
const clock = manualClock();

/** How many requests of `bytes` each are admitted for an address. */
function fill(budget: ReturnType<typeof bufferBudget>, address: string, bytes: number, isVouchedFor = true) {
  const holds = [];
  for (;;) {
    const hold = budget.hold(address);
    if (isVouchedFor) hold.vouch();
    if (!hold.take(bytes)) return holds;
    holds.push(hold);
  }
}

test("an address may hold as much as is still free", () => {
  const budget = bufferBudget(64 * MB, clock);
  expect(fill(budget, "a", MB)).toHaveLength(32);
  expect(fill(budget, "b", MB)).toHaveLength(16);
  expect(fill(budget, "c", MB)).toHaveLength(8);
  expect(budget.usedBytes).toBe(56 * MB);
});

test("several threads share one memory, and one that ends gives back what it held", () => {
  const [all, keyless] = [sharedAmounts(3), sharedAmounts(3)];
  const budgets = [0, 1, 2].map((thread) =>
    bufferBudget(64 * MB, clock, {
      all: amountsOfProcess(all, thread),
      keyless: amountsOfProcess(keyless, thread),
    }),
  );
  const [one, two, three] = budgets as [
    ReturnType<typeof bufferBudget>,
    ReturnType<typeof bufferBudget>,
    ReturnType<typeof bufferBudget>,
  ];
  const held = fill(one, "a", MB).slice(0, 16);
  expect(held).toHaveLength(16);
  expect(fill(two, "a", MB)).toHaveLength(0);
  expect(fill(two, "b", MB)).toHaveLength(16);
  expect(three.usedBytes).toBe(48 * MB);
  for (const hold of held) hold.release();
  expect(one.usedBytes).toBe(32 * MB);
  forgetAmounts(all, 1);
  expect(three.usedBytes).toBe(16 * MB);
  expect(fill(three, "b", MB)).toHaveLength(24);
});

test("requests without a key share an eighth of the memory by the same rule", () => {
  const budget = bufferBudget(64 * MB, clock);
  expect(fill(budget, "a", MB, false)).toHaveLength(4);
  expect(fill(budget, "b", MB, false)).toHaveLength(2);
  expect(fill(budget, "c", MB)).toHaveLength(29);
});

test("a request that shows a valid key later no longer counts to the part without keys", () => {
  const budget = bufferBudget(64 * MB, clock);
  const holds = fill(budget, "a", MB, false);
  for (const hold of holds) hold.vouch();
  expect(fill(budget, "a", MB, false)).toHaveLength(4);
  for (const hold of holds) hold.release();
  expect(budget.usedBytes).toBe(4 * MB);
});

test("the first request of an address only needs free memory, however little there is", () => {
  const budget = bufferBudget(MB, clock);
  const hold = budget.hold("a");
  expect(hold.take(500_000)).toBe(true);
  expect(hold.take(500_000)).toBe(true);
  expect(hold.take(500_000)).toBe(false);
  expect(budget.hold("a").take(1)).toBe(false);
  expect(budget.hold("b").take(1_000)).toBe(true);
});

describe("bodies that never end", () => {
  /** Holds ever smaller parts of the memory for many addresses, as far as there is any. */
  function stall(budget: ReturnType<typeof bufferBudget>) {
    const ended: string[] = [];
    const holds = Array.from({ length: 100 }, (_, index) => {
      const hold = budget.hold(`stalled ${index}`, () => ended.push(`stalled ${index}`));
      for (let bytes = MB; bytes >= 1_024; bytes /= 2) while (hold.take(bytes));
      return hold;
    });
    return { ended, holds };
  }

  test("give way to the first request of an address after a second, the slowest first", async () => {
    const budget = bufferBudget(64 * MB, clock);
    const { ended } = stall(budget);
    expect(budget.hold("other", () => {}).take(4_096)).toBe(false);
    await clock.advance(1_000);
    expect(budget.hold("other", () => {}).take(4_096)).toBe(true);
    expect(ended).toEqual(["stalled 0"]);
  });

  test("that have arrived, or belong to the address that asks for more, do not", async () => {
    const budget = bufferBudget(64 * MB, clock);
    const { ended, holds } = stall(budget);
    for (const hold of holds) hold.arrived();
    await clock.advance(1_000);
    expect(budget.hold("other", () => {}).take(4_096)).toBe(false);
    expect(budget.hold("stalled 0", () => {}).take(4_096)).toBe(false);
    expect(ended).toEqual([]);
  });

  test("hold nothing once they gave way", async () => {
    const budget = bufferBudget(64 * MB, clock);
    const { holds } = stall(budget);
    await clock.advance(1_000);
    const before = budget.usedBytes;
    expect(budget.hold("other", () => {}).take(MB)).toBe(true);
    expect(budget.usedBytes).toBeLessThanOrEqual(before);
    expect(holds[0]?.take(1)).toBe(false);
    for (const hold of holds) hold.release();
    expect(budget.usedBytes).toBe(MB);
  });
});

test("release returns everything, once", () => {
  const budget = bufferBudget(64 * MB, clock);
  const holds = [...fill(budget, "a", MB), ...fill(budget, "a", 4_096, false)];
  for (const hold of [...holds, ...holds]) hold.release();
  expect(budget.usedBytes).toBe(0);
  expect(fill(budget, "a", MB)).toHaveLength(32);
});

test.each([
  ["203.0.113.7", "203.0.113.7"],
  ["203.0.113.7:1234", "203.0.113.7"],
  ["::ffff:203.0.113.7", "203.0.113.7"],
  ["2001:db8:0:1::1", "2001:db8:0:1::/64"],
  ["2001:0DB8:0000:0001:ffff:ffff:ffff:ffff", "2001:db8:0:1::/64"],
  ["[2001:db8:0:1::1]:443", "2001:db8:0:1::/64"],
  ["2001:db8::", "2001:db8:0:0::/64"],
  ["::1", "0:0:0:0::/64"],
  ["::", "0:0:0:0::/64"],
  ["fe80::1%eth0", "fe80:0:0:0::/64"],
  ["64:ff9b::203.0.113.7", "64:ff9b:0:0::/64"],
  ["unknown", "unknown"],
  ["", ""],
])("%s is of the client %s", (address, group) => {
  expect(clientGroup(address)).toBe(group);
});

test("any text from a proxy becomes a client with a name of limited length", () => {
  expect(clientGroup("x".repeat(10_000)).length).toBeLessThanOrEqual(64);
});
