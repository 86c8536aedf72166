import Big from "big.js";
import BigNumber from "bignumber.js";
import { Decimal } from "decimal.js";
import { describe, expect, it } from "vitest";
import { serialize } from "../../src/message/accept.js";

/** A decimal without its `toJSON`. */
function withoutToJson<T extends object>(value: T): T {
  return Object.defineProperty(value, "toJSON", { value: undefined });
}

describe("serialize", () => {
  it.each<[name: string, value: unknown, json: string]>([
    ["a Date", new Date(0), '"1970-01-01T00:00:00.000Z"'],
    ["an invalid Date", new Date(Number.NaN), "null"],
    ["NaN", Number.NaN, "null"],
    ["Infinity", Number.NEGATIVE_INFINITY, "null"],
    ["a BigInt", 2n ** 64n, '"18446744073709551616"'],
    [
      "a BigInt among other values",
      { a: 1n, b: [new Date(0), "x"] },
      '{"a":"1","b":["1970-01-01T00:00:00.000Z","x"]}',
    ],
    ["undefined in an object", { a: undefined }, "{}"],
    ["a function in a list", [() => 1], "[null]"],
    ["a decimal.js", new Decimal("0.1").plus("0.2"), '"0.3"'],
    [
      "a decimal.js without toJSON",
      withoutToJson(new Decimal("1234567890.123456789")),
      '"1234567890.123456789"',
    ],
    ["a big.js", new Big("19.990"), '"19.99"'],
    ["a big.js without toJSON", withoutToJson(new Big("-19.99")), '"-19.99"'],
    ["a bignumber.js", new BigNumber("1e-7"), '"1e-7"'],
    ["a bignumber.js without toJSON", withoutToJson(new BigNumber("12.5")), '"12.5"'],
    ["a decimal in a list", [[withoutToJson(new Big("1.10"))]], '[["1.1"]]'],
    ["an application's own {s, e, c}", { s: 1, e: 2, c: [3] }, '{"s":1,"e":2,"c":[3]}'],
    ["a key s", { s: "x" }, '{"s":"x"}'],
    ["a lone surrogate", "\ud800", '"\\ud800"'],
  ])("%s", (_name, value, json) => {
    expect(serialize({ value })).toBe(`{"value":${json}}`.replace('{"value":undefined}', "{}"));
  });

  it("throws for a cycle, also if it contains a BigInt", () => {
    const cycle: Record<string, unknown> = { n: 1n };
    cycle.self = cycle;
    expect(() => serialize(cycle)).toThrow(TypeError);
  });
});
