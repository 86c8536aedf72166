import { readFileSync } from "node:fs";
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

describe("the porting pages", () => {
  it.each([
    [
      "the client of @sluice/node/compat translates",
      "compat/segment.ts",
      /Translation>> = \{([\s\S]*?)\n\};/,
    ],
    ["the SDK gives advice on", "usage-advice.ts", /FOREIGN_OPTIONS[^{]*\{([\s\S]*?)\n\};/],
  ])("name every option that %s", (_name, file, tableOf) => {
    const [, table = ""] = tableOf.exec(readFileSync(`${root}/packages/node/src/${file}`, "utf8")) ?? [];
    const options = [...table.matchAll(/^ {2}(\w+):/gm)].map(([, option]) => String(option));
    const text = ["segment", "other-clients"]
      .map((name) => readFileSync(`${root}/docs/guide/from-${name}.md`, "utf8"))
      .join("");
    expect(options.length).toBeGreaterThan(5);
    expect(options.filter((option) => !text.includes(`\`${option}`))).toEqual([]);
  });
});
