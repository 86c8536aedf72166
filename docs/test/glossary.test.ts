import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { ROOT } from "./running-collector.js";

const PAGE = join(ROOT, "docs/guide/glossary.md");

const entries = readFileSync(PAGE, "utf8")
  .split(/^### /m)
  .slice(1)
  .map((text) => {
    const [term = "", ...lines] = text.split("\n");
    const links = [...text.matchAll(/\]\(([^)#]+)/g)].map(([, path = ""]) => join(dirname(PAGE), path));
    return { term, text: lines.join("\n"), links };
  });

test("the glossary is in the order of the alphabet", () => {
  const terms = entries.map(({ term }) => term);
  expect(terms).toEqual([...terms].sort((a, b) => a.localeCompare(b)));
  expect(terms.length).toBeGreaterThan(30);
});

/** Words that a page uses for the term of an entry. */
const ALSO: Readonly<Record<string, string>> = {
  "Dead letter": "failed",
  Lease: "waiting retries",
  "Segment of the log": "segment",
};

describe.each(entries)("$term", ({ term, links }) => {
  test("links to a page that uses it", () => {
    expect(links.length).toBeGreaterThan(0);
    const word = (ALSO[term] ?? term).toLowerCase();
    const texts = links.map((file) =>
      readFileSync(file, "utf8")
        .toLowerCase()
        .replace(/[\s-]+/g, " "),
    );
    expect(texts.some((text) => text.includes(word))).toBe(true);
  });
});

test.each([
  ...["attempt", "backoff", "batch", "circuit breaker", "cursor", "dead letter", "destination", "flush"],
  ...["outcome", "replay", "retry", "source", "write key"],
])("%s is in the glossary", (term) => {
  expect(entries.map((entry) => entry.term.toLowerCase())).toContain(term);
});
