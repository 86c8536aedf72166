import type { UncheckedMessage } from "@sluice/protocol";

const FIELDS = ["userId", "anonymousId", "previousId"] as const;

/** The ids of users that a parsed message names. */
export function usersOf(message: UncheckedMessage): string[] {
  const users = new Set<string>();
  for (const field of FIELDS) {
    const value = message[field];
    if (typeof value === "string" && value !== "") users.add(value);
  }
  return [...users];
}

const NAMED = new RegExp(`"(?:${FIELDS.join("|")})"\\s*:\\s*("(?:[^"\\\\]|\\\\.)*"|-?\\d+)`, "gs");

/** The ids of users that stand in text which cannot be parsed, wherever in it: rather too many than one too few. */
export function namedUsers(text: string): string[] {
  const users = new Set<string>();
  for (const [, token = ""] of text.matchAll(NAMED)) {
    const id = token.startsWith('"') ? unquoted(token) : token;
    if (id !== "") users.add(id);
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
