import type { DocumentPut, IdDigest, Offset, Store } from "@sluice/event-log";
import {
  type Identity,
  isUserIdentity,
  SUPPRESSION,
  type SuppressedKind,
  type SuppressionDocument,
  userIdentity,
} from "@sluice/event-log";
import { formatTime } from "@sluice/protocol";
import { type Clock, serialQueue } from "@sluice/resilience";
import { FollowedSuppressions } from "./followed-suppressions.js";

/** A suppressed id. */
export interface SuppressedNow {
  readonly idHmac: string;
  readonly kind: SuppressedKind;
  /** Digest of the requested id, if this id is suppressed only because it is joined to that one. */
  readonly joinedTo?: string;
  readonly since: string;
}

/** Ids whose messages are refused. Stored as digests, because ids are personal data too. */
export interface Suppressions
  extends Pick<
    FollowedSuppressions,
    "isSuppressed" | "covers" | "purged" | "takePurges" | "purges" | "close"
  > {
  /** Suppresses an id and those joined to it. Resolves when the suppression is in effect. */
  suppress(identity: Identity, joined: readonly Identity[]): Promise<void>;
  /** Lifts a suppression, including the ids joined to it. Resolves with false if there was none. */
  lift(id: Identity | { readonly idHmac: string }): Promise<boolean>;
  /** Returns the currently suppressed ids, oldest first. */
  list(): readonly SuppressedNow[];
  /** Number of suppressions stored with another secret key. Their messages are not recognized. */
  unrecognized(): number;
}

export interface SuppressionsOptions {
  readonly store: Pick<Store, "config" | "log">;
  readonly clock: Clock;
  readonly digest: IdDigest;
}

/** Reads the suppressions and follows changes to them. */
export function openSuppressions(options: SuppressionsOptions): Promise<Suppressions> {
  return new StoredSuppressions(options).follow();
}

class StoredSuppressions extends FollowedSuppressions implements Suppressions {
  readonly #options: SuppressionsOptions;
  /** A change is made of the documents as the change before left them. */
  readonly #inOrder = serialQueue();
  readonly #key: string;

  constructor(options: SuppressionsOptions) {
    super(options);
    this.#options = options;
    this.#key = keyName(options.digest);
  }

  suppress(identity: Identity, joined: readonly Identity[]): Promise<void> {
    return this.#inOrder(() => this.#suppress(identity, joined));
  }

  async #suppress(identity: Identity, joined: readonly Identity[]): Promise<void> {
    const { clock, store } = this.#options;
    const since = formatTime(clock.now());
    const all = [...new Set([identity, ...joined])];
    const puts = all.flatMap((one) => this.#suppressed(one, identity, since) ?? []);
    if (puts.length > 0) await store.config.putAll(puts);
  }

  lift(wanted: Identity | { readonly idHmac: string }): Promise<boolean> {
    return this.#inOrder(() => this.#lift(wanted));
  }

  async #lift(wanted: Identity | { readonly idHmac: string }): Promise<boolean> {
    const { digest, store } = this.#options;
    const lifts = typeof wanted === "string" ? digest.of(wanted) : wanted.idHmac;
    const open = [...this.documents].filter(
      ([id, document]) => isOpen(document) && (id === lifts || document.of === lifts),
    );
    const head = store.log.head();
    if (open.length > 0)
      await store.config.putAll(open.map(([id, document]) => putOf(id, lifted(document, head))));
    return open.length > 0;
  }

  list(): readonly SuppressedNow[] {
    return [...this.documents].flatMap(([idHmac, document]) =>
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
    return [...this.documents.values()].filter((document) => isOpen(document) && document.key !== this.#key)
      .length;
  }

  /** Returns the document to store so that `one` is suppressed together with `requested`. Undefined if it already is. */
  #suppressed(one: Identity, requested: Identity, since: string): DocumentPut | undefined {
    const { digest, store } = this.#options;
    const id = digest.of(one);
    const of = digest.of(requested);
    const known = this.documents.get(id);
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
