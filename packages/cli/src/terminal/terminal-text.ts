import { isPlainObject } from "@sluice/protocol";
import type { Io } from "./io.js";

/** Lines that are meant to be copied stay whole. */
const COMMAND_LINE = /^\s*\$ /;

/** Breaks lines between words so that none is wider than `columns`. The rest of a line keeps its indentation. */
export function wrapLines(text: string, columns: number): string {
  return text
    .split("\n")
    .flatMap((line) => (line.length <= columns || COMMAND_LINE.test(line) ? [line] : wrapLine(line, columns)))
    .join("\n");
}

function wrapLine(line: string, columns: number): string[] {
  const indentation = /^\s*/.exec(line)?.[0] ?? "";
  const lines: string[] = [];
  let current = indentation;
  for (const word of line.trim().split(" ")) {
    const isFirst = current === indentation;
    if (!isFirst && current.length + 1 + word.length > columns) {
      lines.push(current);
      current = indentation + word;
    } else current += isFirst ? word : ` ${word}`;
  }
  return [...lines, current];
}

/**
 * Characters that control a terminal or confuse its reader: control characters (C0, DEL, C1), line and paragraph
 * separators, bidirectional marks, invisible characters, and halves of surrogate pairs.
 */
const UNSAFE =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: matching control characters is the purpose
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]|\udb40[\udc00-\udc7f]|\ud82f[\udca0-\udca3]|\ud834[\udd73-\udd7a]/g;

/** Escapes a line of untrusted text (event data, responses of receivers, file names) so that it is safe to print. */
export function terminalText(text: string): string {
  return text.replace(UNSAFE, shown);
}

/** Escapes several lines of text, such as code. Line feeds and tabs stay. */
export function terminalLines(text: string): string {
  return text.replace(UNSAFE, (character, offset, whole) =>
    character === "\n" || character === "\t" ? character : shown(character, offset, whole),
  );
}

/** Formats a value as JSON that is safe to print and parses to the same value. `indent` 0 gives one line. */
export function terminalJson(value: unknown, indent = 0): string {
  const json = JSON.stringify(value, null, indent) ?? "null";
  // Line feeds come from the indentation only: JSON.stringify escapes those within strings.
  return json.replace(UNSAFE, (character, offset, whole) =>
    character === "\n" ? character : shown(character, offset, whole),
  );
}

/** A joiner between two emoji makes them one picture. */
function shown(characters: string, offset: number, whole: string): string {
  const joins =
    characters === "\u200d" &&
    /[\p{Extended_Pictographic}\p{Emoji_Modifier}]\ufe0f?$/u.test(
      whole.slice(Math.max(0, offset - 3), offset),
    ) &&
    /^\p{Extended_Pictographic}/u.test(whole.slice(offset + 1, offset + 3));
  return joins ? characters : escaped(characters);
}

function escaped(characters: string): string {
  return Array.from({ length: characters.length }, (_, i) => {
    const code = characters.charCodeAt(i);
    return `\\u${code.toString(16).padStart(4, "0")}`;
  }).join("");
}

/** Cuts a text to at most `width` characters, and ends it with … if anything was cut. */
export function clip(text: string, width: number): string {
  const characters = Array.from(text);
  return characters.length <= width ? text : `${characters.slice(0, Math.max(0, width - 1)).join("")}…`;
}

/** Prints a result: as JSON if `--json` was given, otherwise as `text` formats it. */
export async function show(
  io: Io,
  asJson: boolean | undefined,
  value: unknown,
  text: () => string,
): Promise<void> {
  await io.out(asJson ? `${terminalJson(value)}\n` : text());
}

/** One difference between two JSON values. */
export interface Difference {
  readonly path: string;
  /** Absent if the value was added. */
  readonly before?: { readonly value: unknown };
  /** Absent if the value was removed. */
  readonly after?: { readonly value: unknown };
}

/** The differences between two JSON values, in the order of the fields of `after`. */
export function jsonDiff(before: unknown, after: unknown, path = ""): Difference[] {
  if (isPlainObject(before) && isPlainObject(after)) {
    const names = [...new Set([...Object.keys(after), ...Object.keys(before)])];
    return names.flatMap((name) => {
      const inner = path === "" ? name : `${path}.${name}`;
      if (!Object.hasOwn(before, name)) return [{ path: inner, after: { value: after[name] } }];
      if (!Object.hasOwn(after, name)) return [{ path: inner, before: { value: before[name] } }];
      return jsonDiff(before[name], after[name], inner);
    });
  }
  if (Array.isArray(before) && Array.isArray(after) && before.length === after.length)
    return after.flatMap((value, index) => jsonDiff(before[index], value, `${path}[${index}]`));
  return JSON.stringify(before) === JSON.stringify(after)
    ? []
    : [{ path, before: { value: before }, after: { value: after } }];
}
