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
