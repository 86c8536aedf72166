import type { ProfileCommit } from "../../ports/profiles.js";

/** A change of profiles as it was before it went through JSON, which writes `null` for `undefined` in a list. */
export function withoutNulls(change: ProfileCommit): ProfileCommit {
  const { identities, members, documents } = change;
  return {
    ...change,
    ...(identities && {
      identities: identities.map(([identity, profile]) => [identity, profile ?? undefined] as const),
    }),
    ...(members && {
      members: members.map(
        ([definition, profile, since]) => [definition, profile, since ?? undefined] as const,
      ),
    }),
    ...(documents && { documents: documents.map(([name, json]) => [name, json ?? undefined] as const) }),
  };
}
