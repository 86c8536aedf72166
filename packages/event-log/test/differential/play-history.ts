import type { ManualClock } from "@sluice/resilience/testing";
import type { MessageKey, NewBatch } from "../../src/message/batch.js";
import { BEFORE_FIRST, type Offset } from "../../src/message/batch.js";
import { decodeBatch } from "../../src/message/decode-batch.js";
import type { DeliveryTally, Retry, ScanPart, SentRange } from "../../src/ports/consumers.js";
import type { Page, PageRequest } from "../../src/ports/documents.js";
import { StoreError } from "../../src/ports/errors.js";
import type { Store } from "../../src/ports/store.js";
import type { Action, AppendedBatch, WaitingRetry } from "./history.js";

export interface Player {
  readonly store: Store;
  readonly clock: ManualClock;
  /** Closes the store and opens it again on the same data. */
  reopen(): Promise<Store>;
  /** Called before each call. Resolves with the store that takes its place, if there is one. */
  beforeCall?(): Promise<Store | undefined>;
}

const STATES = ["delivered", "failed", "filtered", "skipped", "suppressed", "discarded", "pending"] as const;
const CONSUMERS = ["dst_1", "dst_2", "dst_3"];
const ALL = { messages: 10_000, bytes: 100_000_000 };

/** What a store answers to each call, and at the end to every question. Errors count with their code. */
export async function answersOf(actions: readonly Action[], player: Player): Promise<unknown[]> {
  const answers: unknown[] = [];
  let { store } = player;
  /**
   * The messages that may be settled: neither refused items, nor cleared or purged messages. A retry of a purged message that comes late
   * is ignored by the embedded store, and kept by the one in memory.
   */
  let offsets: readonly Offset[] = [];
  for (const action of actions) {
    store = (await player.beforeCall?.()) ?? store;
    if (action.do === "restart") {
      store = await player.reopen();
      await store.consumers.resumeRetries(player.clock.monotonic());
    }
    answers.push([action.do, await answerOrCode(() => perform(action, store, player.clock, offsets))]);
    offsets = await offsetsIn(store);
  }
  answers.push(await everything(store));
  return answers;
}

async function answerOrCode(call: () => Promise<unknown>): Promise<unknown> {
  try {
    return await call();
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    return `error: ${error.code}`;
  }
}

async function offsetsIn(store: Store): Promise<Offset[]> {
  const batches = await store.log.read(BEFORE_FIRST, ALL);
  return batches.flatMap((batch) => decodeBatch(batch)).map(({ offset }) => offset);
}

const NEEDS_MESSAGES: ReadonlySet<Action["do"]> = new Set(["settle", "requeue", "retryNow"]);

async function perform(
  action: Action,
  store: Store,
  clock: ManualClock,
  known: readonly Offset[],
): Promise<unknown> {
  if (known.length === 0 && NEEDS_MESSAGES.has(action.do)) return "no messages";
  const { consumers, config, log } = store;
  const nowMs = clock.monotonic();
  const offsetOf = (place: number): Offset => known[place % known.length] ?? BEFORE_FIRST;
  const retriesOf = (retries: readonly WaitingRetry[]): Retry[] =>
    oneAMessage(retries.map((retry) => waiting(retry, offsetOf(retry.place), nowMs)));
  switch (action.do) {
    case "append":
      return Promise.all(action.batches.map((batch) => log.append(newBatch(batch, clock.now()))));
    case "open":
      return consumers.open(action.consumer, Math.min(action.startAfter, log.head()) as Offset);
    case "settle": {
      const outcomes = oneAMessage(
        action.outcomes.map(({ place, ...rest }) => ({
          ...rest,
          offset: offsetOf(place),
          atMs: clock.now(),
        })),
      );
      const ended = new Set(outcomes.map(({ offset }) => offset));
      return consumers.settle(action.consumer, {
        cursor: offsetOf(action.cursor),
        outcomes,
        retries: retriesOf(action.retries).filter(({ offset }) => !ended.has(offset)),
        attempts: action.attempts.map(({ place, ...rest }) => ({
          ...rest,
          offset: offsetOf(place),
          atMs: clock.now(),
        })),
        ...(action.range === undefined ? {} : { range: rangeFrom(action.range, offsetOf) }),
      });
    }
    case "lease":
      return consumers.lease(
        action.consumer,
        nowMs,
        nowMs + action.leaseMs,
        action.limit,
        action.isRelease ? nowMs : undefined,
      );
    case "requeue":
      return consumers.requeue(action.consumer, retriesOf(action.retries));
    case "retryNow": {
      const offsets = [...new Set(action.places.map(offsetOf))];
      return consumers.retryNow(action.consumer, offsets, { dueAtMs: nowMs, states: action.states });
    }
    case "remove":
      return consumers.remove(action.consumer);
    case "purge":
      return store.purge(action.query);
    case "put":
      return config.put("source", action.id, action.value, action.expected);
    case "delete":
      return config.delete("source", action.id);
    case "reject":
      store.rejections.add([
        {
          sourceId: "src_1",
          receivedAtMs: clock.now(),
          messageId: action.messageId,
          issues: [],
          excerpt: action.userId,
          identities: [`u:${action.userId}` as never],
        },
      ]);
      return undefined;
    case "find":
      return pages((page) => log.find(action.query, page), action.limit);
    case "advance":
      return clock.advance(action.ms);
    case "restart":
      return undefined;
    case "clear":
      return store.clear();
    default:
      return action satisfies never;
  }
}

