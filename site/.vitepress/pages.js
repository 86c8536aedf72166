import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { join, posix, relative } from "node:path";

export const ROOT = join(import.meta.dirname, "../..");

/** Pages outside of docs/, and their addresses on the site. Everything in docs/ keeps its path. */
export const REWRITES = {
  "README.md": "start.md",
  "ARCHITECTURE.md": "project/architecture.md",
  "CONTRIBUTING.md": "project/contributing.md",
  "SECURITY.md": "project/security.md",
  "CODE_OF_CONDUCT.md": "project/code-of-conduct.md",
  "CHANGELOG.md": "project/changelog.md",
  "docs/README.md": "index.md",
  "docs/:rest*": ":rest*",
  "generated/:rest*": "reference/:rest*",
};

const PAGES = join(ROOT, "site/.pages");

/** Makes a folder with links to the pages. VitePress wants all of them below one folder, next to its packages. */
export function linkPages() {
  rmSync(PAGES, { recursive: true, force: true });
  mkdirSync(PAGES);
  const tops = new Set(Object.keys(REWRITES).map((source) => source.split("/")[0]));
  tops.delete("generated");
  for (const top of tops) symlinkSync(join("../..", top), join(PAGES, top));
  symlinkSync("../../apps/dashboard/public", join(PAGES, "public"));
  symlinkSync("../.generated", join(PAGES, "generated"));
  return PAGES;
}

/** The file of the repository, relative to it, that a linked page shows. */
export function fileOfPage(path) {
  return relative(PAGES, path);
}

/** The address of a Markdown file, or undefined if the site does not have it. `file` is relative to the repository. */
export function addressOf(file) {
  const page = REWRITES[file] ?? (/^docs\/.+\.md$/.test(file) ? file.slice("docs/".length) : undefined);
  return page === undefined ? undefined : `/${page}`;
}

/** The pages of a folder of docs/, in the order of their titles. */
export function pagesIn(folder) {
  return readdirSync(join(ROOT, "docs", folder))
    .filter((name) => name.endsWith(".md"))
    .map((name) => posix.join("docs", folder, name))
    .sort((a, b) => titleOf(a).localeCompare(titleOf(b)));
}

/** The first heading of a file, as text. */
export function titleOf(file) {
  const [, title = file] = /^# (.+)$/m.exec(readFileSync(join(ROOT, file), "utf8")) ?? [];
  return title.replaceAll("`", "");
}
