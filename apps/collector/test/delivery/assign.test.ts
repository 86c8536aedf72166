import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Load, nextMove, placeFor } from "../../src/delivery/workers/assign.js";

const load = (id: string, perSecond: number): Load => ({ id, perSecond });
const at = (placement: Record<string, number>): Map<string, number> => new Map(Object.entries(placement));

describe("a new destination goes to", () => {
  it.each<[string, Load[], Record<string, number>, number]>([
    ["the first worker if there are no others", [], {}, 0],
    ["the one with the fewest destinations if all are quiet", [load("a", 0)], { a: 0 }, 1],
    [
      "the one with the fewest messages",
      [load("a", 10), load("b", 1), load("c", 1)],
      { a: 0, b: 1, c: 1 },
      1,
    ],
    ["the first if the others have more", [load("a", 1), load("b", 10)], { a: 0, b: 1 }, 0],
  ])("%s", (_case, loads, placement, worker) => {
    expect(placeFor(loads, at(placement), 2)).toBe(worker);
  });
});

describe("the next destination to move", () => {
  it.each<[string, Load[], Record<string, number>, { id: string; to: number } | undefined]>([
    ["none if there are none", [], {}, undefined],
    ["none if the difference is small", [load("a", 150), load("b", 10)], { a: 0, b: 0 }, undefined],
    ["none if the busiest has only one", [load("a", 5_000), load("b", 10)], { a: 0, b: 1 }, undefined],
    [
      "the one that evens them out",
      [load("a", 1_000), load("b", 600), load("c", 100)],
      { a: 0, b: 0, c: 1 },
      { id: "b", to: 1 },
    ],
    [
      "a small one beside a very busy one",
      [load("a", 5_000), load("b", 400), load("c", 0)],
      { a: 0, b: 0, c: 1 },
      { id: "b", to: 1 },
    ],
    [
      "one of the second worker, if that is the busiest",
      [load("a", 1_000), load("b", 600), load("c", 100)],
      { a: 1, b: 1, c: 0 },
      { id: "b", to: 0 },
    ],
    ["none for less than a handover is worth", [load("a", 90), load("b", 90)], { a: 0, b: 0 }, undefined],
    ["one for as much as it is worth", [load("a", 100), load("b", 100)], { a: 0, b: 0 }, { id: "a", to: 1 }],
    ["the first of equal ones", [load("b", 100), load("a", 100)], { a: 0, b: 0 }, { id: "a", to: 1 }],
    ["the smaller of two as good", [load("b", 150), load("a", 50)], { a: 0, b: 0 }, { id: "a", to: 1 }],
    [
      "none that only turns the difference round",
      [load("a", 1_000), load("b", 0)],
      { a: 0, b: 1 },
      undefined,
    ],
  ])("%s", (_case, loads, placement, move) => {
    expect(nextMove(loads, at(placement), 2)).toEqual(move);
  });

  it("is one of the first of two workers that are as busy", () => {
    const loads = ["a", "b", "c", "d"].map((id) => load(id, 300));
    expect(nextMove(loads, at({ c: 0, d: 0, a: 1, b: 1 }), 3)).toEqual({ id: "c", to: 2 });
  });

  it("ends: each move makes the busiest worker less busy, and makes none as busy as that was", () => {
    const busy = fc.record({ worker: fc.nat(3), perSecond: fc.nat(10_000) });
    fc.assert(
      fc.property(fc.array(busy, { maxLength: 20 }), (all) => {
        const loads = all.map(({ perSecond }, i) => load(`dst_${i}`, perSecond));
        const placement = new Map(all.map(({ worker }, i) => [`dst_${i}`, worker]));
        const totalOf = (worker: number): number =>
          loads.filter(({ id }) => placement.get(id) === worker).reduce((sum, one) => sum + one.perSecond, 0);
        for (let moves = 0; ; moves++) {
          const move = nextMove(loads, placement, 4);
          if (move === undefined) return;
          expect(moves).toBeLessThan(200);
          const before = totalOf(placement.get(move.id) ?? 0);
          placement.set(move.id, move.to);
          expect(totalOf(move.to)).toBeLessThan(before);
        }
      }),
    );
  });
});
