import type { IdDigest } from "../message/id-digest.js";
import type { Identity } from "../message/identity.js";
import type { Offset } from "../message/offset.js";
import { DOCUMENT_KINDS } from "../ports/document-kinds.js";

/** A span of the log in which a user's messages are not delivered; open-ended until the suppression is lifted. */
export interface SuppressedSpan {
  readonly after: Offset;
  readonly upTo?: Offset;
}

export type SuppressedKind = "user" | "anonymous";

/** The spans of one id, which is stored only as a digest. */
export interface SuppressedId {
  readonly digest: string;
  readonly spans: readonly SuppressedSpan[];
}

/** The spans of all suppressed ids. The cost of a change does not depend on their number. */
export interface SpanIndex {
  /** Replaces the spans of an id. Without spans, removes the id. */
  set(one: SuppressedId): void;
  spansOf(identity: Identity): readonly SuppressedSpan[];
}

export function spanIndex(digest: IdDigest): SpanIndex {
  const byDigest = new Map<string, readonly SuppressedSpan[]>();
  return {
    set({ digest: id, spans }) {
      if (spans.length > 0) byDigest.set(id, spans);
      else byDigest.delete(id);
    },
    // Digests are expensive, and most collectors need none.
    spansOf: (identity) => (byDigest.size === 0 ? [] : (byDigest.get(digest.of(identity)) ?? [])),
  };
}

export function covers(spans: readonly SuppressedSpan[], offset: Offset): boolean {
  return spans.some(({ after, upTo }) => offset > after && (upTo === undefined || offset <= upTo));
}

/** The kind of suppression documents in the config store. A document's id is the digest of the suppressed id. */
export const SUPPRESSION = DOCUMENT_KINDS.suppression;

export interface SuppressionDocument {
  /**
   * Digest of the id that was asked for: those joined to it are suppressed and lifted with it. Its own digest where it was asked for
   * itself.
   */
  readonly of: string;
  readonly kind: SuppressedKind;
  /** Identifies the key of its digests. */
  readonly key: string;
  readonly since: string;
  readonly spans: readonly SuppressedSpan[];
}

/** The suppressed id of a document; without spans if the document was deleted. */
export function suppressedId(digest: string, document: SuppressionDocument | undefined): SuppressedId {
  return { digest, spans: document?.spans ?? [] };
}
