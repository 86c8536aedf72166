import { anonymousIdentity, type Identity, identityOf, userIdentity } from "@sluice/event-log";
import type { UncheckedMessage } from "@sluice/protocol";

/**
 * Which ids the messages of a source may join.
 *
 *   full       All: anonymous ids to users, and one user to another by alias.
 *   anonymous  Identify and alias may join an anonymous id that belongs to no user yet.
 *   none       None.
 */
export type IdentityPolicy = "full" | "anonymous" | "none";

/** The fields of a source's document that audiences read. */
export interface IdentifyingSource {
  readonly kind: "web" | "mobile" | "server";
  /** Default: by the kind of the source. */
  readonly identity?: IdentityPolicy;
}

/** Write keys of web and mobile sources are public, so by default their messages must not join users. */
export function identityPolicyOf({ identity, kind }: IdentifyingSource): IdentityPolicy {
  return identity ?? (kind === "server" ? "full" : "anonymous");
}

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
