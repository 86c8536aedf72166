import {
  type BatchResult,
  type Connect,
  type DefinedDestination,
  defineDestination,
  type OpenDestination,
} from "@sluice/destination";
import { deliverAll, lanesOf } from "./deliver-all.js";
import { failureOf } from "./failure.js";
import { checkSettings, type KafkaSettings, SETTINGS } from "./settings.js";
import { TopicProducer } from "./topic-producer.js";

/** Writes each message as a record of a topic. */
const kafka: DefinedDestination = defineDestination<KafkaSettings>({
  type: "kafka",
  name: "Kafka",
  description: "Writes each message to a topic of Apache Kafka, in order per user",
  icon: "M6.5 8a2 2 0 1 1-4 0 2 2 0 0 1 4 0ZM13 4a1.7 1.7 0 1 1-3.4 0A1.7 1.7 0 0 1 13 4ZM13 12a1.7 1.7 0 1 1-3.4 0 1.7 1.7 0 0 1 3.4 0ZM6.3 7l3.4-2M6.3 9l3.4 2",
  settings: SETTINGS,
  check: checkSettings,
  takesDeletions: "message",
  timeoutMs: 60_000,
  target: ({ brokers, topic }) => `kafka:${brokers}/${topic}`,
  batch: ({ maxAgeSeconds }) => ({ maxAgeMs: maxAgeSeconds * 1_000 }),
  open: (settings, { connect }) => opened(settings, connect),
});

export default kafka;

/** One producer, for as long as it can tell what it wrote. */
function opened(settings: KafkaSettings, connect: Connect): OpenDestination {
  let open: TopicProducer | undefined;

  const forget = async (): Promise<void> => {
    const producer = open;
    open = undefined;
    await producer?.close().catch(() => {});
  };
  const usable = async (signal: AbortSignal): Promise<TopicProducer> => {
    signal.throwIfAborted();
    open ??= new TopicProducer(settings, connect);
    const producer = open;
    await producer.ready();
    return producer;
  };

  return {
    async deliverBatch({ messages }, { signal }): Promise<BatchResult> {
      const abort = (): void => void forget();
      signal.addEventListener("abort", abort, { once: true });
      try {
        let producer = await usable(signal);
        const lanes = lanesOf(messages, producer);
        const isFit = lanes.every(({ partition, parts: [first = []] }) =>
          producer.mayBeNext(
            partition,
            first.map(({ record }) => record),
          ),
        );
        if (!isFit) {
          await forget();
          producer = await usable(signal);
        }
        const result = await deliverAll(lanes, producer, settings);
        if (producer.isBroken) await forget();
        return result;
      } catch (error) {
        if (open?.isBroken === true) await forget();
        return failureOf(error, settings);
      } finally {
        signal.removeEventListener("abort", abort);
      }
    },
    close: forget,
  };
}
