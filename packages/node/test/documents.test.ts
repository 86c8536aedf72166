import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { NODE_DEFAULTS } from "../src/options.js";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const page = (name: string): string => readFileSync(`${root}/docs/reference/${name}`, "utf8");

/** The cells of every table row. */
function rows(text: string): string[][] {
  return text
    .split("\n")
    .filter((line) => line.startsWith("| ") && !line.startsWith("|---"))
    .map((line) =>
      line
        .slice(1, -1)
        .split(/(?<!\\)\|/)
        .map((cell) => cell.trim()),
    );
}

describe("docs/reference/options.md", () => {
  const documented = new Map(
    rows(page("options.md")).map(([option, value]) => [option?.replaceAll("`", ""), value]),
  );
  const nameOf = (key: string): string =>
    key === "closeTimeoutMs" ? "close({ timeoutMs })" : key === "spoolMaxBytes" ? "spool.maxBytes" : key;

  it.each(Object.entries(NODE_DEFAULTS))("says what the default of %s is", (key, value) => {
    expect(documented.get(nameOf(key))).toBe(`\`${JSON.stringify(value)}\``);
  });

  it("has a row for every option", () => {
    const declared = ["core/src/options/options.ts", "node/src/options.ts"].flatMap((file) => {
      const source = readFileSync(`${root}/packages/${file}`, "utf8");
      const [, body = ""] = /export interface \w*AnalyticsOptions[^{]*\{([\s\S]*?)\n\}/.exec(source) ?? [];
      return [...body.matchAll(/^ {2}(\w+)\??:/gm)].map(([, name]) => String(name));
    });
    expect(declared.length).toBeGreaterThan(20);
    const aliases = ["size", "endpoint"];
    expect(declared.filter((name) => !documented.has(name) && !aliases.includes(name))).toEqual([]);
  });
});

describe("docs/reference/sdk-porting.md", () => {
  const named = rows(page("sdk-porting.md"))
    .map((cells) => /^`([^`]+\.test\.ts)`: (.+)$/.exec(cells.at(-1) ?? ""))
    .filter((match) => match !== null)
    .map(([, file, name]) => [String(file), String(name)] as const);

  it("names a test in every row", () => {
    const rowCount = rows(page("sdk-porting.md")).filter(
      ([first]) => first !== "Go" && first !== "Ruby",
    ).length;
    expect(named).toHaveLength(rowCount);
    expect(rowCount).toBeGreaterThan(30);
  });

  it.each(named)("%s has the test: %s", (file, name) => {
    const path = `${root}/packages/${file}`;
    expect(existsSync(path)).toBe(true);
    expect(readFileSync(path, "utf8")).toContain(`"${name}"`);
  });
});
