// The packages of destinations on real servers, each with what its client does alone.
import { fork } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import { connect as connectPlain } from "node:net";
import { promisify } from "node:util";
import { gzip } from "node:zlib";

/** No dependencies of the benches: their sources. */
const packaged = (path) => import(new URL(`../../packages/${path}.ts`, import.meta.url).href);
const [postgresServers, clickhouseServers, kafkaServers, natsServers] = await Promise.all(
  ["postgres/test/postgres", "clickhouse/test/clickhouse", "kafka/test/kafka", "nats/test/jetstream"].map(
    (path) => packaged(`destination-${path}-server`),
  ),
);

/** A dependency of a package. */
const ofPackage = (type, name) =>
  createRequire(new URL(`../../packages/destination-${type}/package.json`, import.meta.url))(name);

const connect = async ({ host, port }) => {
  const socket = connectPlain({ host, port });
  await once(socket, "connect");
  return socket;
};

async function opened(type, settings) {
  const { default: destination } = await packaged(`destination-${type}/src/index`);
  return await destination.definition.open(settings, { connect, now: Date.now, log() {} });
}

/**
 * For each type: `start` opens the destination, and the floor for the same server. `prepare` makes of messages what the floor's `send`
 * sends, and is not measured.
 */
export const DESTINATIONS = {
  s3: { name: "S3", isInstalled: true, start: startS3, floorName: "compression alone" },
  postgres: { name: "PostgreSQL", isInstalled: postgresServers.IS_INSTALLED, start: startPostgres },
  clickhouse: { name: "ClickHouse", isInstalled: clickhouseServers.IS_INSTALLED, start: startClickHouse },
  kafka: { name: "Kafka", isInstalled: kafkaServers.IS_INSTALLED, start: startKafka },
  nats: { name: "NATS", isInstalled: natsServers.MISSING === undefined, start: startNats },
};

async function startS3() {
  const server = fork(new URL("./object-server.mjs", import.meta.url));
  const [port] = await once(server, "message");
  const open = await opened("s3", {
    ...{ bucket: "b", region: "us-east-1", prefix: "sluice", endpoint: `http://127.0.0.1:${port}` },
    ...{ accessKeyId: "AKIA", secretAccessKey: "secret", credentials: "settings" },
    ...{ format: "jsonl", compression: "gzip" },
  });
  return {
    open,
    prepare: (messages) =>
      Buffer.from(messages.map(({ payload }) => `${JSON.stringify(payload)}\n`).join("")),
    send: (lines) => promisify(gzip)(lines, { level: 6 }),
    async [Symbol.asyncDispose]() {
      await open.close();
      server.kill();
    },
  };
}

async function startPostgres() {
  const { PASSWORD, postgresServer } = postgresServers;
  const [{ connected }, { creation, insertion, rowsOf }] = await Promise.all(
    ["connection", "table"].map((name) => packaged(`destination-postgres/src/${name}`)),
  );
  const server = await postgresServer();
  const settings = {
    ...{ host: "127.0.0.1", port: server.port, database: "postgres", user: "postgres", password: PASSWORD },
    ...{ security: "none", schema: "public", table: "ours" },
  };
  const open = await opened("postgres", settings);
  const floor = { schema: "public", table: "floor" };
  const client = await connected(settings, connect, new AbortController().signal);
  await client.query(creation(floor).join("; "));
  return {
    open,
    prepare: rowsOf,
    send: (rows) => client.query({ name: "floor", text: insertion(floor), values: [rows] }),
    async [Symbol.asyncDispose]() {
      await client.end();
      await open.close();
      await server[Symbol.asyncDispose]();
    },
  };
}

async function startClickHouse() {
  const { PASSWORD, clickHouseServer } = clickhouseServers;
  const { creation, insertion } = await packaged("destination-clickhouse/src/table");
  const server = await clickHouseServer();
  const settings = {
    url: server.url,
    database: "default",
    table: "ours",
    user: "default",
    password: PASSWORD,
  };
  const open = await opened("clickhouse", settings);
  const floor = { database: "default", table: "floor" };
  await server.query(creation(floor));
  return {
    open,
    prepare: (messages) => insertion(floor, messages),
    send: (statement) => server.query(statement),
    async [Symbol.asyncDispose]() {
      await open.close();
      await server[Symbol.asyncDispose]();
    },
  };
}

async function startKafka() {
  const { kafkaServer } = kafkaServers;
  const { recordOf } = await packaged("destination-kafka/src/records");
  const kafkajs = ofPackage("kafka", "kafkajs");
  const server = await kafkaServer();
  await server.createTopic("ours");
  await server.createTopic("floor");
  const settings = { brokers: server.brokers.plain, topic: "ours", security: "none", mechanism: "none" };
  const open = await opened("kafka", { ...settings, compression: "gzip" });
  const client = new kafkajs.Kafka({ brokers: [server.brokers.plain], logCreator: () => () => {} });
  const producer = client.producer({ createPartitioner: kafkajs.Partitioners.DefaultPartitioner });
  await producer.connect();
  return {
    open,
    prepare: (messages) => messages.map(recordOf),
    send: (messages) =>
      producer.send({ topic: "floor", messages, acks: -1, compression: kafkajs.CompressionTypes.GZIP }),
    async [Symbol.asyncDispose]() {
      await producer.disconnect();
      await open.close();
      await server[Symbol.asyncDispose]();
    },
  };
}

async function startNats() {
  const { jetStreamServer, PASSWORD } = natsServers;
  const { connected } = await packaged("destination-nats/src/publish");
  const { headers } = ofPackage("nats", "@nats-io/transport-node");
  const server = await jetStreamServer();
  for (const name of ["ours", "floor"]) await server.createStream(name, name);
  const login = {
    servers: server.address,
    security: "none",
    signIn: "user",
    user: "sluice",
    password: PASSWORD,
  };
  const open = await opened("nats", { ...login, prefix: "ours" });
  const client = await connected(login, connect, new AbortController().signal);
  return {
    open,
    prepare: (messages) =>
      messages.map(({ id, payload }) => {
        const head = headers();
        head.set("Nats-Msg-Id", `src_1/${id}`);
        for (const name of ["message-id", "source-id", "type"]) head.set(name, id);
        return [JSON.stringify(payload), { headers: head, timeout: 15_000 }];
      }),
    async send(requests) {
      for (let from = 0; from < requests.length; from += 500) {
        const some = requests.slice(from, from + 500);
        await Promise.all(some.map((request) => client.request("floor.src_1.track", ...request)));
      }
    },
    async [Symbol.asyncDispose]() {
      await client.close();
      await open.close();
      await server[Symbol.asyncDispose]();
    },
  };
}
