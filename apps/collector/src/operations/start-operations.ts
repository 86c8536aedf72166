import type { OperationFilter, OperationKind, OperationView } from "@sluice/control-api";
import { type ConfigStore, DOCUMENT_KINDS, type Offset, type Store } from "@sluice/event-log";
import { formatTime } from "@sluice/protocol";
import type { Clock } from "@sluice/resilience";
import type { DeliveryRuntime } from "../delivery/start-delivery.js";
import type { DestinationDocument } from "../documents/documents.js";
import type { LiveEvents } from "../process/telemetry/live-events.js";
import type { Logger } from "../process/telemetry/logger.js";
import {
  doneIn,
  ended,
  hasEnded,
  NO_RESULTS,
  OPERATION,
  type Operation,
  type OperationDocument,
  operationView,
} from "./operation.js";
import { removePages, runOperation } from "./run-operation.js";
import { type Selection, selectDeliveries, statesFor } from "./select-deliveries.js";

export interface OperationsOptions {
  readonly store: Store;
  readonly delivery: Pick<DeliveryRuntime, "requeued" | "discard">;
  readonly live: Pick<LiveEvents, "subscribe">;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly newId: (kind: OperationKind) => string;
}

/** The deliveries: those that match a filter, or some that were chosen. */
type Wanted =
  | { readonly filter: OperationFilter; readonly fromMs?: number; readonly toMs?: number }
  | { readonly chosen: ReadonlyMap<string, readonly Offset[]> };

export interface NewOperation {
  readonly kind: OperationKind;
  readonly wanted: Wanted;
  readonly createdBy: OperationView["createdBy"];
  readonly perSecond?: number;
}

export interface Operations {
  /** Stores an operation in `into` (default: the store) and starts it. */
  create(operation: NewOperation, into?: Pick<ConfigStore, "put">): Promise<OperationView>;
  /** How many deliveries it would change. */
  count(operation: Omit<NewOperation, "createdBy">): Promise<number>;
  /** Resolves when the operation's deliveries are known. */
  selected(id: string): Promise<OperationView | undefined>;
  get(id: string): Promise<OperationView | undefined>;
  /** Newest first. */
  list(): Promise<readonly OperationView[]>;
  /** Resolves when it has stopped. */
  cancel(id: string): Promise<OperationView | undefined>;
  /** Stops working. The next start goes on. */
  close(): Promise<void>;
}

/** Operations that are kept after their end. */
const KEPT = 200;
const PER_SECOND = 200;
/** The time over which the shown rate is measured. */
const RATE_OVER_MS = 10_000;
const STORE_RETRY_MS = 5_000;

/** An operation that is at work. */
interface Running {
  now: Operation;
  isCancelled: boolean;
  readonly selected: PromiseWithResolvers<void>;
  /** Results so far, at several times. */
  samples: readonly { readonly atMs: number; readonly done: number }[];
  readonly ended: PromiseWithResolvers<void>;
}

/** Runs bulk operations, including unfinished ones of earlier starts. */
export async function startOperations(options: OperationsOptions): Promise<Operations> {
  const { store, clock } = options;
  const { config } = store;
  const closing = new AbortController();
  const running = new Map<string, Running>();
  const run = (first: Operation, wanted: Wanted): void => {
    if (running.has(first.id) || hasEnded(first.value)) return;
    const one: Running = {
      now: first,
      isCancelled: false,
      selected: Promise.withResolvers(),
      samples: [],
      ended: Promise.withResolvers(),
    };
    running.set(first.id, one);
    void runToEnd(one, wanted, options, closing.signal).finally(() => {
      running.delete(first.id);
      one.selected.resolve();
      one.ended.resolve();
    });
  };
  for (const operation of await config.list<OperationDocument>(OPERATION)) {
    const { id, value, version } = operation;
    if (hasEnded(value)) continue;
    if (value.state === "running" || value.filter !== undefined)
      run(operation, { filter: value.filter ?? {}, ...spanOf(value.filter) });
    else {
      await config.put(OPERATION, id, ended(value, "failed", formatTime(clock.now()), NOT_BEGUN), version);
      await removePages(operation, options);
    }
  }

  const view = (operation: Operation): OperationView => {
    const one = running.get(operation.id);
    return operationView(one?.now ?? operation, clock.now(), one && recentRate(one.samples));
  };
  const get = async (id: string): Promise<OperationView | undefined> => {
    const operation = await config.get<OperationDocument>(OPERATION, id);
    return operation && view(operation);
  };
  return {
    async create(operation, into = config) {
      const value = newDocument(operation, clock.now());
      const stored = await into.put(OPERATION, options.newId(operation.kind), value, 0);
      // A request that is repeated after a crash gets the operation as it was stored first.
      const now = (await config.get<OperationDocument>(OPERATION, stored.id)) ?? stored;
      run(now, operation.wanted);
      // It has begun: whoever asked would ask again. The next one tries again to delete old ones.
      await prune(config).catch((error: unknown) =>
        options.logger.warn("old operations cannot be deleted now", { error }),
      );
      return view(now);
    },
    count: (operation) => countDeliveries(operation, options),
    async selected(id) {
      await running.get(id)?.selected.promise;
      return get(id);
    },
    get,
    list: async () => [...(await config.list<OperationDocument>(OPERATION))].reverse().map(view),
    async cancel(id) {
      const one = running.get(id);
      if (one !== undefined) {
        one.isCancelled = true;
        await one.ended.promise;
      }
      return get(id);
    },
    async close() {
      closing.abort();
      await Promise.all([...running.values()].map((one) => one.ended.promise));
    },
  };
}

