// What the packages of destinations cost beside the client alone, with the same batches of 10,000 messages:
//
// - PostgreSQL: rows a second, and CPU a message of this process. The floor inserts the same rows, which are in JSON already.
// - S3: CPU a message of this process beside compression. The floor compresses the same lines.
//
//   node --import ./scripts/source-loader.mjs bench/collector/destinations.bench.mjs [rounds]
import { fork } from "node:child_process";
import { once } from "node:events";
import { connect as connectPlain } from "node:net";
import { promisify } from "node:util";
import { gzip } from "node:zlib";

import { median, reportFigures, reportSkipped } from "../figures.mjs";

/** No dependencies of the benches: their sources. */
const packaged = (path) => import(new URL(`../../packages/${path}`, import.meta.url).href);
const [{ default: postgres }, { connected }, { creation, insertion, rowsOf }] = await Promise.all(
  ["index", "connection", "table"].map((name) => packaged(`destination-postgres/src/${name}.ts`)),
);
const { IS_INSTALLED, PASSWORD, postgresServer } = await packaged(
  "destination-postgres/test/postgres-server.ts",
);
const { default: s3 } = await packaged("destination-s3/src/index.ts");

const ROUNDS = Number(process.argv[2] ?? 8);
const MESSAGES = 10_000;
let made = 0;

/** Messages of about 600 bytes, each time others. */
function batch() {
  return Array.from({ length: MESSAGES }, () => {
    const id = `m-${made++}-0123456789abcdef`;
    const timestamp = "2026-01-02T03:04:05.678Z";
    const payload = {
      version: 1,
      type: "track",
      userId: `user-${made % 1_000}`,
      event: "Order Completed",
      properties: { total: 19.99, order: made, plan: "pro", items: ["a", "b", "c"], note: "x".repeat(200) },
      timestamp,
      messageId: id,
      anonymousId: `a-${made % 1_000}`,
      context: { library: { name: "@sluice/node", version: "0.1.0" }, ip: "192.0.2.1", locale: "en-GB" },
    };
    return { id, sourceId: "src_1", timestamp, position: made, receivedAtMs: Date.parse(timestamp), payload };
  });
}

async function measured(run) {
  globalThis.gc?.();
  const cpu = process.cpuUsage();
  const began = performance.now();
  await run();
  const { user, system } = process.cpuUsage(cpu);
  return { ms: performance.now() - began, cpuUs: (user + system) / MESSAGES };
}

const connect = async ({ host, port }) => {
  const socket = connectPlain({ host, port });
  await once(socket, "connect");
  return socket;
};

async function opened({ definition }, settings) {
  return await definition.open(settings, { connect, now: Date.now, log() {} });
}

async function delivered(open, messages) {
  const attempt = { number: 1, isLast: false, signal: new AbortController().signal };
  const result = await open.deliverBatch(
    {
      range: { from: messages[0]?.position, to: messages.at(-1)?.position },
      id: String(messages[0]?.position),
      messages,
    },
    attempt,
  );
  if (result.kind !== "delivered") throw new Error(JSON.stringify(result));
}

/** By turns, so that a busy machine disturbs both alike. The first round is left out. */
async function byTurns(ours, floor) {
  const rounds = [];
  for (let round = 0; round <= ROUNDS; round++)
    rounds.push(
      round % 2 === 0
        ? { ours: await ours(), floor: await floor() }
        : { floor: await floor(), ours: await ours() },
    );
  const of = (side, what) => median(rounds.slice(1).map((one) => one[side][what]));
  const ratio = median(rounds.slice(1).map((one) => one.floor.ms / one.ours.ms));
  return { of, ratio };
}

async function measurePostgres() {
  await using server = await postgresServer();
  const login = {
    host: "127.0.0.1",
    port: server.port,
    database: "postgres",
    user: "postgres",
    password: PASSWORD,
  };
  const settings = {
    ...login,
    ...{ security: "none", schema: "public", table: "ours", maxAgeSeconds: 1 },
  };
  const open = await opened(postgres, settings);
  const floor = { schema: "public", table: "floor" };
  const client = await connected(settings, connect, new AbortController().signal);
  await client.query(creation(floor).join("; "));
  const { of, ratio } = await byTurns(
    async () => {
      const messages = batch();
      return measured(() => delivered(open, messages));
    },
    async () => {
      const rows = rowsOf(batch());
      return measured(() => client.query({ name: "floor", text: insertion(floor), values: [rows] }));
    },
  );
  await client.end();
  await open.close?.();
  const rate = (side) => (MESSAGES / of(side, "ms")) * 1_000;
  const peerName = "the client alone";
  reportFigures([
    { name: "into PostgreSQL", unit: "messages/s", ours: rate("ours"), peer: rate("floor"), peerName },
    {
      name: "into PostgreSQL",
      unit: "µs CPU/message",
      ours: of("ours", "cpuUs"),
      peer: of("floor", "cpuUs"),
      peerName,
    },
  ]);
  console.log(
    `PostgreSQL: ${Math.round(rate("ours"))} messages/s, the client alone ${Math.round(rate("floor"))}: ${ratio.toFixed(2)}; ` +
      `CPU ${of("ours", "cpuUs").toFixed(2)} µs a message, the client alone ${of("floor", "cpuUs").toFixed(2)} µs`,
  );
}

async function measureS3() {
  const server = fork(new URL("./object-server.mjs", import.meta.url));
  const [port] = await once(server, "message");
  const endpoint = `http://127.0.0.1:${port}`;
  const keys = { accessKeyId: "AKIA", secretAccessKey: "secret", credentials: "settings" };
  const format = { format: "jsonl", compression: "gzip" };
  const settings = {
    bucket: "b",
    region: "us-east-1",
    prefix: "sluice",
    endpoint,
    maxAgeSeconds: 1,
    ...keys,
    ...format,
  };
  const open = await opened(s3, settings);
  const { of } = await byTurns(
    async () => {
      const messages = batch();
      return measured(() => delivered(open, messages));
    },
    async () => {
      const lines = Buffer.from(
        `${batch()
          .map(({ payload }) => JSON.stringify(payload))
          .join("\n")}\n`,
      );
      return measured(() => promisify(gzip)(lines, { level: 6 }));
    },
  );
  await open.close?.();
  server.kill();
  const beside = of("ours", "cpuUs") - of("floor", "cpuUs");
  reportFigures([{ name: "into S3, beside compression", unit: "µs CPU/message", ours: beside }]);
  console.log(
    `S3: CPU ${of("ours", "cpuUs").toFixed(2)} µs a message, compression alone ${of("floor", "cpuUs").toFixed(2)} µs: ${beside.toFixed(2)} µs beside it`,
  );
}

if (IS_INSTALLED) {
  await measureS3();
  await measurePostgres();
} else reportSkipped("PostgreSQL is not installed");
