/**
 * Which ids messages of a source may join.
 *
 *   full       any: anonymous ids to users, and by alias one user to another
 *   anonymous  identify and alias join an anonymous id that is nobody's yet to a user
 *   none       none
 */
export type IdentityPolicy = "full" | "anonymous" | "none";

/** What audiences read of a source's document. */
export interface IdentifyingSource {
  readonly kind: "web" | "mobile" | "server";
  /** Absent: as its kind says. */
  readonly identity?: IdentityPolicy;
}

/** Write keys of web and mobile sources are public: what anybody can send must not join users. */
export function identityPolicyOf({ identity, kind }: IdentifyingSource): IdentityPolicy {
  return identity ?? (kind === "server" ? "full" : "anonymous");
}
