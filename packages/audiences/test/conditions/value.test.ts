import type { ComputedTraitKind } from "@sluice/protocol";
import { describe, expect, test } from "vitest";
import {
  add,
  MOST_EVENTS,
  MOST_EVENTS_BYTES,
  MOST_LIST_BYTES,
  MOST_VALUE_BYTES,
  MOST_VALUES,
  merge,
  type ValueSpec,
  type ValueState,
  valueNow,
} from "../../src/conditions/value.js";

const spec = (of: ComputedTraitKind, withinMs?: number): ValueSpec => ({
  kind: "accumulation",
  of,
  event: "Order",
  property: "p",
  ...(withinMs === undefined ? {} : { withinMs }),
});

const plainValueNow = (...args: Parameters<typeof valueNow>): unknown => valueNow(...args).value;

/** The state after these values, a millisecond apart. */
function after(of: ValueSpec, values: readonly unknown[], fromMs = 1): ValueState | undefined {
  let state: ValueState | undefined;
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
    expect(plainValueNow(spec(of, withinMs), after(spec(of, withinMs), VALUES), 10)).toEqual(value);
  });

  test.each<ComputedTraitKind>(["sum", "first", "unique_list", "most_frequent"])(
    "%s of nothing that counts is nothing",
    (of) => {
      expect(
        plainValueNow(spec(of, withinMs), after(spec(of, withinMs), [undefined, null]), 10),
      ).toBeUndefined();
    },
  );

  test("two states merge to what one would be, whichever comes first", () => {
    for (const of of ["sum", "average", "first", "last", "most_frequent", "unique_list"] as const) {
      const a = spec(of, withinMs);
      const [one, other] = [after(a, ["x", 5, 5], 1), after(a, [7, "x"], 4)];
      if (one === undefined || other === undefined) throw new Error("there are values");
      const whole = plainValueNow(a, after(a, ["x", 5, 5, 7, "x"]), 10);
      expect(plainValueNow(a, merge(a, one, other), 10)).toEqual(whole);
      expect(plainValueNow(a, merge(a, other, one), 10)).toEqual(whole);
    }
  });
});

describe("what is kept is bounded", () => {
  test("of a list the first values stay", () => {
    const list = spec("unique_list");
    const values = Array.from({ length: MOST_VALUES + 5 }, (_, value) => value);
    expect(plainValueNow(list, after(list, values), 0)).toEqual(values.slice(0, MOST_VALUES));
  });

  test("of a list no more than a message can carry, and nothing that is large by itself", () => {
    const list = spec("unique_list");
    const values = Array.from({ length: 100 }, (_, index) => `${index}${"é".repeat(500)}`);
    const kept = plainValueNow(list, after(list, values), 0) as string[];
    expect(kept).toEqual(values.slice(0, kept.length));
    const bytes = (some: readonly string[]): number => Buffer.byteLength(JSON.stringify(some));
    expect(bytes(kept)).toBeLessThanOrEqual(MOST_LIST_BYTES);
    expect(bytes(values.slice(0, kept.length + 1))).toBeGreaterThan(MOST_LIST_BYTES);
    for (const of of ["unique_list", "first", "last", "most_frequent"] as const) {
      const large = spec(of);
      expect(plainValueNow(large, after(large, ["x".repeat(MOST_VALUE_BYTES)]), 0)).toBeUndefined();
      expect(plainValueNow(large, after(large, ["x".repeat(MOST_VALUE_BYTES - 2)]), 0)).toBeDefined();
    }
  });

  test("of a window the latest events", () => {
    const count = spec("count", 10 ** 9);
    let state: ValueState | undefined = {
      items: Array.from({ length: MOST_EVENTS }, (_, at) => ({ atMs: at, offset: at, value: 1 })),
    };
    state = add(count, state, { atMs: MOST_EVENTS, offset: MOST_EVENTS, properties: {} }, MOST_EVENTS);
    expect(plainValueNow(count, state, MOST_EVENTS)).toBe(MOST_EVENTS);
  });

  test("of a window the latest values that fit together", () => {
    const last = spec("first", 10 ** 9);
    const values = Array.from({ length: 200 }, (_, index) => `${index}${"x".repeat(4_000)}`);
    const state = after(last, values);
    const kept = (state as { readonly items: readonly { readonly value: unknown }[] }).items.map(
      (one) => one.value,
    );
    expect(kept).toEqual(values.slice(-kept.length));
    const bytes = (some: readonly unknown[]) =>
      some.reduce<number>((sum, one) => sum + JSON.stringify(one).length, 0);
    expect(bytes(kept)).toBeLessThanOrEqual(MOST_EVENTS_BYTES);
    expect(bytes(values.slice(-kept.length - 1))).toBeGreaterThan(MOST_EVENTS_BYTES);
    expect(valueNow(last, state, 0).leftOut).toBe(200 - kept.length);
  });

  test("events that left the window go when the next comes", () => {
    const last = spec("last", 10);
    let state = after(last, ["old"]);
    state = add(last, state, { atMs: 100, offset: 100, properties: { p: "new" } }, 100);
    expect(state).toEqual({ items: [{ atMs: 100, offset: 100, value: "new" }] });
  });
});

