import type { JsonObject } from "@sluice/protocol";
import { visibleText, visibleValue } from "./visible-text.js";

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
