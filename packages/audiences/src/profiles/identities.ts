import { anonymousIdentity, type Identity, identityOf, userIdentity } from "@sluice/event-log";
import type { UncheckedMessage } from "@sluice/protocol";
import type { IdentityPolicy } from "./identity-policy.js";

/** The ids of a message. */
export interface Identification {
  /** The id of the profile that the message belongs to. */
  readonly own: Identity;
  /** An anonymous id to join to this user, unless it belongs to another one. */
  readonly anonymous?: Identity;
  /** Of an alias: an id to join to this user. It may be a user id or an anonymous id. */
  readonly previous?: { readonly user: Identity; readonly anonymous: Identity };
}

/**
 * Undefined for a message without ids. The joins that it asks for can still be refused. Unless the policy is `full`, only identify and
 * alias messages ask for joins.
 */
export function identificationOf(
  message: UncheckedMessage,
  policy: IdentityPolicy = "full",
): Identification | undefined {
  const { userId, anonymousId, previousId, type } = message;
  const own = identityOf(message);
  if (own === undefined || typeof userId !== "string" || userId === "") return own && { own };
  const isAlias = type === "alias";
  const mayJoin = policy === "full" || type === "identify" || isAlias;
  return {
    own,
    ...(mayJoin && typeof anonymousId === "string" && anonymousId !== ""
      ? { anonymous: anonymousIdentity(anonymousId) }
      : {}),
    ...(isAlias && typeof previousId === "string" && previousId !== ""
      ? { previous: { user: userIdentity(previousId), anonymous: anonymousIdentity(previousId) } }
      : {}),
  };
}

/** All ids that a message names. */
export function identitiesIn({ own, anonymous, previous }: Identification): Identity[] {
  return [
    own,
    ...(anonymous === undefined ? [] : [anonymous]),
    ...(previous === undefined ? [] : [previous.user, previous.anonymous]),
  ];
}
