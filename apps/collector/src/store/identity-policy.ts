import type { SourceDocument } from "./documents.js";

/**
 * Which ids messages of a source may join.
 *
 *   full       any: anonymous ids to users, and by alias one user to another
 *   anonymous  identify and alias join an anonymous id that is nobody's yet to a user
 *   none       none
 */
export type IdentityPolicy = "full" | "anonymous" | "none";

/** Write keys of web and mobile sources are public: what anybody can send must not join users. */
export function identityPolicyOf({
  identity,
  kind,
}: Pick<SourceDocument, "identity" | "kind">): IdentityPolicy {
  return identity ?? (kind === "server" ? "full" : "anonymous");
}
