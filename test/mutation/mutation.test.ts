import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { changeOf, judge, scoreOf } from "./judge.mjs";
import { MODULES } from "./modules.mjs";
import { differenceFrom, rowOf, SCORES_PAGE, storedScores, withScores } from "./stored-scores.mjs";

interface Explanation {
  readonly file: string;
  readonly was: string;
  readonly becomes?: string;
  readonly why: string;
}
const explained: readonly Explanation[] = JSON.parse(
  readFileSync(new URL("explained.json", import.meta.url), "utf8"),
);
const oneLine = (text: string): string => text.replace(/\s+/g, " ");

describe("the modules", () => {
  it.each(MODULES)("$name names files that exist", ({ files, tests }) => {
    expect([...files, ...tests].filter((file: string) => !existsSync(file))).toEqual([]);
  });

  it("mutate each file once", () => {
    const files = MODULES.flatMap((module: { files: readonly string[] }) => module.files);
    expect(new Set(files).size).toBe(files.length);
  });

  const names = MODULES.map(({ name }: { name: string }) => name);
  const scores = storedScores(readFileSync(SCORES_PAGE, "utf8"));

  it("have a stored score each, with no survivor", () => {
    expect([...scores.keys()]).toEqual(names);
    expect([...scores.values()].filter(({ survived }) => survived > 0)).toEqual([]);
  });
});

it.each(explained.map((one) => [one.file, one.was, one] as const))(
  "%s: the explained `%s` is in the source, and has a reason",
  (file, was, { why }) => {
    expect(oneLine(readFileSync(file, "utf8"))).toContain(was);
    expect(why).not.toBe("");
  },
);

const text = "const a = 1;\nif (x >= 2) {\n  y();\n}\n";
const mutant = (start: [number, number], end: [number, number], replacement: string) =>
  changeOf(
    {
      fileName: "/repo/src/a.ts",
      location: { start: { line: start[0], column: start[1] }, end: { line: end[0], column: end[1] } },
      replacement,
    },
    text,
    "/repo",
  );

describe("changeOf", () => {
  it("shows the line before and after", () => {
    expect(mutant([2, 5], [2, 11], "x > 2")).toEqual({
      file: "src/a.ts",
      line: 2,
      was: "if (x >= 2) {",
      becomes: "if (x > 2) {",
    });
  });

  it("shows a mutant of several lines in one", () => {
    expect(mutant([2, 13], [4, 2], "{}")).toMatchObject({
      was: "if (x >= 2) { y(); }",
      becomes: "if (x >= 2) {}",
    });
  });
});

describe("judge", () => {
  const one = { file: "a.ts", line: 1, was: "x", becomes: "y" };
  const known = { file: "a.ts", was: "x", becomes: "y", why: "the same" };

  it.each([
    ["Killed", [], 0, 0],
    ["Timeout", [], 0, 0],
    ["Survived", [], 1, 0],
    ["NoCoverage", [], 1, 0],
    ["Survived", [known], 0, 0],
    ["Survived", [{ file: "a.ts", was: "x", why: "all its changes" }], 0, 0],
    ["Killed", [known], 0, 1],
    ["Survived", [{ ...known, becomes: "z" }], 1, 1],
    ["Survived", [{ ...known, file: "not-in-this-run.ts" }], 1, 0],
  ])("%s with explanations %j: %i survive, %i explain nothing", (status, list, survive, explainNothing) => {
    const { survivors, stale } = judge([{ ...one, status }], list, ["a.ts"]);
    expect([survivors.length, stale.length]).toEqual([survive, explainNothing]);
  });

  it("counts by module", () => {
    const mutants = ["Killed", "Timeout", "Survived", "RuntimeError"].map((status) => ({ ...one, status }));
    const score = scoreOf({ name: "a", files: ["a.ts"] }, mutants, []);
    expect(score).toEqual({ name: "a", mutants: 3, killed: 2, explained: 0, survived: 1 });
    expect(rowOf(score)).toBe("| a | 3 | 2 | 0 | 1 | 66.7 % |  |");
  });
});

describe("stored scores", () => {
  const score = (name: string, killed: number) => ({
    name,
    mutants: 4,
    killed,
    explained: 4 - killed,
    survived: 0,
    on: "2026-01-02",
  });
  const empty = "Before.\n\n| module | mutants | killed | explained | survived | score | on |\n\nAfter.\n";
  const page = withScores(empty, [score("b", 4), score("a", 3)], ["a", "b"]);

  it("are read as they were written, in the order of the modules", () => {
    expect([...storedScores(page).values()]).toEqual([score("a", 3), score("b", 4)]);
    expect(page.startsWith("Before.\n\n| module |")).toBe(true);
    expect(page.endsWith("| 100.0 % | 2026-01-02 |\n\nAfter.\n")).toBe(true);
  });

  it("keep the rows of modules that were not run", () => {
    const again = withScores(page, [score("a", 2)], ["a", "b"]);
    expect([...storedScores(again).values()]).toEqual([score("a", 2), score("b", 4)]);
  });

  it.each([
    [undefined, score("a", 3), "no score is stored"],
    [score("a", 3), score("a", 3), undefined],
    [score("a", 3), score("a", 2), "+ | a | 4 | 2 | 2 | 0 | 50.0 % | 2026-01-02 |"],
    [score("a", 3), score("a", 4), "+ | a | 4 | 4 | 0 | 0 | 100.0 % |"],
  ])("%j, now %j: %s", (stored, now, expected) => {
    const difference = differenceFrom(stored, now);
    if (expected === undefined) expect(difference).toBeUndefined();
    else expect(difference).toContain(expected);
  });
});
