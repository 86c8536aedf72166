import type { Offset } from "../message/batch.js";
import type { IdDigest } from "../message/identity.js";
import { anonymousIdentity, type Identity, idOf, userIdentity } from "../message/identity.js";
import { DOCUMENT_KINDS } from "../ports/documents.js";
import type { MessageQuery } from "../ports/event-log.js";
import type { PurgeQuery } from "../ports/purging.js";
import type { Rejection } from "../ports/rejections.js";

/** A span of the log in which a user's messages are not delivered; open-ended until the suppression is lifted. */
interface SuppressedSpan {
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

/** The ids that a purge removes; none if it removes a single message. */
export function purgedIdentities(query: PurgeQuery): readonly Identity[] {
  if ("identities" in query) return query.identities;
  if ("userId" in query) return [userIdentity(query.userId)];
  return "anonymousId" in query ? [anonymousIdentity(query.anonymousId)] : [];
}

/** The ids to search for in the text of refused messages. */
export function requestedIdentities(query: PurgeQuery): readonly Identity[] {
  return ("identities" in query ? query.requested : undefined) ?? purgedIdentities(query);
}

/** The messages that a purge removes, as queries for `find`. */
export function purgedMessages(query: PurgeQuery): readonly MessageQuery[] {
  return "messageId" in query ? [query] : purgedIdentities(query).map((identity) => ({ identity }));
}

type KnownUsers = Pick<Rejection, "identities" | "excerpt">;

/**
 * Returns a function that tells whether deleting these ids removes a refused message. If the message has no id in the known fields,
 * its excerpt is searched for one of `requested` as a value, even if it is not JSON. Only the requested ids count there, because anybody
 * may have joined other ids to them. The excerpt is searched once, however many ids there are.
 */
export function ofUsers(
  identities: readonly Identity[],
  requested: readonly Identity[] = identities,
): (rejection: KnownUsers) => boolean {
  const wanted = new Set(identities);
  // An empty text is nobody's id, and stands in many excerpts.
  const isNamedIn = quotedIn([...new Set(requested.map(idOf))].filter((id) => id !== ""));
  return (rejection) =>
    wanted.size > 0 &&
    (rejection.identities?.some((identity) => wanted.has(identity)) === true ||
      ((rejection.identities ?? []).length === 0 && isNamedIn(rejection.excerpt)));
}

/** What follows a key. */
const COLON = /\s*:/y;

/** Whether the string that ends before `end` is a key: those are the sender's names for things, and no ids. */
function isKey(text: string, end: number): boolean {
  COLON.lastIndex = end;
  return COLON.test(text);
}

/** Whether a text has one of these ids as a JSON string that is no key. */
function quotedIn(ids: readonly string[]): (text: string) => boolean {
  const quoted = ids.map((id) => JSON.stringify(id));
  // An id that has quotes itself is not between two neighbouring ones.
  const withQuotes = quoted.filter((text) => text.indexOf('"', 1) < text.length - 1);
  const plain = new Set(quoted.map((text) => text.slice(1, -1)));
  const longest = Math.max(0, ...[...plain].map(({ length }) => length));
  return (text) => {
    for (let open = text.indexOf('"'); open >= 0; ) {
      const close = text.indexOf('"', open + 1);
      if (close < 0) break;
      if (close - open - 1 <= longest && plain.has(text.slice(open + 1, close)) && !isKey(text, close + 1))
        return true;
      open = close;
    }
    return withQuotes.some((quotes) => {
      for (let at = text.indexOf(quotes); at >= 0; at = text.indexOf(quotes, at + 1))
        if (!isKey(text, at + quotes.length)) return true;
      return false;
    });
  };
}
