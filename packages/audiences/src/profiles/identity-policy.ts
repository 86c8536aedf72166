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
