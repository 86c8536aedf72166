/**
 * What a terminal would obey or misplace: control characters (C0 but the line feed, DEL, C1), line and paragraph
 * separators, marks that turn the direction of writing, invisible ones, and halves of surrogate pairs.
 */
const UNSAFE =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the ones to be found
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]|\udb40[\udc00-\udc7f]/g;

/** One line of text from elsewhere (event data, answers of receivers, file names), safe to print. */
export function terminalText(text: string): string {
  return text.replace(UNSAFE, escaped);
}

/** A value as JSON, safe to print and still the same JSON. `indent`: 0 for one line. */
export function terminalJson(value: unknown, indent = 0): string {
  const json = JSON.stringify(value, null, indent) ?? "null";
  // Only the indentation makes line feeds: inside strings JSON.stringify has escaped them.
  return json.replace(UNSAFE, (character) => (character === "\n" ? character : escaped(character)));
}

function escaped(characters: string): string {
  return Array.from({ length: characters.length }, (_, i) => {
    const code = characters.charCodeAt(i);
    return `\\u${code.toString(16).padStart(4, "0")}`;
  }).join("");
}

/** Cut to at most `width` characters, with a mark that it was. */
export function clip(text: string, width: number): string {
  const characters = Array.from(text);
  return characters.length <= width ? text : `${characters.slice(0, Math.max(0, width - 1)).join("")}…`;
}
