import { existsSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { ROOT } from "./running-collector.js";

const PAGE = "docs/guide/guarantees.md";

interface Promised {
  readonly promise: string;
  readonly proofs: readonly string[];
}

/** The rows of the tables whose first column is "promise". */
function promises(): Promised[] {
  const tables = readFileSync(join(ROOT, PAGE), "utf8").split(/\n\n+/);
  return tables
    .filter((table) => /^\| promise \|/.test(table))
    .flatMap((table) => table.trim().split("\n").slice(2))
    .map((row) => {
      const [, promise = "", , proof = ""] = row.split(/(?<!\\)\|/).map((cell) => cell.trim());
      return { promise, proofs: [...proof.matchAll(/\]\(([^)#\s]+)\)/g)].map(([, target = ""]) => target) };
    });
}

const fileOf = (target: string): string => relative(ROOT, resolve(ROOT, dirname(PAGE), target));

test("the page has promises", () => {
  expect(promises().length).toBeGreaterThan(20);
});

describe.each(promises())("$promise", ({ proofs }) => {
  test("names at least one test, and every test exists", () => {
    expect(proofs.length).toBeGreaterThan(0);
    const files = proofs.map(fileOf);
    expect(files.filter((file) => !existsSync(join(ROOT, file)))).toEqual([]);
    // Files of tests, invariants of the simulation, and troubles.
    expect(files.filter((file) => !/(^|\/)test\/|^bench\/.*loss/.test(file))).toEqual([]);
  });
});
