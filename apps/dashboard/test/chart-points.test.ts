import { expect, test } from "vitest";
import { withGaps } from "../src/pages/rates.js";
import { isolatedPoints } from "../src/ui/data/chart/series.js";

const NONE = { accepted: 0, rejected: 0, delivered: 0, failed: 0, retried: 0 };
const point = (second: number, overMs = 2_000) => ({
  ...NONE,
  at: new Date(second * 1_000).toISOString(),
  overMs,
});

test("the time while the collector was not running is a sample without a point", () => {
  const points = [point(2), point(4), point(60), point(65, 5_000)];
  expect(withGaps(points)).toEqual([
    { atMs: 2_000, point: points[0] },
    { atMs: 4_000, point: points[1] },
    { atMs: 58_000 },
    { atMs: 60_000, point: points[2] },
    { atMs: 65_000, point: points[3] },
  ]);
});

test("only values without neighbours are points, also at the ends", () => {
  expect(isolatedPoints([5, null, 3, 4, null, null, 7, undefined, 0])).toEqual([0, 6, 8]);
  expect(isolatedPoints([null, null])).toEqual([]);
  expect(isolatedPoints([1])).toEqual([0]);
});
