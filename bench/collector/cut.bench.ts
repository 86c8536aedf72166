/**
 * What a message of a spread source costs the process that cuts its batch, compared with parsing and writing the parts again, and with the
 * scan of ingestion. Prints ns a message: the median of 5 rounds of `BENCH_SECONDS` (1 by default) each.
 *
 *   node --import ./scripts/source-loader.mjs bench/collector/cut.bench.ts
 */
import { scanRequest, userHash } from "@sluice/event-log";
// @boundaries-ignore measures a part that the collector does not export
import { cutBatch } from "../../apps/collector/src/cluster/gateway/spread/cut-batch.js";
// @boundaries-ignore measures a part that the collector does not export
import { usersOfBatch } from "../../apps/collector/src/cluster/gateway/spread/find-users.js";
import { makeBatch } from "./delivery-message.mjs";

const SEED = userHash("src_bench", 0);
const PARTITIONS = [0, 1, 2, 3];
const MESSAGES = 100;
const ROUNDS = 5;
const roundMs = Number(process.env.BENCH_SECONDS ?? 1) * 1_000;

interface Message {
  readonly userId?: string;
  readonly anonymousId?: string;
}

const batches = Array.from({ length: 50 }, (_, at) =>
  Buffer.from(
    JSON.stringify({ batch: makeBatch(at * MESSAGES, MESSAGES, undefined), sentAt: "2026-11-23T12:00:00Z" }),
  ),
);
/** Escapes in keys of the envelope make the scan give up. */
const irregular = batches.map((body) => Buffer.from(body.toString().replace('"batch"', '"b\\u0061tch"')));

function cut(body: Buffer): number {
  const found = usersOfBatch(body, SEED, async () => {});
  if (found instanceof Promise || found === undefined) throw new Error("the scan gave up");
  return cutBatch(body, found, PARTITIONS).length;
}

function parseAndWrite(body: Buffer): number {
  const { batch, ...around } = JSON.parse(body.toString()) as { batch: Message[] };
  const parts: Message[][] = PARTITIONS.map(() => []);
  for (const message of batch)
    parts[userHash(message.userId ?? message.anonymousId ?? "", SEED) % PARTITIONS.length]?.push(message);
  return parts
    .map((part) => Buffer.from(JSON.stringify({ ...around, batch: part })))
    .reduce((sum, { length }) => sum + length, 0);
}

async function cutByParsing(body: Buffer): Promise<number> {
  const found = await usersOfBatch(body, SEED, async () => {});
  return found === undefined ? 0 : cutBatch(body, found, PARTITIONS).length;
}

async function measure(name: string, bodies: readonly Buffer[], run: (body: Buffer) => unknown) {
  const rounds: number[] = [];
  for (let round = 0; round <= ROUNDS; round++) {
    const before = process.cpuUsage();
    const endMs = performance.now() + roundMs;
    let messages = 0;
    while (performance.now() < endMs) {
      for (const body of bodies) {
        const result = run(body);
        if (result instanceof Promise) await result;
        messages += MESSAGES;
      }
    }
    const { user, system } = process.cpuUsage(before);
    // The first one warms up.
    if (round > 0) rounds.push(((user + system) * 1_000) / messages);
  }
  const median = rounds.sort((one, other) => one - other)[Math.floor(ROUNDS / 2)] as number;
  process.stdout.write(`${name.padEnd(34)} ${Math.round(median)} ns of CPU a message\n`);
}

const bytes = batches.reduce((sum, { length }) => sum + length, 0) / batches.length / MESSAGES;
process.stdout.write(`${MESSAGES} messages a batch, ${Math.round(bytes)} bytes each\n`);
await measure("cut by the bytes", batches, cut);
await measure("scan of ingestion", batches, (body) => scanRequest(body, undefined));
await measure("JSON.parse and JSON.stringify", batches, parseAndWrite);
await measure("cut after parsing (irregular)", irregular, cutByParsing);
