import type { BatchResult, OtherResult, OutgoingMessage } from "@sluice/destination";
import { failureOf, isAboutRecords } from "./failure.js";
import { type KafkaRecord, partsOf, recordOf } from "./records.js";
import type { KafkaSettings } from "./settings.js";
import type { TopicProducer } from "./topic-producer.js";

interface Item {
  /** In the batch. */
  readonly index: number;
  readonly record: KafkaRecord;
}

/** What a partition gets, one part after the other. */
export interface Lane {
  readonly partition: number;
  /** Those that are not settled. */
  readonly parts: Item[][];
  error?: unknown;
}

/** While other partitions take records, those that do not are tried so often: for 10 s or more, in which another broker takes them over. */
const TRIES = 15;

/** The messages of a batch by partition, in their order. */
export function lanesOf(messages: readonly OutgoingMessage[], producer: TopicProducer): readonly Lane[] {
  const items = messages.map((message, index): Item => ({ index, record: recordOf(message) }));
  const byPartition = Map.groupBy(items, ({ record }) => producer.partitionFor(record));
  return [...byPartition].map(([partition, lane]) => ({ partition, parts: partsOf(lane) }));
}

/**
 * Writes all lanes at the same time. Rejects if nothing was settled, so that the batch comes again as it is. If some partitions cannot be
 * written, their messages end as others.
 */
export async function deliverAll(
  lanes: readonly Lane[],
  producer: TopicProducer,
  settings: KafkaSettings,
): Promise<BatchResult> {
  const others: OtherResult[] = [];
  const all = countOf(lanes);
  let left = lanes;
  for (let tries = 0; tries < TRIES && left.length > 0 && !producer.isBroken; tries++) {
    await Promise.all(left.map((lane) => write(lane, producer, settings, others)));
    left = left.filter(({ parts }) => parts.length > 0);
    if (countOf(left) === all) throw left[0]?.error;
  }
  for (const { parts, error } of left) {
    const { reason, detail } = failureOf(error, settings);
    const result = { kind: "retry", reason, detail, isReachable: true } as const;
    others.push(...parts.flat().map(({ index }) => ({ index, result })));
  }
  return { kind: "delivered", reason: "written", detail: producer.place, others };
}

/** Writes part after part, up to one that cannot be written. A part with a record that the broker refuses is halved, until that is alone. */
async function write(
  lane: Lane,
  producer: TopicProducer,
  settings: KafkaSettings,
  others: OtherResult[],
): Promise<void> {
  for (let part = lane.parts[0]; part !== undefined; part = lane.parts[0]) {
    try {
      await producer.append(
        lane.partition,
        part.map(({ record }) => record),
      );
    } catch (error) {
      if (!isAboutRecords(error)) {
        lane.error = error;
        return;
      }
      const [first] = part;
      if (part.length > 1) {
        const half = Math.ceil(part.length / 2);
        lane.parts.splice(0, 1, part.slice(0, half), part.slice(half));
        continue;
      }
      if (first !== undefined) others.push({ index: first.index, result: failureOf(error, settings) });
    }
    lane.parts.shift();
  }
}

function countOf(lanes: readonly Lane[]): number {
  return lanes.reduce((sum, { parts }) => parts.reduce((inner, part) => inner + part.length, sum), 0);
}
