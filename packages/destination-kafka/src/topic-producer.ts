import { hash } from "node:crypto";
import type { Socket } from "node:net";
import type { Connect } from "@sluice/destination";
import kafkajs, { type PartitionMetadata, type SASLOptions } from "kafkajs";
import { isAboutRecords, isPassing } from "./failure.js";
import { checkQueuesOnlyIfNeeded } from "./idle-queues.js";
import { LateSocket } from "./late-socket.js";
import type { KafkaRecord } from "./records.js";
import type { KafkaSettings } from "./settings.js";

const { CompressionTypes, Kafka, Partitioners } = kafkajs;

/** No partition: kafkajs sends nothing then, but asks for the partitions. */
const NONE = -1;

/**
 * An idempotent producer for one topic, connected when it is first used. Each request has the records of one partition, so that its
 * answer is about them alone.
 */
export class TopicProducer {
  readonly #settings: KafkaSettings;
  readonly #producer: kafkajs.Producer;
  readonly #choose = Partitioners.DefaultPartitioner();
  readonly #sockets = new Set<LateSocket>();
  readonly #underWay = new Set<Promise<unknown>>();
  /**
   * By partition: records of which it is not known whether they were written. kafkajs gives the number that they had to the next ones, and
   * if as many come, the broker takes them for a repetition. So these have to be the next.
   */
  readonly #doubtful = new Map<number, string>();
  /** Where the last records were appended, for people. */
  place = "";
  #partitions: PartitionMetadata[] = [];
  #state: "usable" | "broken" | "closed" = "usable";

  constructor(settings: KafkaSettings, connect: Connect) {
    checkQueuesOnlyIfNeeded();
    this.#settings = settings;
    const { brokers, security, ca } = settings;
    const kafka = new Kafka({
      clientId: "sluice",
      brokers: brokers.split(/, ?/),
      ssl: security === "tls",
      ...saslOf(settings),
      connectionTimeout: 10_000,
      requestTimeout: 20_000,
      retry: { retries: 2, initialRetryTime: 100, maxRetryTime: 500 },
      logCreator: () => () => {},
      socketFactory: ({ host, port, onConnect }) => {
        if (this.#state === "closed") throw new Error("The destination was closed");
        const to = { host, port, tls: security === "tls", ...(ca === undefined ? {} : { ca }) };
        const socket = new LateSocket((signal) => connect({ ...to, signal }), onConnect);
        this.#sockets.add(socket);
        void socket.gone.then(() => this.#sockets.delete(socket));
        return socket as unknown as Socket;
      },
    });
    this.#producer = kafka.producer({
      idempotent: true,
      allowAutoTopicCreation: false,
      retry: { retries: 1, initialRetryTime: 500, maxRetryTime: 500 },
      createPartitioner:
        () =>
        ({ partitionMetadata, message }) => {
          this.#partitions = partitionMetadata;
          return message.partition ?? NONE;
        },
    });
  }

  /** It can be used no more. */
  get isBroken(): boolean {
    return this.#state !== "usable";
  }

  /** Connects, and gets to know the partitions. */
  async ready(): Promise<void> {
    if (this.#partitions.length > 0) return;
    try {
      await this.#tracked(this.#producer.connect());
      await this.#send([{ value: null, partition: NONE }]);
    } catch (error) {
      this.#state = "broken";
      throw error;
    }
  }

  /** The partition that every client of Kafka chooses for a key. */
  partitionFor({ key }: KafkaRecord): number {
    const { topic } = this.#settings;
    const message = { key, value: null };
    return this.#choose({ topic, partitionMetadata: this.#partitions, message });
  }

  /** Whether these may be the next records of a partition. */
  mayBeNext(partition: number, records: readonly KafkaRecord[]): boolean {
    const doubtful = this.#doubtful.get(partition);
    return doubtful === undefined || doubtful === nameOf(records);
  }

  /** Appends all to a partition, in order, or none. If it rejects, it may have done so nevertheless, unless the error is about the records. */
  async append(partition: number, records: readonly KafkaRecord[]): Promise<void> {
    this.#doubtful.set(partition, nameOf(records));
    try {
      const written = await this.#send(records.map((record) => ({ ...record, partition })));
      // kafkajs has answers of brokers that were asked. A partition that moved to another broker in between is in none of them.
      const answer = written.find((one) => one.partition === partition && one.errorCode === 0);
      if (answer === undefined)
        throw Object.assign(new Error("No broker has confirmed the records"), { retriable: true });
      this.#doubtful.delete(partition);
      this.place = `${this.#settings.topic}, partition ${partition}, offset ${answer.baseOffset}`;
    } catch (error) {
      if (isAboutRecords(error)) this.#doubtful.delete(partition);
      else if (!isPassing(error)) this.#state = "broken";
      throw error;
    }
  }

  async close(): Promise<void> {
    this.#state = "closed";
    for (const socket of this.#sockets) socket.destroy(new Error("aborted"));
    // kafkajs tries once more, which fails at once.
    await Promise.allSettled(this.#underWay);
    await this.#producer.disconnect();
    await Promise.all([...this.#sockets].map(({ gone }) => gone));
  }

  #send(messages: kafkajs.Message[]): Promise<kafkajs.RecordMetadata[]> {
    const { topic, compression } = this.#settings;
    const codec = compression === "gzip" ? CompressionTypes.GZIP : CompressionTypes.None;
    return this.#tracked(this.#producer.send({ topic, messages, acks: -1, compression: codec }));
  }

  async #tracked<T>(promise: Promise<T>): Promise<T> {
    this.#underWay.add(promise);
    try {
      return await promise;
    } finally {
      this.#underWay.delete(promise);
    }
  }
}

function saslOf({ mechanism, user = "", password = "" }: KafkaSettings): { sasl?: SASLOptions } {
  return mechanism === "none" ? {} : { sasl: { mechanism, username: user, password } };
}

function nameOf(records: readonly KafkaRecord[]): string {
  return hash(
    "sha256",
    records.map(({ headers }) => `${headers["source-id"]} ${headers["message-id"]}`).join("\n"),
  );
}
