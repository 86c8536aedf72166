import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  addDecimals,
  averageOf,
  type DecimalSum,
  decimalSumOf,
  decimalSumOfAll,
  numberOf,
} from "../../src/conditions/decimal-sum.js";
import { exactSum } from "./naive-evaluator.js";

const sumOf = (values: readonly number[]): DecimalSum =>
  values.reduce<DecimalSum>((sum, value) => addDecimals(sum, decimalSumOf(value)), 0);

test.each<[string, number[], DecimalSum, number]>([
  ["nothing", [], 0, 0],
  ["whole numbers", [1, 2, 3], 6, 6],
  ["tenths", [0.1, 0.2], "3e-1", 0.3],
  ["amounts", [1000.1, 299.2], "12993e-1", 1299.3],
  ["tenths that add up to a whole number", [0.7, 0.1, 0.2], 1, 1],
  ["what is paid back", [19.99, -19.99], 0, 0],
  ["a negative zero", [-0], 0, 0],
  ["negative amounts", [-0.1, -0.2], "-3e-1", -0.3],
  ["whole numbers beyond the safe ones", [2 ** 53 - 1, 2], "9007199254740993e0", 9_007_199_254_740_992],
  ["the greatest and the smallest", [1e308, 5e-324, -1e308], "5e-324", 5e-324],
  ["more than a double can hold, for a moment", [1.5e308, 1.5e308, -1.5e308], "15e307", 1.5e308],
  ["more than a double can hold", [1.5e308, 1.5e308], "3e308", Number.MAX_VALUE],
  ["less than a double can hold", [-1.5e308, -1.5e308], "-3e308", -Number.MAX_VALUE],
])("adds %s", (_what, values, stored, value) => {
  expect(sumOf(values)).toBe(stored);
  expect(decimalSumOfAll(values)).toBe(stored);
  expect(numberOf(stored)).toBe(value);
});

test.each<[number[], number]>([
  [[0.1, 0.2], 0.15],
  [[1299.3, 0, 0], 433.1],
  [[1, 0, 0], 1 / 3],
  [[0.1, 0.1, 0.1], 0.1],
  [[1.7e308, 1.7e308], 1.7e308],
  [[5e-324, 5e-324], 5e-324],
])("averages %j", (values, average) => {
  expect(averageOf(sumOf(values), values.length)).toBe(average);
});

describe("for any values", () => {
  const amount = fc.integer({ min: -10_000_000, max: 10_000_000 }).map((cents) => cents / 100);
  const double = fc.double({ noNaN: true, noDefaultInfinity: true });
  const values = fc.array(fc.oneof(amount, fc.integer(), double), { maxLength: 40 });
  const nearest = (sum: bigint): number =>
    Math.min(Number.MAX_VALUE, Math.max(-Number.MAX_VALUE, Number(`${sum}e-400`)));

  test("the sum is that of whole numbers, in any order and however it is grouped", () => {
    fc.assert(
      fc.property(values, fc.nat(), (some, cut) => {
        const sum = sumOf(some);
        expect(numberOf(sum)).toBe(nearest(exactSum(some)) + 0);
        expect(sumOf(some.toReversed())).toBe(sum);
        expect(decimalSumOfAll(some)).toBe(sum);
        const at = some.length === 0 ? 0 : cut % some.length;
        expect(addDecimals(sumOf(some.slice(at)), sumOf(some.slice(0, at)))).toBe(sum);
        expect(String(sum).length).toBeLessThan(700);
      }),
    );
  });
});
