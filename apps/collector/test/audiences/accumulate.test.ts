import type { ComputedTraitKind } from "@sluice/protocol";
import { describe, expect, test } from "vitest";
import {
  type Accumulation,
  add,
  MOST_EVENTS,
  MOST_LIST_BYTES,
  MOST_VALUE_BYTES,
  MOST_VALUES,
  merge,
  valueNow,
} from "../../src/audiences/accumulate.js";
import type { AccumulationAspect } from "../../src/audiences/aspect.js";

const aspect = (of: ComputedTraitKind, withinMs?: number): AccumulationAspect => ({
  kind: "accumulation",
  of,
  event: "Order",
  property: "p",
  ...(withinMs === undefined ? {} : { withinMs }),
});

/** The state after these values, a millisecond apart. */
function after(of: AccumulationAspect, values: readonly unknown[], fromMs = 1): Accumulation | undefined {
  let state: Accumulation | undefined;
  values.forEach((value, index) => {
    const atMs = fromMs + index;
    state = add(of, state, { atMs, offset: atMs, properties: { p: value } }, atMs);
  });
  return state;
}

const VALUES = [3, "1", 3, null, "many", 2];

describe.each([
  ["without a window", undefined],
  ["with a window", 1_000],
])("%s", (_what, withinMs) => {
  test.each<[ComputedTraitKind, unknown]>([
    ["count", 6],
    ["sum", 9],
    ["average", 2.25],
    ["min", 1],
    ["max", 3],
    ["most_frequent", 3],
    ["first", 3],
    ["last", 2],
    ["unique_list", [3, "1", "many", 2]],
  ])("%s", (of, value) => {
    expect(valueNow(aspect(of, withinMs), after(aspect(of, withinMs), VALUES), 10)).toEqual(value);
  });

  test.each<ComputedTraitKind>(["sum", "first", "unique_list", "most_frequent"])(
    "%s of nothing that counts is nothing",
    (of) => {
      expect(
        valueNow(aspect(of, withinMs), after(aspect(of, withinMs), [undefined, null]), 10),
      ).toBeUndefined();
    },
  );

  test("two states merge to what one would be, whichever comes first", () => {
    for (const of of ["sum", "average", "first", "last", "most_frequent", "unique_list"] as const) {
      const a = aspect(of, withinMs);
      const [one, other] = [after(a, ["x", 5, 5], 1), after(a, [7, "x"], 4)];
      if (one === undefined || other === undefined) throw new Error("there are values");
      const whole = valueNow(a, after(a, ["x", 5, 5, 7, "x"]), 10);
      expect(valueNow(a, merge(a, one, other), 10)).toEqual(whole);
      expect(valueNow(a, merge(a, other, one), 10)).toEqual(whole);
    }
  });
});

describe("what is kept is bounded", () => {
  test("of a list the first values stay", () => {
    const list = aspect("unique_list");
    const values = Array.from({ length: MOST_VALUES + 5 }, (_, value) => value);
    expect(valueNow(list, after(list, values), 0)).toEqual(values.slice(0, MOST_VALUES));
  });

  test("of a list no more than a message can carry, and nothing that is large by itself", () => {
    const list = aspect("unique_list");
    const values = Array.from({ length: 100 }, (_, index) => `${index}${"é".repeat(500)}`);
    const kept = valueNow(list, after(list, values), 0) as string[];
    expect(kept).toEqual(values.slice(0, kept.length));
    const bytes = (some: readonly string[]): number => Buffer.byteLength(JSON.stringify(some));
    expect(bytes(kept)).toBeLessThanOrEqual(MOST_LIST_BYTES);
    expect(bytes(values.slice(0, kept.length + 1))).toBeGreaterThan(MOST_LIST_BYTES);
    for (const of of ["unique_list", "first", "last", "most_frequent"] as const) {
      const large = aspect(of);
      expect(valueNow(large, after(large, ["x".repeat(MOST_VALUE_BYTES)]), 0)).toBeUndefined();
      expect(valueNow(large, after(large, ["x".repeat(MOST_VALUE_BYTES - 2)]), 0)).toBeDefined();
    }
  });

  test("of a window the latest events", () => {
    const count = aspect("count", 10 ** 9);
    let state: Accumulation | undefined = {
      items: Array.from({ length: MOST_EVENTS }, (_, at) => ({ atMs: at, offset: at, value: 1 })),
    };
    state = add(count, state, { atMs: MOST_EVENTS, offset: MOST_EVENTS, properties: {} }, MOST_EVENTS);
    expect(valueNow(count, state, MOST_EVENTS)).toBe(MOST_EVENTS);
  });

  test("events that left the window go when the next comes", () => {
    const last = aspect("last", 10);
    let state = after(last, ["old"]);
    state = add(last, state, { atMs: 100, offset: 100, properties: { p: "new" } }, 100);
    expect(state).toEqual({ items: [{ atMs: 100, offset: 100, value: "new" }] });
  });
});
