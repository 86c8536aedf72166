import type { Clock } from "@sluice/resilience";
import { decodeBatch } from "../../messages/decode-batch.js";
import { lastMessageIndex } from "../../store/last-message.js";
import { type EventLog, type Offset, offsetAt, type StoredMessage } from "../../store/store.js";
import { messageJson } from "./event-json.js";

/** A message that is read and decoded once, and written as JSON once, for however many readers of the stream. */
export interface RecentMessage {
  readonly stored: StoredMessage;
  /** Its event's JSON, made when first asked for. */
  json(): string;
}

/** A stretch of the log: every message after `after`, up to and with `upTo`. */
export interface Stretch {
  readonly after: Offset;
  readonly upTo: Offset;
  readonly messages: readonly RecentMessage[];
}

/** The end of the log for all who watch it: as long as nobody does, nothing is read and nothing is held. */
export interface RecentMessages {
  /** To be called by each reader; the last one that leaves takes everything with it. */
  join(): RecentReading;
}

export interface RecentReading {
  /** The stretch in which the message after `after` is; undefined where the log has none any more. */
  read(after: Offset): Promise<Stretch | undefined>;
  leave(): void;
}

/** One reading of the log. */
const READ_LIMITS = { messages: 200, bytes: 1_048_576 } as const;
/** Readers at the log's end come within moments of each other: this is for the slowest of them. */
const KEPT_STRETCHES = 32;
/** Older ones are read anew: what a deletion has taken out of the log meanwhile is not to come from here. */
const KEPT_MS = 10_000;

export function recentMessages(log: Pick<EventLog, "read">, clock: Clock): RecentMessages {
  let readers = 0;
  let kept: { readonly stretch: Stretch; readonly atMs: number }[] = [];
  /** Readings under way, by where they begin: who asks for the same meanwhile waits for it. */
  const underWay = new Map<Offset, Promise<Stretch | undefined>>();

  const readOn = async (after: Offset): Promise<Stretch | undefined> => {
    const batches = await log.read(after, READ_LIMITS);
    const last = batches.at(-1);
    if (last === undefined) return undefined;
    const messages = batches.flatMap(decodeBatch).filter(({ offset }) => offset > after);
    const stretch: Stretch = {
      after,
      upTo: Math.max(after, offsetAt(last.first, lastMessageIndex(last))) as Offset,
      messages: messages.map(recentMessage),
    };
    if (readers > 0) kept = [...kept, { stretch, atMs: clock.monotonic() }].slice(-KEPT_STRETCHES);
    return stretch;
  };

  return {
    join() {
      readers += 1;
      let isHere = true;
      return {
        read(after) {
          const youngerThanMs = clock.monotonic() - KEPT_MS;
          if (kept.some(({ atMs }) => atMs < youngerThanMs))
            kept = kept.filter(({ atMs }) => atMs >= youngerThanMs);
          const known = kept.find(({ stretch }) => stretch.after <= after && after < stretch.upTo);
          if (known !== undefined) return Promise.resolve(known.stretch);
          const reading = underWay.get(after) ?? readOn(after).finally(() => underWay.delete(after));
          underWay.set(after, reading);
          return reading;
        },
        leave() {
          if (!isHere) return;
          isHere = false;
          readers -= 1;
          if (readers === 0) kept = [];
        },
      };
    },
  };
}

export function recentMessage(stored: StoredMessage): RecentMessage {
  let text: string | undefined;
  return {
    stored,
    json() {
      text ??= messageJson(stored);
      return text;
    },
  };
}
