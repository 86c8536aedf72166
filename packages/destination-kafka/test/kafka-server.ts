import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import kafkajs from "kafkajs";
// @boundaries-ignore the servers are for tests of all packages
import { kill } from "../../../test/destinations/kill.ts";
import { checkQueuesOnlyIfNeeded } from "../src/idle-queues.ts";

export const KAFKA_VERSION: string =
  /kafka_2\.13<\/artifactId>\s*<version>([^<]+)/.exec(
    readFileSync(join(import.meta.dirname, "pom.xml"), "utf8"),
  )?.[1] ?? "";
/** Where `npm run kafka:install` puts it. */
export const JARS: string = join(homedir(), ".cache", "sluice", `kafka-${KAFKA_VERSION}`);
export const IS_INSTALLED: boolean = existsSync(join(JARS, "installed"));

export const PASSWORD = "correct horse";
const CERTIFICATES = join(import.meta.dirname, "../../../apps/collector/test/sender/fixtures");
const SMALL = ["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto"];

/** What reads a record back. */
export interface ReadRecord {
  readonly partition: number;
  readonly offset: number;
  readonly key: string | undefined;
  readonly value: { readonly [field: string]: unknown };
  readonly headers: { readonly [name: string]: string };
  readonly timestamp: number;
}

/** `hidden` advertises an address outside of this machine. */
export type Listener = "plain" | "sasl" | "tls" | "sasltls" | "hidden";

export interface KafkaNode extends AsyncDisposable {
  /** As when the machine loses power. */
  kill(): Promise<void>;
  start(): Promise<void>;
}

export interface KafkaServer extends KafkaNode {
  readonly brokers: { readonly [name in Listener]: string };
  readonly admin: kafkajs.Admin;
  /** `replicas`: the nodes of each partition. Default: three partitions on the first node. */
  createTopic(
    topic: string,
    config?: { readonly [name: string]: string },
    replicas?: readonly (readonly number[])[],
  ): Promise<void>;
  /** Everything in a topic: by partition, in order. */
  read(topic: string): Promise<readonly ReadRecord[]>;
  /** Starts a second broker, the node 2. */
  join(): Promise<KafkaNode>;
  pause(): void;
  resume(): void;
}

export const PARTITIONS = 3;

/** One node of Apache Kafka, broker and controller, in a folder of its own. */
export async function kafkaServer(): Promise<KafkaServer> {
  const folder = mkdtempSync(join(tmpdir(), "sluice-kafka-"));
  const names = ["plain", "sasl", "tls", "sasltls", "hidden", "controller"] as const;
  const ports = await Promise.all(names.map(freePort));
  const addressOf = (name: (typeof names)[number]) => `127.0.0.1:${ports[names.indexOf(name)]}`;
  const settings = propertiesOf(folder, addressOf);
  const node = nodeIn(folder, settings, SCRAM_USERS);
  await node.start();
  checkQueuesOnlyIfNeeded();
  const client = new kafkajs.Kafka({
    brokers: [addressOf("plain")],
    logCreator: () => () => {},
    retry: { retries: 20, initialRetryTime: 100, maxRetryTime: 1_000 },
  });
  const admin = client.admin();
  await admin.connect();
  return {
    brokers: {
      plain: addressOf("plain"),
      sasl: addressOf("sasl"),
      tls: addressOf("tls"),
      sasltls: addressOf("sasltls"),
      hidden: addressOf("hidden"),
    },
    admin,
    async createTopic(topic, config = {}, replicas = Array.from({ length: PARTITIONS }, () => [1])) {
      const configEntries = Object.entries(config).map(([name, value]) => ({ name, value }));
      const replicaAssignment = replicas.map((nodes, partition) => ({ partition, replicas: [...nodes] }));
      await admin.createTopics({
        topics: [{ topic, replicaAssignment, configEntries }],
        waitForLeaders: false,
      });
      // A moment later, the broker knows it too.
      const isKnown = () =>
        admin.fetchTopicMetadata({ topics: [topic] }).then(
          () => true,
          () => false,
        );
      while (!(await isKnown()));
    },
    read: (topic) => readAll(client, topic),
    async join() {
      const address = `PLAIN://127.0.0.1:${await freePort()}`;
      const second = nodeIn(join(folder, "second"), {
        ...settings,
        "process.roles": "broker",
        "node.id": "2",
        listeners: address,
        "advertised.listeners": address,
        "log.dirs": join(folder, "second", "data"),
      });
      await second.start();
      return second;
    },
    kill: node.kill,
    start: node.start,
    pause: () => node.signal("SIGSTOP"),
    resume: () => node.signal("SIGCONT"),
    async [Symbol.asyncDispose]() {
      await admin.disconnect();
      await node[Symbol.asyncDispose]();
    },
  };
}

const SCRAM_USERS = ["SCRAM-SHA-256", "SCRAM-SHA-512"].flatMap((mechanism) => [
  "--add-scram",
  `${mechanism}=[name=sluice,password=${PASSWORD}]`,
]);

interface Properties {
  readonly [name: string]: string;
}

