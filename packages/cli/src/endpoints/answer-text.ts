import { type DestinationHealthView, HEALTH_WORDS } from "@sluice/control-api";
import { isPlainObject } from "@sluice/protocol";
import { healthWord } from "../connection/destination-health.js";
import type { Io } from "../terminal/io.js";
import { table } from "../terminal/table.js";
import { clip, terminalJson, terminalText } from "../terminal/terminal-text.js";

/** Characters of a nested value that a cell shows. */
const CELL_WIDTH = 60;

/** A table of the rows. `columns` is as in `CommandSpec`; a column without any value is left out. */
export function rowsText(columns: string, rows: readonly unknown[], io: Io): string {
  const all = columns.split(" ").map((column) => {
    const colon = column.indexOf(":");
    const paths = column.slice(colon + 1).split("|");
    const heading = colon < 0 ? headingOf(paths[0] ?? "") : column.slice(0, colon).replaceAll("_", " ");
    return { heading, cells: rows.map((row) => cellOf(paths, row)) };
  });
  const shown = all.filter(({ cells }) => cells.length === 0 || cells.some((cell) => cell !== ""));
  return table(
    shown.map(({ heading }) => heading),
    rows.map((_, row) => shown.map(({ cells }) => cells[row] ?? "")),
    io,
  );
}

/** `match.nextAttemptAt` → `NEXT ATTEMPT`. */
function headingOf(path: string): string {
  const name = path.split(".").findLast((part) => !/^-?\d+$/.test(part)) ?? "";
  return name
    .replace(/(?<=.)(Ids?|At|Ms)$/, "")
    .replace(/[A-Z]/g, (letter) => ` ${letter}`)
    .toUpperCase();
}

function cellOf(paths: readonly string[], row: unknown): string {
  for (const path of paths) {
    const value = valueAt(row, path);
    if (value !== undefined) return scalarText(value, path);
  }
  return "";
}

/** The value at a path such as `owner.name` or `keys.-1`; of a list without an index, the values in its items. */
export function valueAt(value: unknown, path: string): unknown {
  const [name = "", ...rest] = path.split(".");
  if (path === "") return value;
  if (Array.isArray(value))
    return /^-?\d+$/.test(name)
      ? valueAt(value.at(Number(name)), rest.join("."))
      : value.flatMap((item) => valueAt(item, path) ?? []);
  return isPlainObject(value) ? valueAt(value[name], rest.join(".")) : undefined;
}

function scalarText(value: unknown, path: string): string {
  if (value === undefined || value === null) return "";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "number")
    return path.endsWith("progress") ? `${Math.floor(value * 100)} %` : String(rounded(value));
  if (typeof value === "string")
    return path.endsWith("health") && value in HEALTH_WORDS
      ? healthWord(value as DestinationHealthView)
      : value;
  if (Array.isArray(value)) return value.map((one) => scalarText(one, path)).join(", ");
  const entries = Object.entries(value);
  const isCounts = entries.length > 0 && entries.every(([, count]) => typeof count === "number");
  if (isCounts)
    return entries.flatMap(([name, count]) => (count === 0 ? [] : [`${count} ${name}`])).join(", ");
  return clip(terminalJson(value), CELL_WIDTH);
}

function rounded(value: number): number {
  return Number.isInteger(value) ? value : Number(value.toFixed(value < 10 ? 2 : 0));
}

/** Fills the fields in braces of a text, escaped. Undefined if one of them has no value, or is 0 and `skipsZero`. */
export function filled(
  text: string,
  value: unknown,
  { skipsZero = false, quote = (part: string) => part } = {},
): string | undefined {
  let isComplete = true;
  const result = text.replace(/\{([\w.-]+)\}/g, (_, path: string) => {
    const found = valueAt(value, path);
    if (found === undefined || (skipsZero && found === 0)) isComplete = false;
    return typeof found === "object" ? terminalJson(found, 2) : terminalText(quote(scalarText(found, path)));
  });
  return isComplete ? result : undefined;
}

/** All fields of a value, one a line, with tables for lists of flat objects. */
export function recordText(value: object, io: Io, indent = ""): string {
  return Object.entries(value)
    .filter(([, field]) => field !== undefined && field !== null)
    .map(
      ([name, field]) =>
        `${indent}${io.style.dim(`${terminalText(name)}:`)}${fieldText(name, field, io, indent)}`,
    )
    .join("");
}

function fieldText(name: string, value: unknown, io: Io, indent: string): string {
  const inner = `${indent}  `;
  if (Array.isArray(value) && value.some(isPlainObject)) {
    const items = value.filter(isPlainObject);
    const names = [...new Set(items.flatMap(Object.keys))];
    const isFlat = items.every((item) => Object.values(item).every((one) => typeof one !== "object"));
    const text = isFlat
      ? rowsText(names.join(" "), items, io).replace(/^(?=.)/gm, inner)
      : items.map((item) => `${inner}- ${recordText(item, io, `${inner}  `).trimStart()}`).join("");
    return `\n${text}`;
  }
  if (isPlainObject(value) && Object.keys(value).length > 0) return `\n${recordText(value, io, inner)}`;
  const isEmpty = typeof value === "object" && Object.keys(value ?? {}).length === 0;
  return ` ${isEmpty ? "none" : terminalText(scalarText(value, name))}\n`;
}