/** Chosen deliveries are stored right after the operation. */
const NOT_BEGUN = "The collector stopped before it began. Start it again";

/** Works until the operation ends or the collector closes. While the store fails, it tries again. Never rejects. */
async function runToEnd(
  one: Running,
  wanted: Wanted,
  options: OperationsOptions,
  signal: AbortSignal,
): Promise<void> {
  const { store, clock, logger } = options;
  const { id, value } = one.now;
  while (!signal.aborted) {
    try {
      const selections = "filter" in wanted ? await selectionsOf(store, value.kind, wanted) : [];
      const chosen = "chosen" in wanted ? wanted.chosen : new Map<string, readonly Offset[]>();
      await runOperation(one.now, selections, chosen, {
        ...options,
        signal,
        isCancelled: () => one.isCancelled,
        onChange: (now) => noteChange(one, now, clock),
      });
      return;
    } catch (error) {
      if (signal.aborted) return;
      logger.error("an operation waits for the store", { operationId: id, error });
      await clock.sleep(STORE_RETRY_MS, signal).catch(() => {});
      one.now = (await store.config.get<OperationDocument>(OPERATION, id).catch(() => undefined)) ?? one.now;
      if (hasEnded(one.now.value)) return;
    }
  }
}

async function countDeliveries(
  { kind, wanted }: Omit<NewOperation, "createdBy">,
  { store, clock }: OperationsOptions,
): Promise<number> {
  let count = 0;
  if ("chosen" in wanted) for (const { length } of wanted.chosen.values()) count += length;
  else {
    for (const selection of await selectionsOf(store, kind, wanted))
      for await (const { length } of selectDeliveries({ store, clock }, selection)) count += length;
  }
  return count;
}

function newDocument({ kind, wanted, createdBy, perSecond }: NewOperation, nowMs: number): OperationDocument {
  return {
    kind,
    ...("filter" in wanted
      ? { filter: wanted.filter }
      : { ids: [...wanted.chosen.values()].reduce((sum, { length }) => sum + length, 0) }),
    state: "selecting",
    createdAt: formatTime(nowMs),
    createdBy,
    perSecond: perSecond ?? PER_SECOND,
    pages: 0,
    total: 0,
    taken: 0,
    waiting: [],
    results: NO_RESULTS,
    causes: {},
  };
}

async function selectionsOf(
  { config }: Store,
  kind: OperationKind,
  {
    filter,
    fromMs,
    toMs,
  }: { readonly filter: OperationFilter; readonly fromMs?: number; readonly toMs?: number },
): Promise<Selection[]> {
  const { destinationId, state, from: _from, to: _to, ...rest } = filter;
  const all = destinationId === undefined ? await reachable(config, kind) : [{ id: destinationId }];
  const span = { ...(fromMs === undefined ? {} : { fromMs }), ...(toMs === undefined ? {} : { toMs }) };
  return all.map(({ id }) => ({ ...rest, ...span, destinationId: id, states: statesFor(kind, state) }));
}

/** The destinations that an operation on all of them includes. What was sent to a disabled one would wait for as long as it is. */
async function reachable(config: ConfigStore, kind: OperationKind): Promise<readonly { id: string }[]> {
  const all = await config.list<DestinationDocument>(DOCUMENT_KINDS.destination);
  return kind === "discard" ? all : all.filter(({ value }) => value.enabled);
}

/** The times of a stored filter, which were checked when it was stored. */
function spanOf({ from, to }: OperationFilter = {}): { fromMs?: number; toMs?: number } {
  return {
    ...(from === undefined ? {} : { fromMs: Date.parse(from) }),
    ...(to === undefined ? {} : { toMs: Date.parse(to) }),
  };
}

function noteChange(one: Running, now: Operation, clock: Clock): void {
  one.now = now;
  if (now.value.state !== "selecting") one.selected.resolve();
  const atMs = clock.monotonic();
  one.samples = [
    ...one.samples.filter((sample) => atMs - sample.atMs <= RATE_OVER_MS),
    { atMs, done: doneIn(now.value) },
  ];
}

function recentRate(samples: Running["samples"]): number | undefined {
  const [first, last] = [samples[0], samples.at(-1)];
  if (first === undefined || last === undefined || last.atMs - first.atMs < 1_000) return undefined;
  return ((last.done - first.done) * 1_000) / (last.atMs - first.atMs);
}

/** Deletes the oldest operations that have ended. */
async function prune(config: ConfigStore): Promise<void> {
  const all = await config.list<OperationDocument>(OPERATION);
  for (const operation of all.slice(0, Math.max(0, all.length - KEPT))) {
    if (!hasEnded(operation.value)) continue;
    await removePages(operation, { store: { config } });
    await config.delete(OPERATION, operation.id);
  }
}
