import type { DocumentPut, IdDigest, Offset, Store } from "@sluice/event-log";
import {
  covers,
  type Identity,
  isUserIdentity,
  type SpanIndex,
  SUPPRESSION,
  type SuppressedKind,
  type SuppressionDocument,
  spanIndex,
  suppressedId,
  userIdentity,
} from "@sluice/event-log";
import { formatTime } from "@sluice/protocol";
import type { Clock } from "@sluice/resilience";

/** A suppressed id. */
export interface SuppressedNow {
  readonly idHmac: string;
  readonly kind: SuppressedKind;
  /** Digest of the requested id, if this id is suppressed only because it is joined to that one. */
  readonly joinedTo?: string;
  readonly since: string;
}

/** Ids whose messages are refused. Stored as digests, because ids are personal data too. */
export interface Suppressions {
  /** Whether messages of this id are currently refused. */
  isSuppressed(identity: Identity | undefined): boolean;
  /** Whether this id was suppressed when the message at this offset arrived. Replays do not send such a message either. */
  covers(identity: Identity | undefined, offset: Offset): boolean;
  /**
   * Call this when all messages of these ids up to now are purged. `covers` then returns true for them, so that copies in memory are not
   * delivered. Not stored, because no such copy survives a restart.
   */
  purged(identities: readonly Identity[]): void;
  /** Suppresses an id and those joined to it. Resolves when the suppression is in effect. */
  suppress(identity: Identity, joined: readonly Identity[]): Promise<void>;
  /** Lifts a suppression, including the ids joined to it. Resolves with false if there was none. */
  lift(id: Identity | { readonly idHmac: string }): Promise<boolean>;
  /** Returns the currently suppressed ids, oldest first. */
  list(): readonly SuppressedNow[];
  /** Number of suppressions stored with another secret key. Their messages are not recognized. */
  unrecognized(): number;
  close(): void;
}

export interface SuppressionsOptions {
  readonly store: Pick<Store, "config" | "log">;
  readonly clock: Clock;
  readonly digest: IdDigest;
}

/** Reads the suppressions and follows changes to them. */
export async function openSuppressions(options: SuppressionsOptions): Promise<Suppressions> {
  const suppressions = new FollowedSuppressions(options);
  for (const { id, value } of await options.store.config.list<SuppressionDocument>(SUPPRESSION))
    suppressions.take(id, value);
  return suppressions;
}

class FollowedSuppressions implements Suppressions {
  readonly close: () => void;
  readonly #options: SuppressionsOptions;
  readonly #documents = new Map<string, SuppressionDocument>();
  readonly #index: SpanIndex;
  /** Head of the log when an id was purged, by digest. */
  readonly #purges = new Map<string, Offset>();
  readonly #key: string;

  constructor(options: SuppressionsOptions) {
    this.#options = options;
    this.#index = spanIndex(options.digest);
    this.#key = keyName(options.digest);
    this.close = options.store.config.watch(({ kind, id, document }) => {
      if (kind === SUPPRESSION) this.take(id, document?.value as SuppressionDocument | undefined);
    });
  }

  /** Updates the memory after a document changed. Undefined: the document was deleted. */
  take(id: string, document: SuppressionDocument | undefined): void {
    if (document === undefined) this.#documents.delete(id);
    else this.#documents.set(id, document);
    this.#index.set(suppressedId(id, document));
  }

  isSuppressed(identity: Identity | undefined): boolean {
    return (
      this.#documents.size > 0 &&
      identity !== undefined &&
      this.#index.spansOf(identity).some(({ upTo }) => upTo === undefined)
    );
  }

  covers(identity: Identity | undefined, offset: Offset): boolean {
    if (identity === undefined) return false;
    const { digest } = this.#options;
    if (this.#purges.size > 0 && offset <= (this.#purges.get(digest.of(identity)) ?? -1)) return true;
    return this.#documents.size > 0 && covers(this.#index.spansOf(identity), offset);
  }

  purged(identities: readonly Identity[]): void {
    const { digest, store } = this.#options;
    for (const identity of identities) this.#purges.set(digest.of(identity), store.log.head());
  }

  async suppress(identity: Identity, joined: readonly Identity[]): Promise<void> {
    const { clock, store } = this.#options;
    const since = formatTime(clock.now());
    const all = [...new Set([identity, ...joined])];
    const puts = all.flatMap((one) => this.#suppressed(one, identity, since) ?? []);
    if (puts.length > 0) await store.config.putAll(puts);
  }

  async lift(wanted: Identity | { readonly idHmac: string }): Promise<boolean> {
    const { digest, store } = this.#options;
    const lifts = typeof wanted === "string" ? digest.of(wanted) : wanted.idHmac;
    const open = [...this.#documents].filter(
      ([id, document]) => isOpen(document) && (id === lifts || document.of === lifts),
    );
    const head = store.log.head();
    if (open.length > 0)
      await store.config.putAll(open.map(([id, document]) => putOf(id, lifted(document, head))));
    return open.length > 0;
  }

  list(): readonly SuppressedNow[] {
    return [...this.#documents].flatMap(([idHmac, document]) =>
      isOpen(document)
        ? [
            {
              idHmac,
              kind: document.kind,
              ...(document.of === idHmac ? {} : { joinedTo: document.of }),
              since: document.since,
            },
          ]
        : [],
    );
  }

  unrecognized(): number {
    return [...this.#documents.values()].filter((document) => isOpen(document) && document.key !== this.#key)
      .length;
  }

  /** Returns the document to store so that `one` is suppressed together with `requested`. Undefined if it already is. */
  #suppressed(one: Identity, requested: Identity, since: string): DocumentPut | undefined {
    const { digest, store } = this.#options;
    const id = digest.of(one);
    const of = digest.of(requested);
    const known = this.#documents.get(id);
    if (known === undefined || !isOpen(known)) {
      const kind = isUserIdentity(one) ? "user" : "anonymous";
      const spans = [...(known?.spans ?? []), { after: store.log.head() }];
      return putOf(id, { of, kind, key: this.#key, since, spans });
    }
    return one === requested && known.of !== of ? putOf(id, { ...known, of }) : undefined;
  }
}

function putOf(id: string, value: SuppressionDocument): DocumentPut {
  return { kind: SUPPRESSION, id, value };
}

function lifted(document: SuppressionDocument, head: Offset): SuppressionDocument {
  const spans = document.spans.map((span) => (span.upTo === undefined ? { ...span, upTo: head } : span));
  return { ...document, spans };
}

function isOpen({ spans }: SuppressionDocument): boolean {
  return spans.at(-1)?.upTo === undefined;
}

/** Identifies a key without revealing anything about it. */
export function keyName(digest: IdDigest): string {
  return digest.of(userIdentity("")).slice(0, 16);
}
