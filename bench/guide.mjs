/** What benches write into guides, between the markers that docs/benchmarks.md has too. */
import { readFileSync, writeFileSync } from "node:fs";
import { busyReason, describeMachine } from "./machine.mjs";
import { pageWith } from "./page.mjs";

/** `text` with where and how it was measured. `load` is that of before the start. */
export function measuredText(text, { load, conditions }) {
  const busy = busyReason(load);
  return [
    ...(busy === undefined ? [] : [`**${busy}. Do not trust these figures.**`, ""]),
    `Measured on ${describeMachine()},`,
    `with Node.js ${process.version}, ${new Date().toISOString().slice(0, 10)}.`,
    conditions,
    "",
    ...text,
  ].join("\n");
}

/** Replaces the measured part of docs/guide/`name`.md. */
export function writeIntoGuide(name, text) {
  const page = new URL(`../docs/guide/${name}.md`, import.meta.url);
  writeFileSync(page, pageWith(readFileSync(page, "utf8"), text));
}
