import type { IdDigest } from "../message/id-digest.js";
import { type Identity, idOf } from "../message/identity.js";
import type { Offset } from "../message/offset.js";

/** A span of the log in which a user's messages are not delivered; open-ended until the suppression is lifted. */
export interface SuppressedSpan {
  readonly after: Offset;
  readonly upTo?: Offset;
}

/** The kind of a suppressed id. `any`: both; older versions did not distinguish them. */
export type SuppressedKind = "user" | "anonymous" | "any";

/** The spans of one id, which is stored only as a digest. */
export interface SuppressedId {
  readonly digest: string;
  readonly kind: SuppressedKind;
  readonly spans: readonly SuppressedSpan[];
}

/** The spans of all suppressed ids. The cost of a change does not depend on their number. */
export interface SpanIndex {
  /** Replaces the spans of an id. Without spans, removes the id. */
  set(one: SuppressedId): void;
  spansOf(identity: Identity): readonly SuppressedSpan[];
}

export function spanIndex(digest: IdDigest): SpanIndex {
  const typed = new Map<string, readonly SuppressedSpan[]>();
  /** Ids of kind `any`. */
  const untyped = new Map<string, readonly SuppressedSpan[]>();
  return {
    set({ digest: id, kind, spans }) {
      typed.delete(id);
      untyped.delete(id);
      if (spans.length > 0) (kind === "any" ? untyped : typed).set(id, spans);
    },
    spansOf(identity) {
      // Digests are expensive, and most collectors need none.
      const own = typed.size === 0 ? [] : (typed.get(digest.of(identity)) ?? []);
      const either = untyped.size === 0 ? undefined : untyped.get(digest.ofUntyped(idOf(identity)));
      return either === undefined ? own : [...own, ...either];
    },
  };
}

export function covers(spans: readonly SuppressedSpan[], offset: Offset): boolean {
  return spans.some(({ after, upTo }) => offset > after && (upTo === undefined || offset <= upTo));
}

/** The kind of suppression documents in the config store. A document's id is the digest of the suppressed id. */
export const SUPPRESSION = "suppression";

export interface SuppressionDocument {
  /**
   * Digest of the id that was asked for: those joined to it are suppressed and lifted with it. Its own digest where it was asked for
   * itself.
   */
  readonly of: string;
  /** Absent in a document of an older version: its id is a plain SHA-256. */
  readonly kind?: SuppressedKind;
  /** Identifies the key of its digests. */
  readonly key?: string;
  readonly since: string;
  readonly spans: readonly SuppressedSpan[];
}

/** The suppressed id of a document; without spans if the document was deleted. */
export function suppressedId(digest: string, document: SuppressionDocument | undefined): SuppressedId {
  return { digest, kind: document?.kind ?? "any", spans: document?.spans ?? [] };
}
