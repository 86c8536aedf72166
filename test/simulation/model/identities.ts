import type { History } from "../actors/history.js";

/** Who sends or is meant by a message: `u:ann` or `a:tablet`. */
export function ownerOf({
  userId,
  anonymousId,
}: {
  readonly userId?: unknown;
  readonly anonymousId?: unknown;
}): string {
  return userId === undefined ? `a:${String(anonymousId)}` : `u:${String(userId)}`;
}

/**
 * Whether a message may go with a deletion of `identity`: it names it, or it names no user, and some message of the run joins its
 * anonymous id to that user.
 */
export function mayGoWith({ fields }: History, messageId: string, identity: string): boolean {
  const owner = ownerOf(fields.get(messageId) ?? {});
  return owner === identity || (owner.startsWith("a:") && usersOf(fields, owner.slice(2)).has(identity));
}

/** The users to which messages join an anonymous id. An alias joins its previous id both as a user id and as an anonymous one. */
export function usersOf(fields: History["fields"], anonymousId: string): Set<string> {
  const users = new Set<string>();
  for (const { userId, anonymousId: device, previousId } of fields.values())
    if (userId !== undefined && (device === anonymousId || previousId === anonymousId))
      users.add(`u:${String(userId)}`);
  return users;
}
