import { terminalText } from "./terminal-text.js";

/** Columns with names that users chose. They are cut off, because a table too wide to read helps nobody; ids never are. */
const NAMES = new Set(["NAME", "DESTINATION", "EVENT", "SOURCES", "BLOCKED EVENTS"]);
const NAME_WIDTH = 32;

/** A table whose columns are as wide as their longest cell; the last column is not padded. Escapes the cells. */
export function table(
  headings: readonly string[],
  rows: readonly (readonly (string | number)[])[],
  bold: (text: string) => string = (text) => text,
): string {
  const cells = rows.map((row) =>
    row.map((cell, column) => {
      const text = terminalText(String(cell));
      return NAMES.has(headings[column] ?? "") ? cut(text, NAME_WIDTH) : text;
    }),
  );
  const widths = headings.map((heading, column) =>
    Math.max(width(heading), ...cells.map((row) => width(row[column] ?? ""))),
  );
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) =>
        column === row.length - 1
          ? cell
          : cell + " ".repeat(Math.max(0, (widths[column] ?? 0) - width(cell))),
      )
      .join("  ")
      .trimEnd();
  return `${[bold(line(headings)), ...cells.map(line)].join("\n")}\n`;
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
