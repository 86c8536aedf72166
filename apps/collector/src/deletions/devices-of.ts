import { type Identity, idOf, isUserIdentity } from "@sluice/event-log";

/**
 * The anonymous ids that are deleted together with an id. An `alias` message joins its previous id both as a user id and as an
 * anonymous id. If the profile has it as a user id, it is not listed here.
 */
export function devicesOf(
  identity: Identity,
  { identities, aliases }: { readonly identities: readonly Identity[]; readonly aliases: readonly string[] },
): string[] {
  const users = new Set(aliases);
  return identities
    .filter((one) => one !== identity && !isUserIdentity(one))
    .map(idOf)
    .filter((id) => !users.has(id));
}
