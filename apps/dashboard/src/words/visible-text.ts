/**
 * Event data is hostile text. React keeps it from becoming markup; this keeps it from lying: control characters,
 * zero-width ones and those that turn the direction of writing are shown by their code instead of acting. A joiner
 * between two pictures is left: it makes one emoji of them.
 */
const HIDDEN = /(?<!\p{Extended_Pictographic}\ufe0f?)\u200d|(?!\u200d)[\p{Cc}\p{Cf}\u2028\u2029]/gu;

const SHORT: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

export function visibleText(text: string, limit = 2_000): string {
  const shown = text.length > limit ? `${text.slice(0, limit)}…` : text;
  return shown.replace(HIDDEN, escaped);
}

/** The same for text that is copied out, into a shell or an editor: JSON escapes, so that it means what it meant. */
export function escapeHidden(json: string): string {
  return json.replace(HIDDEN, (character) => (character === "\n" ? character : codesOf(character)));
}

function escaped(character: string): string {
  return SHORT[character] ?? codesOf(character);
}

/** One escape for each UTF-16 unit, as JSON has it. */
function codesOf(character: string): string {
  return Array.from(
    { length: character.length },
    (_, at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, "0")}`,
  ).join("");
}

/** Any value of an event as one line. */
export function visibleValue(value: unknown, limit?: number): string {
  if (typeof value === "string") return visibleText(value, limit);
  return visibleText(JSON.stringify(value) ?? "undefined", limit);
}
