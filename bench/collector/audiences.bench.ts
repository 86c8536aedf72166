/**
 * The audience engine alone, on its SQLite file: 100 audiences of 5 conditions, and any number of profiles.
 *
 *   node --import ./scripts/source-loader.mjs bench/collector/audiences.bench.ts [--profiles 1000000]
 *
 * Prints one line per measurement: messages/s while profiles are created, for random users of all, and for users of whom a few
 * thousand are active; then the time to evaluate a new audience for all users, for a preview and for why, and the size in memory and
 * on disk.
 */
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AudienceEngine } from "@sluice/audiences";
import type { UnitResult } from "@sluice/audiences/testing";
import type { Offset, StoredBatch } from "@sluice/event-log";
import { openSqliteProfileStore } from "@sluice/event-log";
import { reportFigures } from "../figures.mjs";
import { definitions, identify, sequence, track } from "./audience-definitions.js";

const profiles = Number(process.argv[process.argv.indexOf("--profiles") + 1]) || 1_000_000;
const events = Math.min(200_000, profiles);
const BATCH = 100;
const BATCHES_A_STEP = 40;

const directory = await mkdtemp(join(tmpdir(), "sluice-bench-"));
const engine = new AudienceEngine(openSqliteProfileStore({ directory }));
const random = sequence(7);
let next = 0;
let owed = 0;

function batchOf(messages: readonly object[]): StoredBatch {
  const first = next as Offset;
  next += messages.length;
  const withIds = messages.map((message, index) => ({ ...message, messageId: `m${first + index}` }));
  return {
    sourceId: "src_bench",
    receivedAtMs: Date.now(),
    body: Buffer.from(JSON.stringify({ batch: withIds })),
    itemCount: messages.length,
    skipped: [],
    madeIds: [],
    first,
  };
}

function take(result: UnitResult): UnitResult["status"] {
  owed += result.pending.length;
  const last = result.pending.at(-1);
  if (last !== undefined) engine.markPublished(last.seq);
  return result.status;
}

/** Feeds messages and returns how many per second the engine processed. Creating the messages does not count. */
async function feed(name: string, count: number, make: (at: number) => object): Promise<void> {
  let tookMs = 0;
  const owedBefore = owed;
  for (let at = 0; at < count; ) {
    const batches: StoredBatch[] = [];
    for (; batches.length < BATCHES_A_STEP && at < count; at += BATCH)
      batches.push(
        batchOf(Array.from({ length: Math.min(BATCH, count - at) }, (_, index) => make(at + index))),
      );
    const startedMs = performance.now();
    take(await engine.consume(batches, Date.now()));
    tookMs += performance.now() - startedMs;
  }
  report(name, { "messages/s": Math.round((count / tookMs) * 1_000), changes: owed - owedBefore });
}

function report(name: string, figures: Readonly<Record<string, number | string>>): void {
  reportFigures(Object.entries(figures).map(([unit, value]) => ({ name, unit, ours: Number(value) })));
  const text = Object.entries(figures).map(([figure, value]) => `${figure} ${value}`);
  process.stdout.write(`${name.padEnd(44)} ${text.join("  ")}\n`);
}

const HUNDRED = definitions(100, ["dst"]);
try {
  take(await engine.define(HUNDRED, Date.now(), "bench"));
  await feed(`${profiles} profiles made`, profiles, (user) => identify(user, random));
  await feed("track, users at random among all", events, () => track(random(profiles), random));
  await feed("track, 5,000 users active", events, () => track(random(5_000), random));

  const condition = { kind: "trait", trait: "seats", is: "greater", value: 30 } as const;
  const extra = definitions(101, ["dst"]).slice(100);
  const one = extra.map((definition) => ({
    ...definition,
    document: { ...definition.document, condition },
  })) as typeof HUNDRED;
  let startedMs = performance.now();
  let status = take(await engine.define([...HUNDRED, ...one], Date.now(), "bench"));
  const before = owed;
  while (status.hasWork) status = take(await engine.work(Date.now()));
  const syncMs = performance.now() - startedMs;
  const members = owed - before;
  report(`a new audience over ${profiles} profiles`, {
    s: (syncMs / 1_000).toFixed(1),
    members,
    "members/s": Math.round((members / syncMs) * 1_000),
  });

  startedMs = performance.now();
  const { preview } = await engine.previewBegin({ kind: "audience", condition }, Date.now());
  let found: Awaited<ReturnType<typeof engine.previewScan>>;
  do found = await engine.previewScan(preview);
  while (found === undefined);
  report("a preview without history", {
    s: ((performance.now() - startedMs) / 1_000).toFixed(1),
    size: found.size,
  });

  startedMs = performance.now();
  for (let user = 0; user < 1_000; user++) await engine.why("aud_1", `user-${random(profiles)}`, Date.now());
  report("why", { ms: ((performance.now() - startedMs) / 1_000).toFixed(2) });

  const { size } = await stat(join(directory, "profiles.db"));
  report("memory and disk", {
    "resident MB": Math.round(process.memoryUsage.rss() / 2 ** 20),
    "file MB": Math.round(size / 2 ** 20),
  });
} finally {
  await engine.close();
  await rm(directory, { recursive: true });
}
