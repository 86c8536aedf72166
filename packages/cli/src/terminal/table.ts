import type { Io } from "./io.js";
import { terminalText } from "./terminal-text.js";

/** The widest that columns of texts that users chose may be, because a table too wide to read helps nobody. Ids are never cut off. */
const WIDEST: Readonly<Record<string, number>> = {
  NAME: 32,
  DESTINATION: 32,
  EVENT: 32,
  SOURCES: 32,
  "BLOCKED EVENTS": 32,
  URL: 60,
};
/** No narrower, not even on a small terminal. */
const NARROWEST = 16;
const GAP = 2;

/**
 * A table whose columns are as wide as their longest cell; the last column is not padded. On a terminal, long texts are cut off so that
 * a row fits into a line. Escapes the cells.
 */
export function table(
  headings: readonly string[],
  rows: readonly (readonly (string | number)[])[],
  { style, tableColumns }: Pick<Io, "style" | "tableColumns">,
): string {
  const texts = rows.map((row) => row.map((cell) => terminalText(String(cell))));
  const widths = fitting(
    headings,
    headings.map((heading, column) =>
      Math.min(
        WIDEST[heading] ?? Number.POSITIVE_INFINITY,
        Math.max(width(heading), ...texts.map((row) => width(row[column] ?? ""))),
      ),
    ),
    tableColumns,
  );
  const cells = texts.map((row) => row.map((text, column) => cut(text, widths[column] ?? 0)));
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) =>
        column === row.length - 1
          ? cell
          : cell + " ".repeat(Math.max(0, (widths[column] ?? 0) - width(cell))),
      )
      .join(" ".repeat(GAP))
      .trimEnd();
  return `${[style.bold(line(headings)), ...cells.map(line)].join("\n")}\n`;
}

/** The widths, the widest text narrowed again and again until the row fits or nothing is left to narrow. */
function fitting(headings: readonly string[], widths: readonly number[], columns: number): number[] {
  const narrowed = [...widths];
  const total = () => narrowed.reduce((sum, one) => sum + one, GAP * (narrowed.length - 1));
  while (total() > columns) {
    let widest = -1;
    for (const [column, one] of narrowed.entries())
      if (WIDEST[headings[column] ?? ""] !== undefined && one > Math.max(NARROWEST, narrowed[widest] ?? 0))
        widest = column;
    if (widest === -1) return narrowed;
    narrowed[widest] = (narrowed[widest] ?? 0) - 1;
  }
  return narrowed;
}

const segmenter = new Intl.Segmenter(undefined, { granularity: "grapheme" });
const WIDE =
  /\p{Extended_Pictographic}|[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]/u;

/** A text of at most so many columns; it ends with … if anything was cut. */
function cut(text: string, columns: number): string {
  if (width(text) <= columns) return text;
  let kept = "";
  for (const { segment } of segmenter.segment(text)) {
    if (width(kept + segment) > columns - 1) break;
    kept += segment;
  }
  return `${kept}…`;
}

/** The width of a text on a terminal. East Asian characters and emoji take two columns. */
function width(text: string): number {
  if (/^[\u0020-\u007e]*$/.test(text)) return text.length;
  let columns = 0;
  for (const { segment } of segmenter.segment(text)) columns += WIDE.test(segment) ? 2 : 1;
  return columns;
}
