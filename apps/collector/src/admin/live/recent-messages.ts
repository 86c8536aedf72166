import {
  decodeBatch,
  type EventLog,
  lastMessageIndex,
  type Offset,
  offsetAt,
  type StoredBatch,
  type StoredMessage,
} from "@sluice/event-log";
import type { Clock } from "@sluice/resilience";
import { messageJson } from "./event-json.js";

/** A message that is decoded once, and written as JSON once, for all readers of the stream who are at the same place. */
export interface RecentMessage {
  readonly stored: StoredMessage;
  /** Its event's JSON, made when first asked for. */
  json(): string;
}

/** A stretch of the log: every message after `after`, up to and with `upTo`. */
export interface Stretch {
  readonly after: Offset;
  readonly upTo: Offset;
  /** Decodes them, where they are not decoded: to be used at once, not kept. */
  messages(): readonly RecentMessage[];
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
const READ_LIMITS = { messages: 200, bytes: 512 * 1_024 } as const;
/** Readers at the log's end come within moments of each other: this is for the slowest of them. */
const KEPT_STRETCHES = 32;
/** Bytes of request bodies that are kept. */
const KEPT_BYTES = 8 * 1_024 * 1_024;
/** Bytes of request bodies whose messages are kept decoded: those may be twenty times as large. */
const KEPT_DECODED_BYTES = 1_024 * 1_024;
/** Older ones are read anew: what a deletion has taken out of the log meanwhile is not to come from here. */
const KEPT_MS = 10_000;

export function recentMessages(log: Pick<EventLog, "read">, clock: Clock): RecentMessages {
  let readers = 0;
  let kept: readonly Kept[] = [];
  let decoded: readonly Decoded[] = [];
  /** Readings under way, by where they begin: who asks for the same meanwhile waits for it. */
  const underWay = new Map<Offset, Promise<Stretch | undefined>>();

  const readOn = async (after: Offset): Promise<Stretch | undefined> => {
    const batches = await log.read(after, READ_LIMITS);
    const last = batches.at(-1);
    if (last === undefined) return undefined;
    const stretch: Stretch = {
      after,
      upTo: Math.max(after, offsetAt(last.first, lastMessageIndex(last))) as Offset,
      messages: () => decode(stretch, own),
    };
    // A body may be a small part of a large buffer.
    const own = batches.map((batch): StoredBatch => ({ ...batch, body: batch.body.slice() }));
    if (readers > 0)
      kept = latest([...kept, { stretch, bytes: bytesOf(own), atMs: clock.monotonic() }], KEPT_BYTES).slice(
        -KEPT_STRETCHES,
      );
    return stretch;
  };
  const decode = (stretch: Stretch, batches: readonly StoredBatch[]): readonly RecentMessage[] => {
    const known = decoded.find((one) => one.stretch === stretch);
    if (known !== undefined) return known.messages;
    const messages = batches
      .flatMap(decodeBatch)
      .filter(({ offset }) => offset > stretch.after)
      .map(recentMessage);
    if (readers > 0)
      decoded = latest([...decoded, { stretch, bytes: bytesOf(batches), messages }], KEPT_DECODED_BYTES);
    return messages;
  };

  return {
    join() {
      readers += 1;
      let isHere = true;
      return {
        read(after) {
          const youngerThanMs = clock.monotonic() - KEPT_MS;
          if (kept.some(({ atMs }) => atMs < youngerThanMs)) {
            kept = kept.filter(({ atMs }) => atMs >= youngerThanMs);
            decoded = decoded.filter((one) => kept.some(({ stretch }) => stretch === one.stretch));
          }
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
          if (readers > 0) return;
          kept = [];
          decoded = [];
        },
      };
    },
  };
}

/** A stretch, and the bytes of its requests' bodies. */
interface Held {
  readonly stretch: Stretch;
  readonly bytes: number;
}
interface Kept extends Held {
  readonly atMs: number;
}
interface Decoded extends Held {
  readonly messages: readonly RecentMessage[];
}

/** The latest that have at most so many bytes together; the last one in any case. */
function latest<Item extends Held>(items: readonly Item[], mostBytes: number): readonly Item[] {
  let bytes = 0;
  const fromLast = items.toReversed();
  const over = fromLast.findIndex((item, index) => {
    bytes += item.bytes;
    return index > 0 && bytes > mostBytes;
  });
  return over < 0 ? items : items.slice(-over);
}

function bytesOf(batches: readonly StoredBatch[]): number {
  return batches.reduce((sum, { body }) => sum + body.byteLength, 0);
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
