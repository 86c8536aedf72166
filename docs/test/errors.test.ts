import { readFileSync } from "node:fs";
import { ISSUES } from "@sluice/protocol";
import { expect, test } from "vitest";
import { ERRORS } from "../../apps/collector/src/errors.js";
import { ROOT } from "./running-collector.js";

const page = readFileSync(`${ROOT}/docs/reference/errors.md`, "utf8");

function sectionsOf(heading: string): Map<string, string> {
  const part = page.split(/^## /m).find((text) => text.startsWith(heading)) ?? "";
  const sections = part.split(/^### /m).slice(1);
  return new Map(sections.map((text) => [text.slice(0, text.indexOf("\n")), text]));
}

test("docs/reference/errors.md has a heading for every code of the collector, with its status", () => {
  const sections = sectionsOf("Codes of the collector");
  expect([...sections.keys()]).toEqual(Object.keys(ERRORS));
  for (const [code, { status }] of Object.entries(ERRORS)) {
    expect(sections.get(code), code).toMatch(new RegExp(`^${code}\n${status}\\. `));
  }
});

test("docs/reference/errors.md has a heading for every code of a refused message", () => {
  expect([...sectionsOf("Codes of refused messages").keys()]).toEqual(Object.keys(ISSUES));
});