/** A node whose data is in a folder of its own. */
function nodeIn(
  folder: string,
  settings: Properties,
  users: readonly string[] = [],
): KafkaNode & { signal(signal: NodeJS.Signals): void } {
  mkdirSync(folder, { recursive: true });
  const file = join(folder, "server.properties");
  const lines = Object.entries(settings).map(([name, value]) => `${name}=${value}`);
  writeFileSync(file, lines.join("\n"));
  const java = [...SMALL, "-cp", `${JARS}/*`];
  const format = ["kafka.tools.StorageTool", "format", "--cluster-id", "MkU3OEVBNTcwNTJENDM2Qg"];
  execFileSync("java", [...java, ...format, "--config", file, ...users], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  let server: ChildProcess | undefined;
  return {
    async start() {
      const child = spawn("java", [...java, "kafka.Kafka", file], {
        cwd: folder,
        stdio: ["ignore", "ignore", "pipe"],
      });
      server = child;
      const isStarted = Promise.withResolvers<void>();
      let said = "";
      const listen = (data: Buffer): void => {
        said += data;
        if (!said.includes("Kafka Server started")) return;
        child.stderr.off("data", listen);

        // It goes on talking.
        child.stderr.resume();
        isStarted.resolve();
      };
      child.stderr.on("data", listen);
      child.stderr.once("end", () => isStarted.reject(new Error(`kafka: ${said}`)));
      await isStarted.promise;
    },
    kill: () => kill(server),
    signal: (signal) => void server?.kill(signal),
    async [Symbol.asyncDispose]() {
      await kill(server);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function propertiesOf(folder: string, addressOf: (name: Listener | "controller") => string): Properties {
  const keystore = join(folder, "keystore.pem");
  const [key, certificate] = ["valid.key", "valid.pem"].map((name) =>
    readFileSync(join(CERTIFICATES, name), "utf8"),
  );
  writeFileSync(keystore, `${key}${certificate}`);
  const listeners: readonly Listener[] = ["plain", "sasl", "tls", "sasltls", "hidden"];
  const advertised = (name: Listener) => (name === "hidden" ? "192.0.2.1:9092" : addressOf(name));
  const login = `org.apache.kafka.common.security.plain.PlainLoginModule required user_sluice="${PASSWORD}";`;
  const scram = "org.apache.kafka.common.security.scram.ScramLoginModule required;";
  const signIn = (name: string) => ({
    [`listener.name.${name}.sasl.enabled.mechanisms`]: "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
    [`listener.name.${name}.plain.sasl.jaas.config`]: login,
    [`listener.name.${name}.scram-sha-256.sasl.jaas.config`]: scram,
    [`listener.name.${name}.scram-sha-512.sasl.jaas.config`]: scram,
  });
  const encryption = (name: string) => ({
    [`listener.name.${name}.ssl.keystore.type`]: "PEM",
    [`listener.name.${name}.ssl.keystore.location`]: keystore,
  });
  return {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.quorum.voters": `1@${addressOf("controller")}`,
    "controller.listener.names": "CONTROLLER",
    "inter.broker.listener.name": "PLAIN",
    listeners: [...listeners, "controller" as const]
      .map((name) => `${name.toUpperCase()}://${addressOf(name)}`)
      .join(),
    "advertised.listeners": listeners.map((name) => `${name.toUpperCase()}://${advertised(name)}`).join(),
    "listener.security.protocol.map":
      "PLAIN:PLAINTEXT,SASL:SASL_PLAINTEXT,TLS:SSL,SASLTLS:SASL_SSL,HIDDEN:PLAINTEXT,CONTROLLER:PLAINTEXT",
    ...signIn("sasl"),
    ...signIn("sasltls"),
    ...encryption("tls"),
    ...encryption("sasltls"),
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
    "allow.everyone.if.no.acl.found": "true",
    "log.dirs": join(folder, "data"),
    "auto.create.topics.enable": "false",
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
    "log.cleaner.dedupe.buffer.size": "2097152",
  };
}

async function readAll(client: kafkajs.Kafka, topic: string): Promise<readonly ReadRecord[]> {
  const admin = client.admin();
  await admin.connect();
  const ends = await offsetsOf(admin, topic);
  await admin.disconnect();
  const wanted = ends.reduce((sum, { low, high }) => sum + Number(high) - Number(low), 0);
  const records: ReadRecord[] = [];
  if (wanted === 0) return records;
  const consumer = client.consumer({ groupId: `test-${crypto.randomUUID()}`, maxWaitTimeInMs: 50 });
  await consumer.connect();
  await consumer.subscribe({ topic, fromBeginning: true });
  const complete = Promise.withResolvers<void>();
  await consumer.run({
    eachMessage: async ({ partition, message: { key, value, headers = {}, offset, timestamp } }) => {
      records.push({
        partition,
        offset: Number(offset),
        key: key?.toString(),
        value: JSON.parse(String(value)),
        headers: Object.fromEntries(Object.entries(headers).map(([name, text]) => [name, String(text)])),
        timestamp: Number(timestamp),
      });
      if (records.length >= wanted) complete.resolve();
    },
  });
  await complete.promise;
  await consumer.disconnect();
  return records.sort((one, other) => one.partition - other.partition || one.offset - other.offset);
}

/** A partition of a new topic, or of a broker that has just started, has no leader for a moment. */
async function offsetsOf(
  admin: kafkajs.Admin,
  topic: string,
): ReturnType<kafkajs.Admin["fetchTopicOffsets"]> {
  for (;;) {
    try {
      return await admin.fetchTopicOffsets(topic);
    } catch (error) {
      if ((error as kafkajs.KafkaJSError).retriable !== true) throw error;
    }
  }
}

export function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const free = createServer().listen(0, "127.0.0.1", () => {
      const { port } = free.address() as { port: number };
      free.close(() => resolve(port));
    });
  });
}
