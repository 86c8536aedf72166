/**
 * Compares the store alone with its floor: the same batches, appended to a file with a grouped fdatasync.
 *
 *   node --import ./scripts/source-loader.mjs bench/collector/store.bench.ts [--prefill 10000000] [--folder DIR [--fill-only]]
 *
 * Each load keeps `inFlight` requests waiting, like that many HTTP connections. Prints one line per measurement: messages/s, CPU of the
 * whole process per message, p50 and p99 of an append; then the size on disk, and the time to open the store again.
 * `--prefill N` stores N messages first, to measure a store that is not empty. `--folder` keeps the store there. `--fill-only` measures
 * nothing, so that filling and measuring can be done at different times.
 */
import { mkdir, mkdtemp, open as openFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { MessageQuery, NewBatch, Settlement, Store } from "@sluice/event-log";
import { BEFORE_FIRST, offsetAt, openSqliteStore } from "@sluice/event-log";
import { systemClock } from "@sluice/resilience";

const MESSAGE_BYTES = 600;
const { values: args } = parseArgs({
  options: {
    prefill: { type: "string", default: "0" },
    folder: { type: "string" },
    "fill-only": { type: "boolean", default: false },
  },
});
const prefill = Number(args.prefill);
const seconds = Number(process.env.BENCH_SECONDS ?? 4);

// Ids differ from those of other runs in the same folder.
let nextId = Math.floor(performance.timeOrigin / 1000) * 1_000_000;
const encoder = new TextEncoder();
const users = Array.from({ length: 50_000 }, (_, i) => `user-${i}-${(i * 2654435761).toString(36)}`);
const events = ["Order Completed", "Product Viewed", "Signed Up", "Cart Updated", "Page Scrolled"];

/** A request's batch as ingestion hands it over. Bodies are made once per size; ids and users differ, as in reality. */
function batchMaker(size: number): () => NewBatch {
  const filler = "x".repeat(MESSAGE_BYTES - 130);
  const item = `{"type":"track","event":"Order Completed","messageId":"00000000-0000-4000-8000-000000000000","userId":"user-00000","p":"${filler}"}`;
  const body = encoder.encode(size === 1 ? item : `{"batch":[${Array(size).fill(item).join(",")}]}`);
  return () => ({
    sourceId: "src_bench",
    receivedAtMs: Date.now(),
    body,
    itemCount: size,
    skipped: [],
    madeIds: [],
    keys: Array.from({ length: size }, (_, index) => {
      const id = nextId++;
      return {
        index,
        messageId: `${(id * 2654435761).toString(16).padStart(16, "0")}-4000-8000-${id.toString(16).padStart(12, "0")}`,
        userId: users[id % users.length] ?? "",
        type: "track",
        event: events[id % events.length] ?? "",
      };
    }),
  });
}

/** A message to search for at the end, after all others. */
function theOldest(): NewBatch {
  const message = { type: "track", event: "Its Event", messageId: "the-oldest", userId: "its-user" };
  return {
    sourceId: "src_bench",
    receivedAtMs: Date.now(),
    body: encoder.encode(JSON.stringify(message)),
    itemCount: 1,
    skipped: [],
    madeIds: [],
    keys: [{ index: 0, ...message }],
  };
}

interface Figures {
  readonly perSecond: number;
  readonly cpuUs: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly worstMs: number;
}

async function load(
  size: number,
  inFlight: number,
  forMs: number,
  append: (batch: NewBatch) => Promise<unknown>,
): Promise<Figures> {
  const make = batchMaker(size);
  const latencies: number[] = [];
  let messages = 0;
  const cpuBefore = process.cpuUsage();
  const begun = performance.now();
  const until = begun + forMs;
  const connection = async (): Promise<void> => {
    while (performance.now() < until) {
      const asked = performance.now();
      await append(make());
      latencies.push(performance.now() - asked);
      messages += size;
    }
  };
  await Promise.all(Array.from({ length: inFlight }, connection));
  const tookMs = performance.now() - begun;
  const cpu = process.cpuUsage(cpuBefore);
  latencies.sort((a, b) => a - b);
  const at = (share: number): number =>
    latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * share))] ?? 0;
  return {
    perSecond: (messages / tookMs) * 1000,
    cpuUs: (cpu.user + cpu.system) / messages,
    p50Ms: at(0.5),
    p99Ms: at(0.99),
    worstMs: latencies.at(-1) ?? 0,
  };
}

/** The floor: batches that arrive during one fdatasync are written together before the next. */
async function floor(
  directory: string,
): Promise<{ append: (batch: NewBatch) => Promise<void>; close: () => Promise<void> }> {
  const file = await openFile(join(directory, "floor.log"), "w");
  let waiting: { body: Uint8Array; done: () => void }[] = [];
  let isBusy = false;
  const run = async (): Promise<void> => {
    isBusy = true;
    while (waiting.length > 0) {
      const group = waiting;
      waiting = [];
      await file.writev(group.map(({ body }) => body));
      await file.datasync();
      for (const { done } of group) done();
    }
    isBusy = false;
  };
  return {
    append: ({ body }) =>
      new Promise<void>((done) => {
        waiting.push({ body, done });
        if (!isBusy) void run();
      }),
    close: () => file.close(),
  };
}

