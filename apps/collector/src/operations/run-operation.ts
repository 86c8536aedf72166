import type { Offset } from "@sluice/event-log";
import { formatTime } from "@sluice/protocol";
import { fullBucket, refill, type TokenBucket, type TokenBucketRate, takeTokens } from "@sluice/resilience";
import type { LiveEvents } from "../process/telemetry/live-events.js";
import type { Logger } from "../process/telemetry/logger.js";
import { type ApplyParts, applyOperation } from "./apply-operation.js";
import {
  ended,
  OPERATION,
  OPERATION_PAGE,
  type Operation,
  type OperationDocument,
  type OperationPage,
  withResult,
} from "./operation.js";
import { type Selection, selectDeliveries } from "./select-deliveries.js";
import { deliveryOf, type WaitingResults, waitingResults } from "./waiting-results.js";

export interface RunParts extends ApplyParts {
  readonly live: Pick<LiveEvents, "subscribe">;
  readonly logger: Logger;
  /** Aborted when the collector stops: the next start goes on. */
  readonly signal: AbortSignal;
  /** Whether somebody cancelled the operation. */
  readonly isCancelled: () => boolean;
  /** Called with each stored state. */
  readonly onChange: (operation: Operation) => void;
}

/** Deliveries on a page. */
const PAGE = 2_000;
/** Pause between two batches. */
const TICK_MS = 250;
const DISCARD_PAUSE_MS = 20;
/** Deliveries without a result yet, at most: an operation goes no faster than its destinations. */
const MAX_WAITING = 500;
/** How often deliveries without a result are looked up. */
const LOOK_UP_EVERY_MS = 5_000;
/** Discarding sends nothing, so it needs no pace but this. */
const DISCARDED_AT_ONCE = 250;

/** A damaged database may lose a page. */
const LIST_LOST = "The rest of the list of its deliveries is missing. Start the operation again";

/** Selects the deliveries, then works through them. Stores each state before it acts on it. Rejects when the store fails. */
export async function runOperation(
  first: Operation,
  selections: readonly Selection[],
  chosen: ReadonlyMap<string, readonly Offset[]>,
  parts: RunParts,
): Promise<void> {
  const { clock, signal } = parts;
  let operation = first;
  const put = async (value: OperationDocument): Promise<void> => {
    operation = await parts.store.config.put(OPERATION, operation.id, value, operation.version);
    parts.onChange(operation);
  };
  if (operation.value.state === "selecting") {
    const selected = await select(operation, selections, chosen, parts);
    if (selected === undefined) {
      if (!parts.isCancelled()) return;
      await put(ended(operation.value, "cancelled", formatTime(clock.now())));
      await removePages(operation, parts);
      return;
    }
    await put({ ...operation.value, ...selected, state: "running", startedAt: formatTime(clock.now()) });
  }
  const waiting = waitingResults(parts.live, operation.value.waiting);
  try {
    const pages = pageReader(operation.id, parts);
    await work({ current: () => operation, put, waiting, pages, parts });
  } finally {
    waiting.close();
  }
  if (signal.aborted && operation.value.state === "running") return;
  await removePages(operation, parts);
}

/** Stores the pages of the selected deliveries. Undefined if it was stopped. */
async function select(
  { id }: Operation,
  selections: readonly Selection[],
  chosen: ReadonlyMap<string, readonly Offset[]>,
  parts: RunParts,
): Promise<Pick<OperationDocument, "pages" | "total"> | undefined> {
  let [pages, total] = [0, 0];
  const store = async (destinationId: string, offsets: readonly Offset[]): Promise<void> => {
    if (offsets.length === 0) return;
    await parts.store.config.put<OperationPage>(OPERATION_PAGE, `${id}.${pages}`, { destinationId, offsets });
    pages += 1;
    total += offsets.length;
  };
  for (const [destinationId, offsets] of chosen) await store(destinationId, offsets);
  for (const selection of selections) {
    let found: Offset[] = [];
    for await (const offsets of selectDeliveries(parts, selection)) {
      if (parts.signal.aborted || parts.isCancelled()) return undefined;
      for (const offset of offsets) found.push(offset);
      while (found.length >= PAGE) {
        await store(selection.destinationId, found.slice(0, PAGE));
        found = found.slice(PAGE);
      }
    }
    await store(selection.destinationId, found);
  }
  return { pages, total };
}

/** An operation at work. */
interface Work {
  readonly current: () => Operation;
  readonly put: (value: OperationDocument) => Promise<void>;
  readonly waiting: WaitingResults;
  readonly pages: ReturnType<typeof pageReader>;
  readonly parts: RunParts;
}

/** Starts deliveries at the operation's pace, and counts their results, until all are done or it is stopped. */
async function work(it: Work): Promise<void> {
  const { clock, signal, store, isCancelled } = it.parts;
  const rate = paceOf(it.current().value);
  let bucket = fullBucket(rate, clock.monotonic());
  let lookedUpAtMs = Number.NEGATIVE_INFINITY;
  let isListLost = false;
  await startInterrupted(it);
  while (!signal.aborted && !isCancelled() && !isDone(it) && !isListLost) {
    if (clock.monotonic() - lookedUpAtMs >= LOOK_UP_EVERY_MS) {
      await it.waiting.lookUp(store, clock.now());
      lookedUpAtMs = clock.monotonic();
    }
    bucket = refill(bucket, rate, clock.monotonic());
    const started = await step(it, bucket);
    isListLost = started === undefined;
    bucket = takeTokens(bucket, started ?? 0);
    const pauseMs = it.current().value.kind === "discard" ? DISCARD_PAUSE_MS : TICK_MS;
    if (!isDone(it)) await clock.sleep(pauseMs, signal).catch(() => {});
  }
  const value = counted(it.current().value, it.waiting);
  if (isDone(it)) await it.put(ended(value, "finished", formatTime(clock.now())));
  else if (isCancelled()) await it.put(ended(value, "cancelled", formatTime(clock.now())));
  else if (isListLost) await it.put(ended(value, "failed", formatTime(clock.now()), LIST_LOST));
  else await it.put(value);
}

