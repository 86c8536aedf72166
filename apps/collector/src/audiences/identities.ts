import type { UncheckedMessage } from "@sluice/protocol";

/** A profile's ids are written with what they are, since a user id and an anonymous id may be alike. */
export function userIdentity(userId: string): string {
  return `u:${userId}`;
}

export function anonymousIdentity(anonymousId: string): string {
  return `a:${anonymousId}`;
}

/** What a message says about whose it is. */
export interface Identification {
  /** The id whose profile it belongs to. */
  readonly own: string;
  /** An anonymous id that is this user's, unless it is known as another's. */
  readonly anonymous?: string;
  /** Alias: ids that are to be this user's from now on. */
  readonly previous?: { readonly user: string; readonly anonymous: string };
}

/** Undefined for a message that names nobody. */
export function identificationOf(message: UncheckedMessage): Identification | undefined {
  const { userId, anonymousId, previousId, type } = message;
  const hasAnonymous = typeof anonymousId === "string" && anonymousId !== "";
  if (typeof userId === "string" && userId !== "") {
    return {
      own: userIdentity(userId),
      ...(hasAnonymous ? { anonymous: anonymousIdentity(anonymousId) } : {}),
      ...(type === "alias" && typeof previousId === "string" && previousId !== ""
        ? { previous: { user: userIdentity(previousId), anonymous: anonymousIdentity(previousId) } }
        : {}),
    };
  }
  return hasAnonymous ? { own: anonymousIdentity(anonymousId) } : undefined;
}

/** All ids that a message names. */
export function identitiesIn({ own, anonymous, previous }: Identification): string[] {
  return [
    own,
    ...(anonymous === undefined ? [] : [anonymous]),
    ...(previous === undefined ? [] : [previous.user, previous.anonymous]),
  ];
}
