import { type Identity, idOf, isUserIdentity } from "@sluice/event-log";

/**
 * The anonymous ids that go with an id. An alias joins its previous id as a user id and as an anonymous id: where the profile has the
 * user id, it is listed as that alone.
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
