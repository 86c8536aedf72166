import { type Identity, idOf } from "../messages/identity.js";
import type { IdDigest } from "./id-digest.js";
import type { Offset } from "./store.js";

/** A span of the log in which a user's messages go nowhere; open-ended until it is lifted. */
export interface SuppressedSpan {
  readonly after: Offset;
  readonly upTo?: Offset;
}

/** What kind of id is suppressed. `any`: both, by an older version, which did not tell them apart. */
export type SuppressedKind = "user" | "anonymous" | "any";

/** Spans of ids that are known by their digests alone. */
export interface SuppressedId {
  readonly digest: string;
  readonly kind: SuppressedKind;
  readonly spans: readonly SuppressedSpan[];
}

/** Finds the spans of an id. */
export function spansById(
  ids: readonly SuppressedId[],
  digest: IdDigest,
): (identity: Identity) => readonly SuppressedSpan[] {
  const byDigest = new Map(ids.map((one) => [one.digest, one.spans]));
  if (byDigest.size === 0) return () => [];
  const hasUntyped = ids.some(({ kind }) => kind === "any");
  return (identity) => {
    const typed = byDigest.get(digest.of(identity)) ?? [];
    const untyped = hasUntyped ? byDigest.get(digest.ofUntyped(idOf(identity))) : undefined;
    return untyped === undefined ? typed : [...typed, ...untyped];
  };
}

export function covers(spans: readonly SuppressedSpan[], offset: Offset): boolean {
  return spans.some(({ after, upTo }) => offset > after && (upTo === undefined || offset <= upTo));
}
