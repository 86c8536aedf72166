import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/**
 * A fenced block of a page. The tests run blocks with `js run`, `ts run` or `sh run` after the fence; `js run server` keeps running,
 * and later blocks of the page can call it.
 */
export interface Snippet {
  readonly page: string;
  readonly line: number;
  readonly language: string;
  readonly flags: readonly string[];
  readonly code: string;
}

const FENCE = /^```(\w+)?([^\n]*)\n([\s\S]*?)^```/gm;

export function snippetsOf(page: string): Snippet[] {
  const text = readFileSync(page, "utf8");
  return [...text.matchAll(FENCE)].map((match) => ({
    page,
    line: text.slice(0, match.index).split("\n").length,
    language: match[1] ?? "",
    flags: (match[2] ?? "").trim().split(/\s+/).filter(Boolean),
    code: match[3] ?? "",
  }));
}

/** README and every page of the guide. */
export function pagesWithSnippets(root: string): string[] {
  const guide = join(root, "docs/guide");
  return [join(root, "README.md"), ...readdirSync(guide).map((name) => join(guide, name))].filter((page) =>
    page.endsWith(".md"),
  );
}
