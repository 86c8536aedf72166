import { anonymousIdentity, type Identity, identityOf, userIdentity } from "@sluice/event-log";
import type { UncheckedMessage } from "@sluice/protocol";
import type { IdentityPolicy } from "./identity-policy.js";

/** What a message says about whose it is. */
export interface Identification {
  /** The id whose profile it belongs to. */
  readonly own: Identity;
  /** An anonymous id that is to be this user's, unless it is another's. */
  readonly anonymous?: Identity;
  /** Alias: an id that is to be this user's from now on. It may be of either kind. */
  readonly previous?: { readonly user: Identity; readonly anonymous: Identity };
}

/**
 * Undefined for a message that names nobody. What it asks to be joined may still be refused. Where not everything is allowed only
 * identify and alias ask for anything: they say who somebody is, other messages say what somebody did.
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
