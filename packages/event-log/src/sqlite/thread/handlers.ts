import type { OperationName, Operations, ReplicaOperations } from "../calls/operations.js";
import { type Answering, answeredBy } from "../calls/passed-on.js";
import type { ConsumerTables } from "../consumers/consumer-tables.js";
import type { Resumption, RetryClock } from "../consumers/retry-clock.js";
import type { Documents } from "../database/documents.js";
import type { Segments } from "../index/segments.js";
import type { Log } from "../log/log.js";
import type { Rejections } from "../log/rejections.js";
import type { Usage } from "../log/usage.js";
import type { ProfileFile } from "../profiles/profiles.js";
import type { Retention } from "../retention/retention.js";
import type { DeliveryList } from "../search/delivery-list.js";
import type { DeliveryScan } from "../search/delivery-scan.js";
import type { MessageSearch } from "../search/message-search.js";

export interface Tables {
  readonly log: Log;
  readonly segments: Segments;
  readonly search: MessageSearch;
  readonly consumers: ConsumerTables;
  readonly deliveries: DeliveryList;
  readonly scan: DeliveryScan;
  readonly documents: Documents;
  readonly rejections: Rejections;
  readonly retention: Retention;
  readonly usage: Usage;
  readonly retryClock: RetryClock;
  readonly snapshots: Answering<"snapshots">;
  readonly profiles: () => ProfileFile;
  rest(nowMs: number): void;
}

/** Operations that have a handler. The worker itself answers the others. */
export type HandledName = Exclude<OperationName, "clear" | "compact" | "fence" | keyof ReplicaOperations>;

/** What is read for a call before its transaction; see `OpenStore.commitCalls`. Damaged data does not stop any of these reads. */
export interface Prepared {
  /** Which ids the sealed segments know. */
  append: Uint8Array;
  /** The sources of the outcomes' messages. */
  settle: readonly (number | undefined)[];
  /** Messages beyond the cursor that are settled. */
  "consumers.open": readonly number[];
  /** The retries to move to this process's clock. */
  "consumers.resumeRetries": Resumption;
  /** Whether to store the clock's reading for the retries. */
  rest: boolean;
}

export type Preparers = {
  readonly [K in keyof Prepared]: (request: Operations[K]["request"]) => Prepared[K];
};

export function preparers({
  log,
  consumers,
  retryClock,
}: Pick<Tables, "log" | "consumers" | "retryClock">): Preparers {
  return {
    append: (request) => log.knownIn(request),
    settle: (request) => consumers.sourcesOf(request),
    "consumers.open": ([consumerId]) => consumers.settledAhead(consumerId),
    "consumers.resumeRetries": ([nowMs]) => retryClock.resumption(nowMs),
    rest: ({ monotonicMs }) => retryClock.shallNote(monotonicMs),
  };
}

export type Handlers<Name extends HandledName = HandledName> = {
  readonly [K in Name]: (
    request: Operations[K]["request"],
    prepared: K extends keyof Prepared ? Prepared[K] : undefined,
  ) => Operations[K]["answer"];
};

/** The handler of each operation. Writes run within a transaction. */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: a flat table, one entry for each operation
export function handlers(tables: Tables): Handlers {
  const {
    log,
    segments,
    search,
    consumers,
    deliveries,
    scan,
    documents,
    rejections,
    retention,
    usage,
    retryClock,
  } = tables;
  return {
    append: (request, known) => log.append(request, known),
    retain: ({ nowMs, segments: chosen }) => {
      retention.mark(nowMs, chosen);
      return undefined;
    },
    chooseDropped: ({ nowMs }) => retention.chooseDropped(nowMs).map(({ no }) => no),
    expireRejections: ({ nowMs }) => {
      rejections.expire(nowMs);
      return undefined;
    },
    rest: ({ nowMs, monotonicMs }, shallNote) => {
      if (shallNote) retryClock.note(monotonicMs);
      tables.rest(nowMs);
      return undefined;
    },
    readLog: (request) => log.read(request),
    findInLog: (request) => search.find(request),
    "log.tally": ([after, upTo]) => log.tally(after, upTo),

    "consumers.resumeRetries": ([nowMs], resumption) => retryClock.resume(nowMs, resumption),
    "consumers.open": ([consumerId, startAfter], ahead) => consumers.open(consumerId, startAfter, ahead),
    "consumers.remove": ([consumerId]) => consumers.remove(consumerId),
    "consumers.lease": ([consumerId, ...which]) => consumers.get(consumerId).retries.lease(...which),
    "consumers.inLane": ([consumerId, ...which]) => consumers.get(consumerId).retries.inLane(...which),
    "consumers.lanes": ([consumerId, ...which]) => consumers.get(consumerId).retries.lanes(...which),
    "consumers.withoutLane": ([consumerId, ...which]) =>
      consumers.get(consumerId).retries.withoutLane(...which),
    "consumers.attemptsOf": ([consumerId, offset]) => {
      const consumer = consumers.find(consumerId);
      return consumer === undefined ? [] : consumers.attempts(consumer, offset);
    },
    "consumers.backlog": ([consumerId]) => {
      const { cursor, retries } = consumers.get(consumerId);
      return { behind: segments.countFrom(cursor + 1), retries: retries.count };
    },
    settle: (request, sources) => consumers.settle(request, sources),
    requeue: ({ consumerId, retries, nowMs }) => {
      const consumer = consumers.get(consumerId);
      for (const retry of retries) consumer.retries.put(retry, nowMs);
      return undefined;
    },
    retryNow: (request) => consumers.retryNow(request),
    nextDue: ({ consumerId, nowMs }) => consumers.get(consumerId).retries.nextDueMs(nowMs),
    outcomesOf: ({ offset, consumerId }) =>
      [...consumers.all]
        .filter(({ id }) => (consumerId ?? id) === id)
        .map((consumer) => consumers.delivery(consumer, offset))
        .filter((delivery) => delivery !== undefined)
        .sort((a, b) => (a.consumerId < b.consumerId ? -1 : 1)),
    listDeliveries: (request) => deliveries.list(request),
    scanDeliveries: (request) => scan.scan(request),
    tallyDeliveries: (request) => scan.tally(request),

    getDocument: ({ kind, id }) => documents.get(kind, id),
    listDocuments: ({ kind }) => documents.list(kind),
    putDocuments: ({ puts }) => documents.put(puts),
    deleteDocument: ({ kind, id }) => documents.delete(kind, id),

    reject: ({ rejections: added }) => {
      rejections.add(added);
      return undefined;
    },
    findRejections: (request) => rejections.find(request),
    purgeMessages: ({ offsets }) => {
      log.purge(offsets);
      return consumers.purge(offsets);
    },
    purgeRejections: (request) => rejections.purgeNext(request),

    ...answeredBy("usage", () => usage),
    ...answeredBy("snapshots", () => tables.snapshots),
    ...answeredBy("profiles", tables.profiles),
    ...answeredBy("profileSnapshots", () => tables.profiles().snapshots),
  };
}
