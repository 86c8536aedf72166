import type { ConfigStore, EventLog, IdDigest, Offset } from "@sluice/event-log";
import {
  covers,
  type DocumentMirror,
  type Identity,
  mirrorDocuments,
  type SpanIndex,
  SUPPRESSION,
  type SuppressionDocument,
  spanIndex,
  suppressedId,
} from "@sluice/event-log";

/** Everything of an id up to this offset was purged. */
export type Purge = readonly [digest: string, upTo: Offset];

export interface FollowedSuppressionsOptions {
  readonly store: {
    readonly config: Pick<ConfigStore, "list" | "watch">;
    readonly log: Pick<EventLog, "head">;
  };
  readonly digest: IdDigest;
}

/** The suppressions as they are in force, and what was purged since this process started. */
export class FollowedSuppressions {
  readonly documents = new Map<string, SuppressionDocument>();
  readonly #options: FollowedSuppressionsOptions;
  readonly #index: SpanIndex;
  /** Head of the log when an id was purged, by digest. */
  readonly #purges: Map<string, Offset>;
  #mirror: DocumentMirror<SuppressionDocument> | undefined;

  constructor(options: FollowedSuppressionsOptions, purges: readonly Purge[] = []) {
    this.#options = options;
    this.#index = spanIndex(options.digest);
    this.#purges = new Map(purges);
  }

  /** Reads the suppressions and follows changes to them. Call it once, before anything else. */
  async follow(): Promise<this> {
    this.#mirror = await mirrorDocuments<SuppressionDocument>(
      this.#options.store.config,
      SUPPRESSION,
      (id, document) => this.#take(id, document?.value),
    );
    return this;
  }

  close(): void {
    this.#mirror?.close();
  }

  /** Undefined: the document was deleted. */
  #take(id: string, document: SuppressionDocument | undefined): void {
    if (document === undefined) this.documents.delete(id);
    else this.documents.set(id, document);
    this.#index.set(suppressedId(id, document));
  }

  /** Whether messages of this id are currently refused. */
  isSuppressed(identity: Identity | undefined): boolean {
    return (
      this.documents.size > 0 &&
      identity !== undefined &&
      this.#index.spansOf(identity).some(({ upTo }) => upTo === undefined)
    );
  }

  /** Whether this id was suppressed when the message at this offset arrived. Replays do not send such a message either. */
  covers(identity: Identity | undefined, offset: Offset): boolean {
    if (identity === undefined) return false;
    const { digest } = this.#options;
    if (this.#purges.size > 0 && offset <= (this.#purges.get(digest.of(identity)) ?? -1)) return true;
    return this.documents.size > 0 && covers(this.#index.spansOf(identity), offset);
  }

  /**
   * Call this when all messages of these ids up to now are purged. `covers` then returns true for them, so that copies in memory are not
   * delivered. Not stored, because no such copy survives a restart.
   */
  purged(identities: readonly Identity[]): readonly Purge[] {
    const { digest, store } = this.#options;
    const head = store.log.head();
    const purges = identities.map((identity): Purge => [digest.of(identity), head]);
    this.takePurges(purges);
    return purges;
  }

  /** The same, as another thread found it. */
  takePurges(purges: readonly Purge[]): void {
    for (const [id, upTo] of purges) this.#purges.set(id, upTo);
  }

  get purges(): readonly Purge[] {
    return [...this.#purges];
  }
}
