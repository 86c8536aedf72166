import { hash } from "node:crypto";
import { formatTime } from "@sluice/protocol";
import type { Clock } from "@sluice/resilience";
import { BEFORE_FIRST, type Offset, type Store } from "./store.js";

/** Kind of its documents in the config store; their id is the digest of the id that is suppressed. */
export const SUPPRESSION = "suppression";

/** A span of the log in which a user's messages go nowhere; open-ended until it is lifted. */
export interface SuppressedSpan {
  readonly after: Offset;
  readonly upTo?: Offset;
}

export interface SuppressionDocument {
  /** Digest of the user id that was asked for: the other ids of that user are suppressed and lifted with it. */
  readonly of: string;
  readonly since: string;
  readonly spans: readonly SuppressedSpan[];
}

/** Users whose messages are refused. They are kept as digests: their ids are data too. */
export interface Suppressions {
  /** Whether messages of this user (`userId`, else `anonymousId`) are refused now. */
  isSuppressed(userId: string): boolean;
  /** Whether a message of this user at this offset was refused, whatever holds now: replays do not bring it back. */
  covers(userId: string, offset: Offset): boolean;
  /**
   * What the log had of these ids until now was purged: it is covered too, so that what somebody has read already goes nowhere.
   * Not remembered over a restart, after which nobody has read anything.
   */
  purged(ids: readonly string[]): void;
  /** Suppresses a user under all these ids. Resolves when it holds. */
  suppress(userId: string, ids: readonly string[]): Promise<void>;
  /** Lifts it; false when the user was not suppressed. */
  lift(userId: string): Promise<boolean>;
  /** Users suppressed now, by digest. */
  list(): readonly { readonly userIdSha256: string; readonly since: string }[];
  close(): void;
}

export function digestOf(userId: string): string {
  return hash("sha256", userId);
}

export async function openSuppressions({
  store,
  clock,
}: {
  readonly store: Pick<Store, "config" | "log">;
  readonly clock: Clock;
}): Promise<Suppressions> {
  const { config, log } = store;
  const documents = new Map<string, SuppressionDocument>();
  /** Up to where what the log had of an id was purged. */
  const purges = new Map<string, Offset>();

  for (const { id, value } of await config.list<SuppressionDocument>(SUPPRESSION)) documents.set(id, value);
  const stopWatching = config.watch(({ kind, id, document }) => {
    if (kind !== SUPPRESSION) return;
    if (document === undefined) documents.delete(id);
    else documents.set(id, document.value as SuppressionDocument);
  });

  const spansOf = (userId: string): readonly SuppressedSpan[] =>
    documents.size === 0 ? [] : (documents.get(digestOf(userId))?.spans ?? []);
  const put = async (id: string, document: SuppressionDocument): Promise<void> => {
    await config.put(SUPPRESSION, id, document);
  };
  const isOpen = ({ spans }: SuppressionDocument): boolean => spans.at(-1)?.upTo === undefined;

  return {
    isSuppressed: (userId) => spansOf(userId).some((span) => span.upTo === undefined),
    covers: (userId, offset) =>
      (purges.size > 0 && offset <= (purges.get(digestOf(userId)) ?? BEFORE_FIRST)) ||
      spansOf(userId).some(({ after, upTo }) => offset > after && (upTo === undefined || offset <= upTo)),
    purged: (ids) => {
      for (const id of ids) purges.set(digestOf(id), log.head());
    },
    suppress: async (userId, ids) => {
      const of = digestOf(userId);
      const since = formatTime(clock.now());
      for (const id of new Set([userId, ...ids])) {
        const known = documents.get(digestOf(id));
        if (known !== undefined && isOpen(known)) continue;
        const spans = [...(known?.spans ?? []), { after: log.head() }];
        await put(digestOf(id), { of, since, spans });
      }
    },
    lift: async (userId) => {
      const of = digestOf(userId);
      const open = [...documents].filter(([, document]) => document.of === of && isOpen(document));
      for (const [id, document] of open) {
        const spans = document.spans.map((span) =>
          span.upTo === undefined ? { ...span, upTo: log.head() } : span,
        );
        await put(id, { ...document, spans });
      }
      return open.length > 0;
    },
    list: () =>
      [...documents].flatMap(([id, document]) =>
        isOpen(document) && document.of === id ? [{ userIdSha256: id, since: document.since }] : [],
      ),
    close: stopWatching,
  };
}
