import type { UncheckedMessage } from "@sluice/protocol";
import type { IdentityPolicy } from "./identities.js";
import { identificationOf } from "./identities.js";

/** An id that a message asked to join to its user and that is not joined. */
export interface RefusedJoin {
  readonly field: "anonymousId" | "previousId";
  /**
   *   source    Messages of the source may join no ids.
   *   user      The id is a user's, and the source may only join anonymous ids.
   *   other     The id belongs to another user: ids are never moved.
   *   earlier   Nothing forbids it now. When the message was counted, the user's profile had no room, or the source might join less.
   */
  readonly reason: "source" | "user" | "other" | "earlier";
}

/** The profile of an id. */
export interface OwnerOfId {
  readonly number: number;
  /** It is not a user's. */
  readonly isAnonymous: boolean;
}

/** Compares a message with the profiles as they are now. */
export function refusedJoins(
  message: UncheckedMessage,
  policy: IdentityPolicy,
  ownerOf: (identity: string) => OwnerOfId | undefined,
): RefusedJoin[] {
  if (message.type !== "identify" && message.type !== "alias") return [];
  const identification = identificationOf(message, policy);
  const own = identification && ownerOf(identification.own)?.number;
  if (identification === undefined || own === undefined) return [];
  const { anonymous, previous } = identification;
  const refused: RefusedJoin[] = [];
  const judge = (field: RefusedJoin["field"], owner: OwnerOfId | undefined, isUser: boolean): void => {
    if (owner?.number === own) return;
    if (policy === "none") refused.push({ field, reason: "source" });
    else if (owner === undefined) return;
    else if (owner.isAnonymous || (isUser && policy === "full")) refused.push({ field, reason: "earlier" });
    else refused.push({ field, reason: isUser ? "user" : "other" });
  };
  if (anonymous !== undefined) judge("anonymousId", ownerOf(anonymous), false);
  if (previous !== undefined) {
    const user = ownerOf(previous.user);
    judge("previousId", user ?? ownerOf(previous.anonymous), user !== undefined);
  }
  return refused;
}
