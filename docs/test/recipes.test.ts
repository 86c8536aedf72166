import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ROOT } from "./running-collector.js";
import { pagesWithSnippets, snippetsOf } from "./snippets.js";

/** Snippets marked `file=path` show a file that other tests run. Its comments at the top may be left out. */
const shown = pagesWithSnippets(ROOT).flatMap((page) =>
  snippetsOf(page).flatMap(({ flags, code }) =>
    flags.filter((flag) => flag.startsWith("file=")).map((flag) => ({ file: flag.slice(5), code })),
  ),
);

test("pages show files", () => expect(shown.length).toBeGreaterThan(0));

test.each(shown)("shows $file as it is", ({ file, code }) => {
  expect(readFileSync(join(ROOT, file), "utf8").replace(/^(\/\/.*\n)+/, "")).toBe(code);
});
