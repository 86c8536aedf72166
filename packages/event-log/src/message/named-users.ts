import type { UncheckedMessage } from "@sluice/protocol";
import { anonymousIdentity, type Identity, userIdentity } from "./identity.js";

/** The kinds of id that a field may hold. A `previousId` may be either. */
const FIELDS: Readonly<Record<string, readonly ((id: string) => Identity)[]>> = {
  userId: [userIdentity],
  anonymousId: [anonymousIdentity],
  previousId: [userIdentity, anonymousIdentity],
};

/** The ids that a parsed message names. */
export function usersOf(message: UncheckedMessage): Identity[] {
  const users = new Set<Identity>();
  for (const [field, kinds] of Object.entries(FIELDS)) {
    const id = message[field];
    if (typeof id === "string" && id !== "") for (const kind of kinds) users.add(kind(id));
  }
  return [...users];
}

const NAMED = new RegExp(`"(${Object.keys(FIELDS).join("|")})"\\s*:\\s*("(?:[^"\\\\]|\\\\.)*"|-?\\d+)`, "gs");

/** The ids in text that cannot be parsed, at any depth. Finding one too many is better than missing one. */
export function namedUsers(text: string): Identity[] {
  const users = new Set<Identity>();
  for (const [, field = "", token = ""] of text.matchAll(NAMED)) {
    const id = token.startsWith('"') ? unquoted(token) : token;
    if (id !== "") for (const kind of FIELDS[field] ?? []) users.add(kind(id));
  }
  return [...users];
}

function unquoted(token: string): string {
  try {
    return JSON.parse(token) as string;
  } catch {
    return token.slice(1, -1);
  }
}
