/**
 * Event data is untrusted text. React escapes markup; this module escapes characters that could mislead the reader:
 * control characters, zero-width characters and those that change the writing direction. A joiner between two pictographs
 * is kept, because it forms one emoji.
 */
const HIDDEN = /(?<!\p{Extended_Pictographic}\ufe0f?)\u200d|(?!\u200d)[\p{Cc}\p{Cf}\u2028\u2029]/gu;

const SHORT: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

export function visibleText(text: string, limit = 2_000): string {
  const shown = text.length > limit ? `${text.slice(0, limit)}…` : text;
  return shown.replace(HIDDEN, escaped);
}

/** The same for text to be copied into a shell or an editor: JSON escapes keep its meaning. */
export function escapeHidden(json: string): string {
  return json.replace(HIDDEN, (character) => (character === "\n" ? character : codesOf(character)));
}

function escaped(character: string): string {
  return SHORT[character] ?? codesOf(character);
}

/** One JSON escape for each UTF-16 unit. */
function codesOf(character: string): string {
  return Array.from(
    { length: character.length },
    (_, at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, "0")}`,
  ).join("");
}

/** Any value of an event on one line. */
export function visibleValue(value: unknown, limit?: number): string {
  if (typeof value === "string") return visibleText(value, limit);
  return visibleText(JSON.stringify(value) ?? "undefined", limit);
}