describe("what is left out is counted", () => {
  const wholeNumbers = (n: number): number[] => Array.from({ length: n }, (_, value) => value);

  test.each([
    ["without a window", undefined],
    ["with a window", 10 ** 9],
  ])("values beyond the most that a list has, each time they come, %s", (_what, withinMs) => {
    const list = spec("unique_list", withinMs);
    const state = after(list, [...wholeNumbers(MOST_VALUES + 5), 0, MOST_VALUES]);
    expect(valueNow(list, state, 5_000)).toEqual({
      value: wholeNumbers(MOST_VALUES),
      events: MOST_VALUES + 1,
      leftOut: 6,
    });
  });

  test.each<[ComputedTraitKind, number | undefined]>([
    ["first", undefined],
    ["last", undefined],
    ["most_frequent", undefined],
    ["unique_list", undefined],
    ["first", 10 ** 9],
    ["last", 10 ** 9],
    ["most_frequent", 10 ** 9],
    ["unique_list", 10 ** 9],
  ])("values that are large by themselves: %s within %s ms", (of, withinMs) => {
    const a = spec(of, withinMs);
    const large = "x".repeat(MOST_VALUE_BYTES);
    expect(valueNow(a, after(a, [large]), 10)).toEqual({ value: undefined, events: 0, leftOut: 1 });
    const value = of === "unique_list" ? ["small"] : "small";
    const state = after(a, [large, "small", large]);
    expect(valueNow(a, state, 10)).toEqual({ value, events: 1, leftOut: 2 });
    // As it is stored and read again.
    expect(valueNow(a, JSON.parse(JSON.stringify(state)), 10)).toEqual({ value, events: 1, leftOut: 2 });
    const more = after(a, [large], 5);
    if (state === undefined || more === undefined) throw new Error("there is something");
    for (const merged of [merge(a, state, more), merge(a, more, state)])
      expect(valueNow(a, merged, 10)).toEqual({ value, events: 1, leftOut: 3 });
  });

  test("events beyond the most that a window has, until they would have left it", () => {
    const count = spec("count", 100_000);
    const state = after(count, wholeNumbers(MOST_EVENTS + 2));
    expect(valueNow(count, state, MOST_EVENTS)).toEqual({
      value: MOST_EVENTS,
      events: MOST_EVENTS,
      leftOut: 2,
    });
    expect(valueNow(count, state, 100_001).leftOut).toBe(2);
    expect(valueNow(count, state, 100_002).leftOut).toBe(0);
  });

  test("too large values of a window, and not those with them that have long left it", () => {
    const large = "x".repeat(MOST_VALUE_BYTES);
    const list = spec("unique_list", 100);
    const state = add(
      list,
      after(list, [large, large]),
      { atMs: 1_000, offset: 3, properties: { p: large } },
      1_000,
    );
    expect(valueNow(list, state, 1_000)).toEqual({ value: undefined, events: 0, leftOut: 1 });
  });

  test("in the same number whichever of two states comes first", () => {
    const list = spec("unique_list");
    const [one, other] = [after(list, wholeNumbers(700)), after(list, wholeNumbers(1_300), 500)];
    if (one === undefined || other === undefined) throw new Error("there are values");
    const [a, b] = [valueNow(list, merge(list, one, other), 0), valueNow(list, merge(list, other, one), 0)];
    expect(a).toEqual(b);
    expect(a.events + a.leftOut).toBe(2_000);
    expect(a.leftOut).toBe(300);
  });
});

describe("numbers that no double holds", () => {
  test.each([undefined, 10 ** 9])("count as none, within %s ms", (withinMs) => {
    const sum = spec("sum", withinMs);
    const state = after(sum, [1, "1e999", "-1e999", Number.POSITIVE_INFINITY, 2]);
    expect(valueNow(sum, state, 10)).toEqual({ value: 3, events: 2, leftOut: 0 });
  });

  test("a sum that grows beyond them stays at their end, also when it was stored", () => {
    const sum = spec("sum");
    const state = after(sum, [Number.MAX_VALUE, Number.MAX_VALUE]);
    expect(plainValueNow(sum, state, 10)).toBe(Number.MAX_VALUE);
    expect(plainValueNow(sum, JSON.parse(JSON.stringify(state)), 10)).toBe(Number.MAX_VALUE);
  });
});

test.each([undefined, 10 ** 9])("values are equal when their JSON is, within %s ms", (withinMs) => {
  const list = spec("unique_list", withinMs);
  const values = [{ a: 1 }, '{"a":1}', { a: 1 }, 1, "1", [1], 1, true, "true", [1], 0, -0];
  expect(valueNow(list, after(list, values), 20)).toEqual({
    value: [{ a: 1 }, '{"a":1}', 1, "1", [1], true, "true", 0],
    events: 12,
    leftOut: 0,
  });
});