function isDone({ current, waiting }: Work): boolean {
  const { taken, total } = current().value;
  return taken >= total && waiting.ids.length === 0;
}

/** Counts the results that came in, and starts the next batch. Resolves with its size; undefined if the rest of the list is gone. */
async function step(it: Work, bucket: TokenBucket): Promise<number | undefined> {
  const before = it.current().value;
  const value = counted(before, it.waiting);
  const isAllTaken = value.taken >= value.total;
  const room = roomFor(value, it.waiting.ids.length, bucket);
  const batch = isAllTaken ? NO_BATCH : await it.pages.batch(value.taken, room);
  if (batch === undefined) return undefined;
  if (batch.offsets.length > 0) await start(value, batch, it);
  else if (value !== before) await it.put(value);
  return batch.offsets.length;
}

/** The document with the results that came in. */
function counted(value: OperationDocument, waiting: WaitingResults): OperationDocument {
  let now = value;
  for (const { result, cause } of waiting.take().values()) now = withResult(now, result, { cause });
  return now === value ? value : { ...now, waiting: waiting.ids };
}

/** Deliveries to start in this tick. */
function roomFor({ kind }: OperationDocument, waiting: number, { tokens }: TokenBucket): number {
  if (kind === "discard") return DISCARDED_AT_ONCE;
  return Math.max(0, Math.min(MAX_WAITING - waiting, Math.floor(tokens)));
}

function paceOf({ kind, perSecond }: OperationDocument): TokenBucketRate {
  if (kind === "discard") return { perSecond: 0, capacity: 0 };
  return { perSecond, capacity: Math.max(1, (perSecond * TICK_MS) / 1_000) };
}

interface Batch {
  readonly destinationId: string;
  readonly offsets: readonly Offset[];
}

const NO_BATCH: Batch = { destinationId: "", offsets: [] };

/** Starts one batch. It is stored as about to start before it is, so that a restart neither forgets nor repeats it. */
async function start(value: OperationDocument, batch: Batch, it: Work): Promise<void> {
  if (value.kind === "discard") return discardBatch(value, batch, it);
  const { put, waiting, parts, current } = it;
  const { destinationId, offsets } = batch;
  const taken = value.taken + offsets.length;
  waiting.waitFor(offsets.map((offset) => `${destinationId}.${offset}`));
  await put({ ...value, taken, waiting: waiting.ids, startingAtMs: parts.clock.now() });
  const applied = new Set(await applyOperation(value, destinationId, offsets, parts));
  const skipped = offsets.filter((offset) => !applied.has(offset));
  waiting.forget(skipped.map((offset) => `${destinationId}.${offset}`));
  const { startingAtMs: _, ...now } = withResult(current().value, "skipped", { count: skipped.length });
  await put({ ...now, waiting: waiting.ids });
}

/** Discards one batch. To repeat that changes nothing, so it is counted afterwards. */
async function discardBatch(
  value: OperationDocument,
  { destinationId, offsets }: Batch,
  { put, parts }: Work,
): Promise<void> {
  const { length } = await applyOperation(value, destinationId, offsets, parts);
  const now = withResult(value, "skipped", { count: offsets.length - length });
  await put({ ...withResult(now, "discarded", { count: length }), taken: value.taken + offsets.length });
}

/** Starts the deliveries of a batch that a crash or a failure of the store prevented: nothing happened to them since. */
async function startInterrupted({ current, put, parts }: Work): Promise<void> {
  const { startingAtMs, ...value } = current().value;
  if (startingAtMs === undefined) return;
  for (const id of value.waiting) {
    const { destinationId, offset } = deliveryOf(id);
    const [delivery] = await parts.store.consumers.outcomesOf(offset, destinationId);
    if (delivery !== undefined && delivery.atMs < startingAtMs)
      await applyOperation(value, destinationId, [offset], parts);
  }
  await put(value);
}

/** Reads the pages one after another. */
function pageReader(id: string, { store }: RunParts) {
  let read: { readonly no: number; readonly from: number; readonly page: OperationPage } | undefined;
  return {
    /** The next deliveries from a position on: of one destination, and at most `most`. Undefined if their page is missing. */
    async batch(position: number, most: number): Promise<Batch | undefined> {
      for (;;) {
        const end = read === undefined ? 0 : read.from + read.page.offsets.length;
        if (read !== undefined && position < end) {
          const from = position - read.from;
          return {
            destinationId: read.page.destinationId,
            offsets: read.page.offsets.slice(from, from + Math.max(0, most)),
          };
        }
        const no = read === undefined ? 0 : read.no + 1;
        const page = await store.config.get<OperationPage>(OPERATION_PAGE, `${id}.${no}`);
        if (page === undefined) return undefined;
        read = { no, from: end, page: page.value };
      }
    },
  };
}

export async function removePages(
  { id, value }: Operation,
  { store }: { readonly store: Pick<RunParts["store"], "config"> },
): Promise<void> {
  // An operation that was stopped while it selected has pages that it does not know.
  for (let no = 0; ; no++) {
    const wasThere = await store.config.delete(OPERATION_PAGE, `${id}.${no}`);
    if (!wasThere && no >= value.pages) return;
  }
}
