import { expect, test } from "vitest";
import { isolatedPoints } from "../src/ui/data/chart/isolated-points.js";

test("only values without neighbours are points, also at the ends", () => {
  expect(isolatedPoints([5, null, 3, 4, null, null, 7, undefined, 0])).toEqual([0, 6, 8]);
  expect(isolatedPoints([null, null])).toEqual([]);
  expect(isolatedPoints([1])).toEqual([0]);
});
