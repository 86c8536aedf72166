import type { UncheckedMessage } from "@sluice/protocol";
import { identificationOf } from "./identities.js";
import type { IdentityPolicy } from "./identity-policy.js";

/** An id that a message asked to join to its user and that is not joined. */
export interface RefusedJoin {
  readonly field: "anonymousId" | "previousId";
  /**
   *   source   Messages of the source may join no ids.
   *   user     The id is a user's, and the source may only join anonymous ids.
   *   other    The id belongs to another user: ids are never moved.
   */
  readonly reason: "source" | "user" | "other";
}

/** Compares a message with the profiles as they are now. `profileOf` returns the number of an id's profile. */
export function refusedJoins(
  message: UncheckedMessage,
  policy: IdentityPolicy,
  profileOf: (identity: string) => number | undefined,
): RefusedJoin[] {
  if (message.type !== "identify" && message.type !== "alias") return [];
  const identification = identificationOf(message, policy);
  const own = identification && profileOf(identification.own);
  if (identification === undefined || own === undefined) return [];
  const { anonymous, previous } = identification;
  const refused: RefusedJoin[] = [];
  const judge = (
    field: RefusedJoin["field"],
    owners: readonly (number | undefined)[],
    isUser: boolean,
  ): void => {
    if (owners.includes(own)) return;
    if (policy === "none") refused.push({ field, reason: "source" });
    else if (isUser) refused.push({ field, reason: "user" });
    else if (owners.some((owner) => owner !== undefined)) refused.push({ field, reason: "other" });
  };
  if (anonymous !== undefined) judge("anonymousId", [profileOf(anonymous)], false);
  if (previous !== undefined) {
    const owners = [profileOf(previous.user), profileOf(previous.anonymous)];
    judge("previousId", owners, owners[0] !== undefined);
  }
  return refused;
}
