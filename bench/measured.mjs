/** What benches that `npm run bench` leaves out write into docs/benchmarks.md. */
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

/** Replaces what follows the marker `mark` of docs/benchmarks.md. */
export function writeMeasured(mark, text) {
  const page = new URL("../docs/benchmarks.md", import.meta.url);
  writeFileSync(page, pageWith(readFileSync(page, "utf8"), text, mark));
}
