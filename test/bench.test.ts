import { describe, expect, test } from "vitest";
import { isOverInEach, undisturbed, verdict } from "../bench/budgets/verdict.mjs";
import { backupText, sizingText } from "../bench/collector/sizing-tables.mjs";
import { combineRounds } from "../bench/figures.mjs";
import { busyReason } from "../bench/machine.mjs";
import { generatedPart, pageWith, pageWithSections } from "../bench/page.mjs";

const rounds = (...all: [floor: number, ours: number, contention?: number][]) =>
  all.map(([floor, ours, contention = 1]) => ({ floor, ours, contention }));

test("is sure of few rounds only if each undisturbed one is over the budget", () => {
  const round = (ours: number, contention = 1) => ({ floor: 10, ours, contention });
  expect(isOverInEach([round(26), round(30), round(20, 9)], 2)).toBe(true);
  expect(isOverInEach([round(24), round(30), round(40)], 2)).toBe(false);
});

describe("the verdict about a budget of 2 times the floor", () => {
  test.each([
    ["the same ratio", rounds([10, 20], [10, 20], [10, 20]), { kind: "within", ratio: 2, counted: 3 }],
    ["a slower machine, same ratio", rounds([30, 60], [33, 66], [27, 54]), { kind: "within", ratio: 2 }],
    ["exactly 25 % more", rounds([10, 25], [10, 25], [10, 25]), { kind: "within", ratio: 2.5 }],
    ["more than 25 %", rounds([10, 26], [10, 26], [10, 26]), { kind: "over", ratio: 2.6 }],
    ["one slow round of ours", rounds([10, 20], [10, 90], [10, 20]), { kind: "within", ratio: 2 }],
    [
      "a disturbed floor is not counted",
      rounds([10, 20], [10, 20], [10, 20], [20, 40]),
      { kind: "within", counted: 3, floor: 10 },
    ],
    [
      "a disturbed floor does not hide that ours became slower",
      rounds([10, 30], [10, 30], [10, 30], [20, 20]),
      { kind: "over", ratio: 3, counted: 3 },
    ],
    ["a case that became cheaper", rounds([10, 10], [10, 10], [10, 10]), { kind: "within", ratio: 1 }],
    [
      "rounds on a contended machine are not counted",
      rounds([10, 20], [10, 20], [10, 20, 1.5], [10, 90, 1.6], [10, 90, 4], [10, 90, 4], [10, 90, 4]),
      { kind: "within", ratio: 2, counted: 3 },
    ],
    ["only contended rounds", rounds([10, 90, 2], [10, 90, 2], [10, 90, 2]), { kind: "unclear", counted: 0 }],
    ["too few rounds", rounds([10, 90], [10, 90]), { kind: "unclear", counted: 2 }],
    ["floors that all differ", rounds([10, 90], [20, 90], [40, 90]), { kind: "unclear", counted: 1 }],
  ])("%s", (_, measured, expected) => {
    expect(verdict(measured, 2)).toMatchObject(expected);
  });

  test("counts a round whose floor is 30 % off, and no more", () => {
    expect(undisturbed(rounds([100, 1], [100, 2], [130, 3], [131, 4], [69, 5], [100, 6]))).toEqual(
      rounds([100, 1], [100, 2], [130, 3], [100, 6]),
    );
  });
});

test("rounds of a bench become medians and the ratio of the medians", () => {
  const round = (ours: number, peer: number) => [
    { name: "CPU", unit: "µs", ours, peer, peerName: "floor" },
    { name: "memory", unit: "MB", ours: ours * 10 },
    { name: "memory", unit: "files", ours: 1 },
  ];
  expect(combineRounds([round(2, 1), round(9, 3), round(4, 2)])).toEqual([
    { name: "CPU", unit: "µs", ours: 4, peer: 2, peerName: "floor", ratio: 2 },
    { name: "memory", unit: "MB", ours: 40 },
    { name: "memory", unit: "files", ours: 1 },
  ]);
});

test.each([
  [0.2, 2, false],
  [1, 2, false],
  [1.1, 2, true],
  [3, 8, false],
])("a load of %d on %d cores is busy: %s", (load, cores, isBusy) => {
  expect(busyReason([load], cores) !== undefined).toBe(isBusy);
});

test("a bench that lacks something shows why", () => {
  const section = {
    title: "Cluster",
    script: "a.mjs",
    figures: combineRounds([]),
    skipped: "needs a server",
  };
  const text = generatedPart([section], { command: "npm run bench", warnings: [] });
  expect(text).toContain("## Cluster\n\n`bench/a.mjs`\n\nSkipped: needs a server.");
});

test("only what is between the markers of the page is replaced", () => {
  const page = "# Benchmarks\n\n<!-- tables -->\n\nold\n\n<!-- end -->\n\nafter\n";
  expect(pageWith(page, "new $1")).toBe(
    "# Benchmarks\n\n<!-- tables -->\n\nnew $1\n\n<!-- end -->\n\nafter\n",
  );
});

test("the sizing of a rate follows from the costs of a message", () => {
  const costs = { storedMicros: 19.4, deliveredMicros: 209.6, diskBytes: 600, peakBytes: 4e8, files: 103 };
  expect(sizingText(costs).join("\n")).toMatchInlineSnapshot(`
    "| what | measured |
    | --- | --- |
    | disk, with indexes, outcomes and profiles | 572 MB per million messages |
    | CPU without a destination | 19 s per million messages |
    | CPU with one webhook | 210 s per million messages |
    | memory (RSS) | 381 MB at most |
    | open files | 103 at most |

    100 events a second (8.6 million a day) of this size, each sent to one webhook,
    take about 4.8 GB of disk a day and 2.1 % of a core. 30 days of them take 145 GB."
  `);
  const times = { p50Ms: 1, p99Ms: 2.25, maxMs: 3 };
  const first = { bytes: 36 * 2 ** 20, ms: 1_234 };
  const next = { bytes: 3.5 * 2 ** 20, ms: 100 };
  const backups = { without: times, during: times, first, next, rate: 500, messages: 60_000 };
  expect(backupText(backups).join("\n")).toMatchInlineSnapshot(`
    "| 500 requests a second | p50, ms | p99, ms | longest, ms |
    | --- | --- | --- | --- |
    | without a backup | 1.0 | 2.3 | 3.0 |
    | during a backup | 1.0 | 2.3 | 3.0 |

    The first backup of 60,000 messages copied 36 MB in 1.2 s, the next one 3.5 MB in 0.1 s."
  `);
});

test("only the sections of the benches that ran are replaced", () => {
  const figures = [{ name: "why", unit: "ms", ours: 2 }];
  const sections = ["One", "Two", "Three"].map((title) => ({ title, script: "a.mjs", figures }));
  const page = (end: string): string =>
    pageWith("# Benchmarks\n\n<!-- tables -->\n\n<!-- end -->\n", `facts\n\n${end}`);
  const whole = pageWithSections(page("## One\n\nold\n\n## Two\n\nold\n\n## Three\n\nold"), sections);
  expect(whole).not.toContain("old");
  expect(whole.match(/\| why \| 2.00 ms \|/g)).toHaveLength(3);
  const [, two] = sections;
  expect(pageWithSections(whole, two === undefined ? [] : [two])).toBe(whole);
  expect(() => pageWithSections(whole, [{ title: "Four", script: "a.mjs", figures }])).toThrow(
    'no section "Four"',
  );
});