function show(name: string, { perSecond, cpuUs, p50Ms, p99Ms, worstMs }: Figures): void {
  const columns = [
    name.padEnd(44),
    `${Math.round(perSecond).toLocaleString("en")}/s`.padStart(12),
    `${cpuUs.toFixed(2)} µs`.padStart(10),
    `p50 ${p50Ms.toFixed(2)} ms`.padStart(15),
    `p99 ${p99Ms.toFixed(2)} ms`.padStart(16),
    `worst ${worstMs.toFixed(0)} ms`.padStart(14),
  ];
  console.log(columns.join(""));
}

async function settleAll(store: Store, seconds: number): Promise<void> {
  let { cursor } = await store.consumers.open("dst_bench", BEFORE_FIRST);
  let messages = 0;
  const cpuBefore = process.cpuUsage();
  const begun = performance.now();
  while (performance.now() - begun < seconds * 1000 && cursor < store.log.head()) {
    const batches = await store.log.read(cursor, { messages: 1000, bytes: 1 << 20 });
    const atMs = Date.now();
    const outcomes: Settlement["outcomes"][number][] = [];
    const attempts: Settlement["attempts"][number][] = [];
    for (const batch of batches) {
      for (let index = 0; index < batch.itemCount; index++) {
        const offset = offsetAt(batch.first, index);
        if (offset <= cursor) continue;
        // Only the oldest fails, so that a search by outcome has to find it.
        outcomes.push({ offset, state: offset === 0 ? "failed" : "delivered", reason: "200", atMs });
        attempts.push({
          offset,
          attempt: 1,
          atMs: atMs + (index % 7),
          url: "https://hooks.example.com/sluice",
          address: "203.0.113.7",
          status: 200,
          latencyMs: 12 + (offset % 37) / 3,
          response: "ok",
        });
      }
    }
    const last = outcomes.at(-1);
    if (last === undefined) break;
    cursor = last.offset;
    messages += outcomes.length;
    await store.consumers.settle("dst_bench", { cursor, outcomes, attempts, retries: [] });
  }
  const tookMs = performance.now() - begun;
  const cpu = process.cpuUsage(cpuBefore);
  console.log(
    `read and settled, with attempts`.padEnd(44),
    `${Math.round((messages / tookMs) * 1000).toLocaleString("en")}/s`.padStart(11),
    `${((cpu.user + cpu.system) / messages).toFixed(2)} µs`.padStart(9),
  );
}

/** Appends until the store holds the requested number of messages. */
async function fill(store: Store): Promise<void> {
  const make = batchMaker(100);
  const begun = performance.now();
  const connection = async (): Promise<void> => {
    while (store.stats().messages < prefill) await store.log.append(make());
  };
  await Promise.all(Array.from({ length: 16 }, connection));
  const took = (performance.now() - begun) / 1000;
  console.log(`filled up to ${store.stats().messages.toLocaleString("en")} in ${took.toFixed(0)} s`);
}

async function measureFloor(): Promise<void> {
  const raw = await floor(directory);
  show("floor: batches of 100, 32 in flight", await load(100, 32, seconds * 1000, raw.append));
  show("floor: single messages, 64 in flight", await load(1, 64, seconds * 1000, raw.append));
  await raw.close();
  await rm(join(directory, "floor.log"));
}

async function measureAppends(store: Store): Promise<void> {
  const append = store.log.append.bind(store.log);
  // Not measured: a store that was just opened still reads from disk what is later in memory.
  await load(100, 32, 1_000, append);
  show("store: batches of 100, 32 in flight", await load(100, 32, seconds * 1000, append));
  show("store: single messages, 64 in flight", await load(1, 64, seconds * 1000, append));
  show("store: batches of 100, 1 in flight", await load(100, 1, 1000, append));
}

async function measureSearch(store: Store): Promise<void> {
  const queries: MessageQuery[] = [
    { messageId: "the-oldest" },
    { userId: "its-user" },
    { event: "Its Event" },
    { outcome: "failed" },
  ];
  for (const query of queries) {
    const finding = performance.now();
    const { items } = await store.log.find(query, { limit: 20 });
    const tookMs = performance.now() - finding;
    console.log(
      `the oldest message, by ${Object.keys(query)[0]}: ${tookMs.toFixed(1)} ms (found ${items.length})`,
    );
  }
}

const directory = args.folder ?? (await mkdtemp(join(tmpdir(), "sluice-store-bench-")));
try {
  await mkdir(directory, { recursive: true });
  if (!args["fill-only"]) await measureFloor();

  const data = join(directory, "data");
  let store = await openSqliteStore({ directory: data, clock: systemClock });
  await store.log.append(theOldest());
  await fill(store);
  if (!args["fill-only"]) {
    await measureAppends(store);
    await settleAll(store, seconds);
    const { messages } = store.stats();
    await store.close();

    const opening = performance.now();
    store = await openSqliteStore({ directory: data, clock: systemClock });
    const openedMs = performance.now() - opening;
    await store.log.append(batchMaker(1)());
    console.log(
      `opened again with ${messages.toLocaleString("en")} messages: ${openedMs.toFixed(0)} ms; first append after ${(performance.now() - opening).toFixed(0)} ms`,
    );
    await measureSearch(store);
    const { bytes } = store.stats();
    console.log(`on disk: ${(bytes / messages).toFixed(0)} bytes a message of ${MESSAGE_BYTES} bytes`);
  }
  await store.close();
} finally {
  if (args.folder === undefined) await rm(directory, { recursive: true, force: true });
}
