import type { OutgoingMessage } from "@sluice/destination";

/** A message as a record of Kafka, in the form that kafkajs takes. */
export interface KafkaRecord {
  readonly key: string | null;
  readonly value: Buffer;
  /** When the collector received it: brokers refuse times that are far in the future, as devices have them. */
  readonly timestamp: string;
  readonly headers: { readonly [name: string]: string };
}

/** The user is the key, so that the messages of a user are in one partition, in order. */
export function recordOf({ id, sourceId, receivedAtMs, payload, trace }: OutgoingMessage): KafkaRecord {
  // An alias names its fields as webhooks do. Clients send an empty id where there is none.
  const key = payload.userId || payload["User ID"] || payload.anonymousId;
  return {
    key: key ? String(key) : null,
    value: Buffer.from(JSON.stringify(payload)),
    timestamp: String(receivedAtMs),
    headers: { "message-id": id, "source-id": sourceId, type: payload.type, ...trace },
  };
}

/** Of key, headers and what surrounds them. */
const OVERHEAD_BYTES = 300;
/** By default, a broker takes a batch of 1 MB. */
const MOST_BYTES = 900_000;

/** Cuts a list into parts that a broker takes, in order. The same list makes the same parts. */
export function partsOf<Item extends { readonly record: KafkaRecord }>(items: readonly Item[]): Item[][] {
  const parts: Item[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const item of items) {
    const more = item.record.value.byteLength + OVERHEAD_BYTES;
    bytes += more;
    if (bytes > MOST_BYTES) {
      parts.push([]);
      bytes = more;
    }
    parts.at(-1)?.push(item);
  }
  return parts;
}
