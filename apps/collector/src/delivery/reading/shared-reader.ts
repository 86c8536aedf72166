import {
  decodeBatch,
  type EventLog,
  lastMessageIndex,
  type Offset,
  offsetAt,
  type StoredBatch,
  type StoredMessage,
} from "@sluice/event-log";

/** A batch of the log. Its messages are decoded on first use, once for all destinations. */
export interface ReadBatch {
  readonly sourceId: string;
  readonly onlyDestinations?: readonly string[];
  /** The offset of its last message. */
  readonly last: Offset;
  messages(): readonly StoredMessage[];
}

/** Reads the log for many consumers. Most of them are at the same place: its end. */
export interface SharedReader {
  /** The batches after an offset, as many as one read returns. None at the end of the log. */
  read(after: Offset): Promise<readonly ReadBatch[]>;
}

/** One read: enough to keep a destination busy during the next read, and small enough to hold one per destination. */
const READ_LIMITS = { messages: 500, bytes: 512 * 1_024 } as const;
/** Reads to keep for other consumers. Consumers at the end of the log ask within one commit of each other. */
const KEPT_READS = 8;
/** Batches to keep decoded, in bytes of their bodies. Decoded they may be twenty times as large. */
const KEPT_DECODED_BYTES = 1_024 * 1_024;

export function sharedReader(log: Pick<EventLog, "read">): SharedReader {
  const readings = new Map<Offset, Promise<readonly ReadBatch[]>>();
  /** Oldest first. */
  const decoded: DecodedBatch[] = [];
  let decodedBytes = 0;
  const keepDecoded = (batch: DecodedBatch): void => {
    decoded.push(batch);
    decodedBytes += batch.bytes;
    while (decodedBytes > KEPT_DECODED_BYTES && decoded.length > 1) {
      const oldest = decoded.shift();
      oldest?.forget();
      decodedBytes -= oldest?.bytes ?? 0;
    }
  };
  return {
    read(after) {
      const kept = readings.get(after);
      if (kept !== undefined) return kept;
      const reading = log
        .read(after, READ_LIMITS)
        .then((batches) => batches.map((batch) => readBatch(batch, keepDecoded)));
      readings.set(after, reading);
      // The end of the log moves, and a failed read may succeed later.
      reading.then(
        (batches) => batches.length === 0 && readings.delete(after),
        () => readings.delete(after),
      );
      for (const oldest of readings.keys()) {
        if (readings.size <= KEPT_READS) break;
        readings.delete(oldest);
      }
      return reading;
    },
  };
}

/** A source's messages in a span of the log. */
export async function* messagesOf(
  reader: SharedReader,
  sourceId: string,
  after: Offset,
  upTo: Offset,
): AsyncGenerator<StoredMessage> {
  for (let at = after; at < upTo; ) {
    const batches = await reader.read(at);
    if (batches.length === 0) return;
    at = (batches.at(-1) as ReadBatch).last;
    const ofSource = batches.filter(
      (batch) => batch.sourceId === sourceId && batch.onlyDestinations === undefined,
    );
    for (const batch of ofSource)
      yield* batch.messages().filter(({ offset }) => offset > after && offset <= upTo);
  }
}

/** A batch whose messages are kept decoded. */
interface DecodedBatch {
  readonly bytes: number;
  /** Drops the messages. The next use decodes them again. */
  forget(): void;
}

function readBatch(batch: StoredBatch, keepDecoded: (batch: DecodedBatch) => void): ReadBatch {
  let decoded: readonly StoredMessage[] | undefined;
  return {
    sourceId: batch.sourceId,
    ...(batch.onlyDestinations === undefined ? {} : { onlyDestinations: batch.onlyDestinations }),
    last: offsetAt(batch.first, lastMessageIndex(batch)),
    messages() {
      if (decoded !== undefined) return decoded;
      const messages = decodeBatch(batch);
      decoded = messages;
      keepDecoded({
        bytes: batch.body.byteLength,
        forget: () => {
          decoded = undefined;
        },
      });
      return messages;
    },
  };
}
