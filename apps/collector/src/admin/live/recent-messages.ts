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
import type { PlanOf } from "../../documents/documents.js";
import { messageJson } from "./server-sent-event.js";

/** A message that is decoded once and serialized once for all readers of the stream. */
export interface RecentMessage {
  readonly stored: StoredMessage;
  /** Its event's JSON, serialized on first use. */
  json(): string;
}

/** A stretch of the log: every message after `after`, up to and including `upTo`. */
export interface Stretch {
  readonly after: Offset;
  readonly upTo: Offset;
  /** Decodes the messages if needed. Use them at once and do not keep them, because they may be large. */
  messages(): readonly RecentMessage[];
}

/** The end of the log, shared by all readers. Without readers, nothing is read or held. */
export interface RecentMessages {
  /** Each reader joins. When the last one leaves, everything is released. */
  join(): RecentReading;
}

export interface RecentReading {
  /** The stretch that contains the message after `after`; undefined if the log has none. */
  read(after: Offset): Promise<Stretch | undefined>;
  leave(): void;
}

/** The size of one read of the log. */
const READ_LIMITS = { messages: 200, bytes: 512 * 1_024 } as const;
/** Readers at the end of the log are close together; this many stretches serve the slowest of them. */
const KEPT_STRETCHES = 32;
/** Bytes of request bodies to keep. */
const KEPT_BYTES = 8 * 1_024 * 1_024;
/** Bytes of request bodies whose messages are kept decoded. Decoded messages can be twenty times larger. */
const KEPT_DECODED_BYTES = 1_024 * 1_024;
/** Older stretches are read again, so that messages removed by a deletion do not come from here. */
const KEPT_MS = 10_000;

export function recentMessages(log: Pick<EventLog, "read">, clock: Clock, planOf?: PlanOf): RecentMessages {
  let readers = 0;
  let kept: readonly Kept[] = [];
  let decoded: readonly Decoded[] = [];
  /** Reads in progress by their start, so that concurrent readers share one. */
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
    // A body may be a small part of a large buffer: copy it, so that the buffer can be released.
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
      .map((stored) => recentMessage(stored, planOf));
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

/** A stretch and the size of its request bodies. */
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

/** The latest items that together have at most `mostBytes`; at least the last one. */
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

export function recentMessage(stored: StoredMessage, planOf?: PlanOf): RecentMessage {
  let text: string | undefined;
  return {
    stored,
    json() {
      text ??= messageJson(stored, planOf);
      return text;
    },
  };
}
