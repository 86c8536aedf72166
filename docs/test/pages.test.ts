import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { ROOT } from "./running-collector.js";

const LONGEST_LINE = 100;
/** ARCHITECTURE.md has wide diagrams. */
const UNWRAPPED = ["ARCHITECTURE.md"];

const pages = [
  ...["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md"],
  ...["docs", "docs/guide", "docs/reference", "docs/contributing", "docs/decisions"].flatMap((folder) =>
    readdirSync(join(ROOT, folder))
      .filter((name) => name.endsWith(".md"))
      .map((name) => `${folder}/${name}`),
  ),
];

const textOf = (page: string): string => readFileSync(join(ROOT, page), "utf8");

/** Without fenced code. Line breaks stay, so that lines keep their numbers. */
const proseOf = (page: string): string =>
  textOf(page).replace(/^```[\s\S]*?^```$/gm, (code) => code.replace(/[^\n]/g, ""));

/** The anchor that GitHub gives a heading. */
function anchorOf(heading: string): string {
  return heading
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, "")
    .replaceAll(" ", "-");
}

function anchorsOf(page: string): string[] {
  return [...proseOf(page).matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) => anchorOf(heading));
}

describe.each(pages)("%s", (page) => {
  test("has a title and something to say", () => {
    expect(textOf(page)).toMatch(/^# \S.*\n\n\S/);
  });

  test("links to pages and headings that exist", () => {
    const broken = [...proseOf(page).matchAll(/\]\(([^)\s]+)\)/g)]
      .map(([, target = ""]) => target)
      .filter((target) => !/^[a-z]+:/.test(target))
      .filter((target) => {
        const [path = "", anchor] = target.split("#");
        const file = path === "" ? page : relative(ROOT, resolve(ROOT, dirname(page), path));
        if (!existsSync(join(ROOT, file))) return true;
        return anchor !== undefined && !anchorsOf(file).includes(anchor);
      });
    expect(broken).toEqual([]);
  });

  test("names files that exist", () => {
    const named = [...proseOf(page).matchAll(/`((?:apps|packages|examples|docs|bench|scripts)\/[^\s`]+)`/g)]
      .map(([, path = ""]) => path)
      // A path with a placeholder in it is a pattern.
      .filter((path) => !/[*<{…]/.test(path));
    expect(named.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });

  test.skipIf(UNWRAPPED.includes(page))(`has lines of at most ${LONGEST_LINE} characters`, () => {
    const long = proseOf(page)
      .split("\n")
      .map((line, index) => ({ line, number: index + 1 }))
      // A table's row and what has no blank to break at cannot be wrapped.
      .filter(
        ({ line }) =>
          line.length > LONGEST_LINE &&
          !/^\s*(\||#)/.test(line) &&
          /\S\s+\S/.test(line.replace(/`[^`]*`/g, "x").trim()),
      )
      .map(({ number }) => number);
    expect(long).toEqual([]);
  });
});
