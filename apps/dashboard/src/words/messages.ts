import type { JsonObject } from "@sluice/protocol";

/**
 * Event data is untrusted text. React escapes markup; this module escapes characters that could mislead the reader:
 * control characters, zero-width characters and those that change the writing direction. A joiner between two pictographs
 * is kept, because it forms one emoji.
 */
const HIDDEN = /(?<!\p{Extended_Pictographic}\ufe0f?)\u200d|(?!\u200d)[\p{Cc}\p{Cf}\u2028\u2029]/gu;

const SHORT: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

export function visibleText(text: string, limit = 2_000): string {
  // Not in the middle of an emoji.
  const shown = text.length > limit ? `${text.slice(0, limit).replace(/[\ud800-\udbff]$/, "")}…` : text;
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

/** The title of a message in lists: the event, the page's name, the group, or the traits. */
export function messageTitle(message: JsonObject): string {
  switch (message.type) {
    case "track":
      return text(message.event) || "(no event name)";
    case "page":
    case "screen":
      return (
        [text(message.category), text(message.name)].filter(Boolean).join(" · ") ||
        pathOf(message) ||
        "(no name)"
      );
    case "group":
      return text(message.groupId) || "(no group)";
    case "alias":
      return `${text(message.previousId)} → ${text(message.userId)}`;
    case "identify":
      return traitsLine(message.traits) || "(no traits)";
    case "delete":
      return "Delete user";
    default:
      return visibleValue(message.type ?? "(no type)");
  }
}

/** What the message says beside its title: its first properties. */
export function messageDetails(message: JsonObject): string {
  return message.type === "identify" ? "" : traitsLine(message.properties ?? message.traits);
}

/** The user that the message is about. */
export function messageUser(message: JsonObject): string {
  return text(message.userId) || text(message.anonymousId);
}

function pathOf(message: JsonObject): string {
  const properties = message.properties;
  return typeof properties === "object" && properties !== null ? text((properties as JsonObject).path) : "";
}

function traitsLine(traits: unknown): string {
  if (typeof traits !== "object" || traits === null) return "";
  return Object.entries(traits)
    .slice(0, 4)
    .map(([name, value]) => `${visibleText(name, 40)}: ${visibleValue(value, 60)}`)
    .join(", ");
}

function text(value: unknown): string {
  return typeof value === "string" ? visibleText(value, 200) : typeof value === "number" ? String(value) : "";
}
