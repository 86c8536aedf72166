import { describe, expect, test } from "vitest";
import { backupText, sizingText } from "../bench/collector/sizing-tables.mjs";
import { isSlowerInEach, summary } from "../bench/compare/rounds.mjs";
import { combineRounds } from "../bench/figures.mjs";
import { busyReason } from "../bench/machine.mjs";
import { generatedPart, pageWith, pageWithSections } from "../bench/page.mjs";

describe("a comparison with another commit", () => {
  const rounds = (...ratios: number[]) => ratios.map((ratio) => ({ base: 20, ours: 20 * ratio }));

  test.each([
    ["11 % more in each round", rounds(1.11, 1.2, 1.5), true],
    ["10 % more in one round", rounds(1.5, 1.1, 1.5), false],
    ["cheaper", rounds(0.8), false],
  ])("%s fails: %s", (_, measured, isSlower) => {
    expect(isSlowerInEach(measured)).toBe(isSlower);
  });

  test("shows medians and the spread of the ratios", () => {
    expect(summary(rounds(1.5, 0.9, 1))).toEqual({
      base: "20.0",
      ours: "20.0",
      ratio: "1.00",
      spread: "0.90 to 1.50",
      rounds: 3,
    });
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
  const backup = { bytes: 36 * 2 ** 20, ms: 1_234 };
  const backups = { without: times, during: times, backup, rate: 500, messages: 60_000 };
  expect(backupText(backups).join("\n")).toMatchInlineSnapshot(`
    "| 500 requests a second | p50, ms | p99, ms | longest, ms |
    | --- | --- | --- | --- |
    | without a backup | 1.0 | 2.3 | 3.0 |
    | during a backup | 1.0 | 2.3 | 3.0 |

    The backup of 60,000 messages had 36 MB in 1.2 s."
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
  const alone = pageWithSections(whole, sections.slice(1, 2), "Measured on a day, on a busy machine.");
  expect(alone).toContain("## Two\n\n`bench/a.mjs`\n\nMeasured on a day, on a busy machine.\n\n| what |");
  expect(alone.match(/Measured on a day/g)).toHaveLength(1);
  const longer = pageWithSections(whole, [{ title: "Four", script: "a.mjs", figures }]);
  expect(longer).toContain("| why | 2.00 ms | | |\n\n## Four\n\n`bench/a.mjs`\n");
  expect(longer).toMatch(/\n\n<!-- end -->\n$/);
});
