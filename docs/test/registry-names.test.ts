import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ROOT } from "./running-collector.js";

/**
 * Commands that fetch a name from the npm registry, where our names belong to nobody yet. When the packages are published, this
 * test and the notes that it asks for go.
 */
const FETCHES =
  /\bnpx (?:--yes |-y )?sluice\b|\b(?:npm (?:i|install|add)|pnpm add|yarn add|bun add)\b[^\n]*\s(?:@sluice\/|sluice\b)/;

const pages = [
  "README.md",
  ...["docs", "docs/guide", "docs/reference", "docs/contributing", "docs/decisions"].flatMap((folder) =>
    readdirSync(join(ROOT, folder))
      .filter((name) => name.endsWith(".md"))
      .map((name) => `${folder}/${name}`),
  ),
].filter((page) => FETCHES.test(read(page)));

function read(page: string): string {
  return readFileSync(join(ROOT, page), "utf8");
}

test.each(pages)("%s says how to run Sluice without the registry", (page) => {
  const isInstallPage = page === "docs/guide/install.md";
  expect(read(page)).toMatch(isInstallPage ? /not on the npm registry yet/ : /\]\([./\w]*install\.md/);
});

const packages = ["packages", "apps"]
  .flatMap((parent) => readdirSync(join(ROOT, parent)).map((name) => `${parent}/${name}`))
  .filter((folder) => JSON.parse(read(`${folder}/package.json`)).private !== true);

test.each(packages)("the README of %s says that its name is not ours yet", (folder) => {
  const text = read(`${folder}/README.md`);
  expect(text).toContain("**Not on the npm registry yet.**");
  expect(text).not.toMatch(FETCHES);
});

test.each(["apps/dashboard/src", "apps/collector/src"])("%s shows no such command", (folder) => {
  const sources = readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" });
  const found = sources.filter((path) => /\.tsx?$/.test(path) && FETCHES.test(read(`${folder}/${path}`)));
  expect(found).toEqual([]);
});