/** Every question that the ports can answer. */
export async function everything(store: Store): Promise<unknown> {
  const { log, consumers, config, rejections, usage } = store;
  const batches = await log.read(BEFORE_FIRST, ALL);
  const ofConsumers = await Promise.all(
    CONSUMERS.map(async (id) => ({
      id,
      backlog: await answerOrCode(() => consumers.backlog(id)),
      nextDueMs: await answerOrCode(() => consumers.nextDueMs(id)),
      scan: await answerOrCode(() => parts((before) => consumers.scan(id, STATES, before))),
      lanes: await answerOrCode(() => consumers.lanes(id, 1_000)),
      inLane: await answerOrCode(() => consumers.inLane(id, 3, 2)),
      withoutLane: await answerOrCode(() => consumers.withoutLane(id, BEFORE_FIRST, 3)),
      tally: await answerOrCode(async () => merged(await parts((before) => consumers.tally(id, before)))),
      list: await answerOrCode(() => pages((page) => consumers.list({ consumerId: id }, page), 3)),
      state: await answerOrCode(
        async () => (await consumers.backlog(id)) && consumers.open(id, BEFORE_FIRST),
      ),
    })),
  );
  const ofMessages = [];
  for (let offset = 0; offset <= log.head(); offset++) {
    ofMessages.push({
      message: await log.get(offset as Offset),
      outcomes: await consumers.outcomesOf(offset as Offset),
      attempts: await Promise.all(CONSUMERS.map((id) => consumers.attemptsOf(id, offset as Offset))),
    });
  }
  return {
    head: log.head(),
    count: store.stats().messages,
    tally: await log.tally(BEFORE_FIRST, log.head()),
    messages: batches.flatMap((batch) => decodeBatch(batch)),
    found: await pages((page) => log.find({}, page), 3),
    ofConsumers,
    ofMessages,
    documents: await config.list("source"),
    rejections: await pages((page) => rejections.find({}, page), 2),
    usage: await Promise.all(["src_1", "src_2"].map((id) => usage.days(id))),
  };
}

async function pages<T>(read: (page: PageRequest) => Promise<Page<T>>, limit: number): Promise<T[]> {
  const items: T[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await read({ limit, ...(cursor === undefined ? {} : { cursor }) });
    items.push(...page.items);
    cursor = page.nextCursor;
    if (cursor === undefined) return items;
  }
}

async function parts<T>(read: (before?: number) => Promise<ScanPart<T>>): Promise<T[]> {
  const items: T[] = [];
  for (let before: number | undefined; ; ) {
    const part = await read(before);
    items.push(...part.items);
    before = part.before;
    if (before === undefined) return items;
  }
}

/** The parts of a tally, added up and in a fixed order. */
function merged(tallies: readonly DeliveryTally[]): DeliveryTally[] {
  const byCause = new Map<string, DeliveryTally>();
  for (const one of tallies) {
    const key = `${one.state} ${one.reason}`;
    const before = byCause.get(key) ?? { ...one, count: 0 };
    byCause.set(key, {
      ...before,
      count: before.count + one.count,
      firstAtMs: Math.min(before.firstAtMs, one.firstAtMs),
      lastAtMs: Math.max(before.lastAtMs, one.lastAtMs),
    });
  }
  return [...byCause.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one);
}

function newBatch({ sourceId, messages, skipped }: AppendedBatch, receivedAtMs: number): NewBatch {
  const keys = messages.flatMap(({ messageId, userId, anonymousId, type, event }, index): MessageKey[] => {
    if (skipped.includes(index)) return [];
    const who =
      userId === undefined ? ({ userId: anonymousId ?? "", isAnonymous: true } as const) : { userId };
    return [
      {
        index,
        messageId,
        ...who,
        type: type ?? "track",
        ...(type === "track" && event !== undefined ? { event } : {}),
      },
    ];
  });
  const body = Buffer.from(JSON.stringify({ batch: messages }));
  return { sourceId, receivedAtMs, body, itemCount: messages.length, skipped, madeIds: [], keys };
}

function rangeFrom(place: number | null, offsetOf: (place: number) => Offset): SentRange | null {
  if (place === null) return null;
  const first = offsetOf(place);
  return { id: String(first), runs: [[first, first]], settings: { place } };
}

/** Callers settle a message once: it has an outcome or a retry, and only one of each. */
function oneAMessage<T extends { readonly offset: Offset }>(items: readonly T[]): T[] {
  return [...new Map(items.map((item) => [item.offset, item])).values()];
}

function waiting(
  { place: _, agoMs, inMs, notBeforeInMs, ...rest }: WaitingRetry,
  offset: Offset,
  nowMs: number,
): Retry {
  return {
    ...rest,
    offset,
    firstAttemptAtMs: nowMs - agoMs,
    dueAtMs: nowMs + inMs,
    ...(notBeforeInMs === undefined ? {} : { notBeforeMs: nowMs + notBeforeInMs }),
    ...(rest.urls === undefined ? {} : { urls: rest.urls.map((one) => ({ ...one, dueAtMs: nowMs + inMs })) }),
  };
}
