import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ROOT } from "./running-collector.js";

const page = readFileSync(join(ROOT, "docs/guide/comparison.md"), "utf8");

const cells = page
  .split("\n")
  .filter((line) => line.startsWith("| ") && !line.startsWith("| tool") && !line.startsWith("| ---"))
  .flatMap((line) => {
    const [tool = "", ...facts] = line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim());
    return tool === "Sluice" ? [] : facts.map((fact) => ({ tool, fact }));
  });

test("the comparison has many facts, and says when they were checked", () => {
  expect(cells.length).toBeGreaterThan(20);
  expect(page).toMatch(/in (November|December) 2026/);
});

test.each(cells.map(({ tool, fact }) => [`${tool}: ${fact.slice(0, 50)}`, fact]))(
  "%s has a source",
  (_name, fact) => {
    expect(fact).toMatch(/\]\(https:\/\/[^)]+\)/);
  },
);
