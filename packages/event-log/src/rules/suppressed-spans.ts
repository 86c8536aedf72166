import type { IdDigest } from "../message/id-digest.js";
import { type Identity, idOf } from "../message/identity.js";
import type { Offset } from "../message/offset.js";

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

/** The spans of suppressed ids, kept as they change: what a change costs does not depend on how many there are. */
export interface SpanIndex {
  /** Takes up the spans of an id in the place of those it had. Without spans: forgets the id. */
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
      // Digests are costly, and most collectors need none.
      const own = typed.size === 0 ? [] : (typed.get(digest.of(identity)) ?? []);
      const either = untyped.size === 0 ? undefined : untyped.get(digest.ofUntyped(idOf(identity)));
      return either === undefined ? own : [...own, ...either];
    },
  };
}

export function covers(spans: readonly SuppressedSpan[], offset: Offset): boolean {
  return spans.some(({ after, upTo }) => offset > after && (upTo === undefined || offset <= upTo));
}

/** Kind of its documents in the config store; their id is the digest of the id that is suppressed. */
export const SUPPRESSION = "suppression";

export interface SuppressionDocument {
  /**
   * Digest of the id that was asked for: those joined to it are suppressed and lifted with it. Its own digest where it was asked for
   * itself.
   */
  readonly of: string;
  /** Absent in a document of an older version: its id is a plain SHA-256. */
  readonly kind?: SuppressedKind;
  /** Tells with which key its digests were made. */
  readonly key?: string;
  readonly since: string;
  readonly spans: readonly SuppressedSpan[];
}

/** What others need to find the messages of a suppressed id; of a document that was deleted: none of them. */
export function suppressedId(digest: string, document: SuppressionDocument | undefined): SuppressedId {
  return { digest, kind: document?.kind ?? "any", spans: document?.spans ?? [] };
}
