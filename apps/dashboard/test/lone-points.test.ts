import { expect, test } from "vitest";
import { lonePoints } from "../src/ui/lone-points.js";

test("values without neighbours are points, also at the ends; those of a line are not", () => {
  expect(lonePoints([5, null, 3, 4, null, null, 7, undefined, 0])).toEqual([0, 6, 8]);
  expect(lonePoints([null, null])).toEqual([]);
  expect(lonePoints([1])).toEqual([0]);
});
