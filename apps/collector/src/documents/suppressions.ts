import type { DocumentPut, IdDigest, Offset, Store, Versioned } from "@sluice/event-log";
import {
  covers,
  type Identity,
  isUserIdentity,
  SUPPRESSION,
  type SuppressedKind,
  type SuppressionDocument,
  spanIndex,
  suppressedId,
} from "@sluice/event-log";
import { formatTime } from "@sluice/protocol";
import type { Clock } from "@sluice/resilience";

/** An id whose messages are refused now. */
export interface SuppressedNow {
  readonly idHmac: string;
  readonly kind: SuppressedKind;
  /** The id that was asked for, where this one is suppressed because it is joined to it. */
  readonly joinedTo?: string;
  readonly since: string;
}

/** Ids whose messages are refused. They are kept as digests: ids are data too. */
export interface Suppressions {
  /** Whether messages of this id are refused now. */
  isSuppressed(identity: Identity | undefined): boolean;
  /** Whether a message of this id at this offset was refused, whatever holds now: replays do not bring it back. */
  covers(identity: Identity | undefined, offset: Offset): boolean;
  /**
   * What the log had of these ids until now was purged: it is covered too, so that what somebody has read already goes nowhere.
   * Not remembered over a restart, after which nobody has read anything.
   */
  purged(identities: readonly Identity[]): void;
  /** Suppresses an id and those joined to it. Resolves when it holds. */
  suppress(identity: Identity, joined: readonly Identity[]): Promise<void>;
  /** Lifts it: of an id that was asked for with those joined to it, of another that one alone. False when it was not suppressed. */
  lift(id: Identity | { readonly idHmac: string }): Promise<boolean>;
  /** Ids suppressed now, oldest first. */
  list(): readonly SuppressedNow[];
  /** How many of them were stored with another secret key: no message is known as theirs. */
  unrecognized(): number;
  close(): void;
}

export interface SuppressionsOptions {
  readonly store: Pick<Store, "config" | "log">;
  readonly clock: Clock;
  readonly digest: IdDigest;
}

export async function openSuppressions({ store, clock, digest }: SuppressionsOptions): Promise<Suppressions> {
  const { config, log } = store;
  const key = keyName(digest);
  const documents = new Map<string, SuppressionDocument>();
  const { set, spansOf } = spanIndex(digest);
  /** Up to where what the log had of an id was purged, by digest. */
  const purges = new Map<string, Offset>();

  const take = (id: string, document: SuppressionDocument | undefined): void => {
    if (document === undefined) documents.delete(id);
    else documents.set(id, document);
    set(suppressedId(id, document));
  };

  await nameWithKey(config, digest);
  for (const { id, value } of await config.list<SuppressionDocument>(SUPPRESSION)) take(id, value);
  const stopWatching = config.watch(({ kind, id, document }) => {
    if (kind === SUPPRESSION) take(id, document?.value as SuppressionDocument | undefined);
  });

  const putOf = (id: string, value: SuppressionDocument): DocumentPut => ({ kind: SUPPRESSION, id, value });
  const lifted = (document: SuppressionDocument): SuppressionDocument => ({
    ...document,
    spans: document.spans.map((span) => (span.upTo === undefined ? { ...span, upTo: log.head() } : span)),
  });

  return {
    isSuppressed: (identity) =>
      documents.size > 0 &&
      identity !== undefined &&
      spansOf(identity).some(({ upTo }) => upTo === undefined),
    covers: (identity, offset) => {
      if (identity === undefined) return false;
      if (purges.size > 0 && offset <= (purges.get(digest.of(identity)) ?? -1)) return true;
      return documents.size > 0 && covers(spansOf(identity), offset);
    },
    purged: (identities) => {
      for (const identity of identities) purges.set(digest.of(identity), log.head());
    },
    suppress: async (identity, joined) => {
      const of = digest.of(identity);
      const since = formatTime(clock.now());
      const puts: DocumentPut[] = [];
      for (const one of new Set([identity, ...joined])) {
        const id = digest.of(one);
        const kind = isUserIdentity(one) ? "user" : "anonymous";
        const known = documents.get(id);
        if (known === undefined || !isOpen(known)) {
          const spans = [...(known?.spans ?? []), { after: log.head() }];
          puts.push(putOf(id, { of, kind, key, since, spans }));
        } else if (one === identity && known.of !== of) puts.push(putOf(id, { ...known, of }));
      }
      if (puts.length > 0) await config.putAll(puts);
    },
    lift: async (wanted) => {
      const ids =
        typeof wanted === "string" ? [digest.of(wanted), digest.ofUntyped(wanted.slice(2))] : [wanted.idHmac];
      const open = [...documents].filter(
        ([id, document]) => isOpen(document) && (ids.includes(id) || ids.includes(document.of)),
      );
      if (open.length > 0) await config.putAll(open.map(([id, document]) => putOf(id, lifted(document))));
      return open.length > 0;
    },
    list: () =>
      [...documents].flatMap(([idHmac, document]) =>
        isOpen(document)
          ? [
              {
                idHmac,
                kind: document.kind ?? "any",
                ...(document.of === idHmac ? {} : { joinedTo: document.of }),
                since: document.since,
              },
            ]
          : [],
      ),
    unrecognized: () =>
      [...documents.values()].filter((document) => isOpen(document) && document.key !== key).length,
    close: stopWatching,
  };
}

function isOpen({ spans }: SuppressionDocument): boolean {
  return spans.at(-1)?.upTo === undefined;
}

/** Enough to tell keys apart, and nothing about the key. */
function keyName(digest: IdDigest): string {
  return digest.ofSha256("").slice(0, 16);
}

/** Documents of older versions are named by plain digests: they get keyed ones, and hold for both kinds of ids as they did. */
async function nameWithKey(config: Store["config"], digest: IdDigest): Promise<void> {
  const isUnkeyed = ({ value }: Versioned<SuppressionDocument>): boolean => value.kind === undefined;
  const key = keyName(digest);
  for (const { id, value } of (await config.list<SuppressionDocument>(SUPPRESSION)).filter(isUnkeyed)) {
    const document: SuppressionDocument = { ...value, of: digest.ofSha256(value.of), kind: "any", key };
    await config.put(SUPPRESSION, digest.ofSha256(id), document);
    await config.delete(SUPPRESSION, id);
  }
}
