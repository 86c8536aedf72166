import { describe, expect, it, test } from "vitest";
import {
  type BalanceFacts,
  type HeldPartition,
  precedenceMs,
  reasonToMove,
} from "../../src/cluster/ownership/balance.js";

/** `aab-`: who holds each partition. In upper case: it takes no requests yet, or no more. */
function facts(owners: string, rest: Partial<BalanceFacts> = {}, wanted: Record<number, string> = {}) {
  const held = [...owners].map((letter, partition): HeldPartition => {
    const node = letter === "-" ? undefined : letter.toLowerCase();
    return { partition, node, isLeading: node === letter, wanted: wanted[partition] };
  });
  const candidates = ["a", "b", "c"];
  return { candidates, heard: candidates, held, ...rest };
}

/** Who hands which partition over: `a1` is partition 1 of `a`. */
function moves(given: Omit<BalanceFacts, "node">): string[] {
  return given.held.flatMap(({ node, partition }) =>
    node !== undefined && reasonToMove({ ...given, node }, partition) !== undefined
      ? [`${node}${partition}`]
      : [],
  );
}

/** How long each process waits before it takes the partition. */
function waits(given: Omit<BalanceFacts, "node">, partition: number): Record<string, number> {
  const nodes = [...given.candidates, "z"];
  return Object.fromEntries(nodes.map((node) => [node, precedenceMs({ ...given, node }, partition)]));
}

describe("a partition is handed over", () => {
  it.each<[string, Omit<BalanceFacts, "node">, string[]]>([
    ["by the process that owns most", facts("aaab"), ["a2"]],
    ["by the first of two that own as many", facts("aabb"), ["a1"]],
    ["not when the difference is one", facts("aabc"), []],
    ["not while one has no owner", facts("aaa-b"), []],
    ["not while one changes owners", facts("aaaB"), []],
    ["not to a process that was not heard since an owner changed", facts("aabb", { heard: ["a", "b"] }), []],
    ["nor to the next one, if it owns too many", facts("aaabb", { heard: ["a", "b"] }), []],
    ["but to the next one, if it owns few enough", facts("aaab", { heard: ["a", "b"] }), ["a2"]],
    ["not by a process that could not own it", facts("zzab"), []],
    ["not if nobody else is there", facts("aaaa", { candidates: ["a"], heard: ["a"] }), []],
    ["to the process to which it was moved", facts("aabc", {}, { 0: "b" }), ["a0"]],
    ["to it while another one has no owner", facts("aab-", {}, { 0: "b" }), ["a0"]],
    ["to it before all others", facts("aaac", {}, { 3: "b" }), ["c3"]],
    ["not if it was moved to a process that is not there", facts("aabc", {}, { 0: "y" }), []],
    ["and leaves those that were moved there", facts("aaab", {}, { 2: "a" }), ["a1"]],
    [
      "by the next one, if all of the first were moved there",
      facts("aaabb", {}, { 0: "a", 1: "a", 2: "a" }),
      ["b4"],
    ],
  ])("%s", (_, given, expected) => {
    expect(moves(given)).toEqual(expected);
  });

  test("with the name of the one that owns fewest", () => {
    expect(reasonToMove({ ...facts("aabb"), node: "a" }, 1)).toBe("c owns fewer partitions");
    expect(reasonToMove({ ...facts("aabc", {}, { 1: "c" }), node: "a" }, 1)).toBe("it was moved to c");
  });
});

describe("a free partition is taken first", () => {
  it.each<[string, Omit<BalanceFacts, "node">, number, Record<string, number>]>([
    ["by the process that owns fewest", facts("aab-"), 3, { a: 500, b: 250, c: 0, z: 750 }],
    ["by the first of those that own as many", facts("abc-"), 3, { a: 0, b: 250, c: 500, z: 750 }],
    ["by the next one, if it is the second", facts("abc--"), 4, { a: 500, b: 0, c: 250, z: 750 }],
    ["not by the process that was lost", facts("aabc"), 0, { a: 500, b: 0, c: 250, z: 500 }],
    ["which gives its second to another one", facts("aabc"), 1, { a: 500, b: 250, c: 0, z: 500 }],
    [
      "by the one to which it was moved",
      facts("abc-", {}, { 3: "c" }),
      3,
      { a: 2_000, b: 2_250, c: 0, z: 2_750 },
    ],
    [
      "by another one, if that is not there",
      facts("abc-", {}, { 3: "y" }),
      3,
      { a: 0, b: 250, c: 500, z: 750 },
    ],
    [
      "with those counted that were moved",
      facts("abc--", {}, { 3: "b" }),
      4,
      { a: 0, b: 500, c: 250, z: 750 },
    ],
    ["by the only one", facts("--", { candidates: ["a"] }), 1, { a: 0, z: 250 }],
    ["by anybody, if nobody else is there", facts("--", { candidates: [] }), 1, { z: 0 }],
  ])("%s", (_, given, partition, expected) => {
    expect(waits(given, partition)).toEqual(expected);
  });
});
