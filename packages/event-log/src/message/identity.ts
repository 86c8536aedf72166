import { createHmac, createSecretKey, hkdfSync } from "node:crypto";
import type { UncheckedMessage } from "@sluice/protocol";

/** An id with its kind: a user id (`u:`) and an anonymous id (`a:`) of the same text are two ids. */
export type Identity = `u:${string}` | `a:${string}`;

export function userIdentity(userId: string): Identity {
  return `u:${userId}`;
}

export function anonymousIdentity(anonymousId: string): Identity {
  return `a:${anonymousId}`;
}

export function isUserIdentity(identity: string): identity is `u:${string}` {
  return identity.startsWith("u:");
}

/** The id as clients write it. */
export function idOf(identity: Identity): string {
  return identity.slice(2);
}

/** The user of a message: its `userId`, or else its `anonymousId`. Undefined if it has neither. */
export function identityOf({ userId, anonymousId }: UncheckedMessage): Identity | undefined {
  if (typeof userId === "string" && userId !== "") return userIdentity(userId);
  return typeof anonymousId === "string" && anonymousId !== "" ? anonymousIdentity(anonymousId) : undefined;
}

/**
 * HMAC-SHA-256 of ids, in lower-case hex, to recognize an id without storing it. A plain hash would not be enough: user ids are often
 * numbers or e-mail addresses, which can be found by trial. That needs the key here.
 */
export interface IdDigest {
  /** The digest of an id with its kind. */
  of(identity: Identity): string;
}

const KEY_BYTES = 32;

/** `key`: from `idDigestKey`. */
export function idDigest(key: Uint8Array): IdDigest {
  const secret = createSecretKey(key);
  return { of: (identity) => createHmac("sha256", secret).update(identity).digest("hex") };
}

/** The digests' key, derived from the data folder's secret key. */
export function idDigestKey(secretKey: Uint8Array): Uint8Array {
  return new Uint8Array(hkdfSync("sha256", secretKey, "", "sluice id digests", KEY_BYTES));
}

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
