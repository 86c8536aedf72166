import { BEFORE_FIRST, DOCUMENT_KINDS, openMemoryStore, type Retry } from "@sluice/event-log";
import { batchOf } from "@sluice/event-log/testing";
import { manualClock } from "@sluice/resilience/testing";
import { expect, test } from "vitest";
import { catchUp, pendingCatchUps } from "../../src/delivery/reading/catch-up.js";
import { sharedReader } from "../../src/delivery/reading/shared-reader.js";

test("a source that is connected anew while it is caught up with is caught up with again after a crash", async () => {
  const clock = manualClock();
  const store = openMemoryStore({ clock });
  await store.consumers.open("dst", BEFORE_FIRST);
  await store.log.append(batchOf([{ messageId: "m1" }]));
  const connection = { destinationId: "dst", sourceId: "src_1" };
  const document = { ...connection, since: BEFORE_FIRST };
  const again = { ...connection, since: store.log.head() };
  const put = (value: typeof document) => store.config.put(DOCUMENT_KINDS.catchUp, "dst/src_1", value);
  const left = async () => (await store.config.list(DOCUMENT_KINDS.catchUp)).map(({ value }) => value);
  await put(document);
  const { requeue } = store.consumers;
  store.consumers.requeue = async (...args) => {
    await requeue.apply(store.consumers, args);
    await put(again);
  };
  const deps = { store, clock, reader: sharedReader(store.log) };
  expect(await catchUp(deps, document, store.log.head())).toBe(true);
  expect(await left()).toEqual([again]);
  await catchUp(deps, again, store.log.head());
  expect(await left()).toEqual([]);
});

test("queues what was missed 500 at a time, without what has an outcome already", async () => {
  const clock = manualClock();
  const store = openMemoryStore({ clock });
  const { cursor } = await store.consumers.open("dst", BEFORE_FIRST);
  const ids = Array.from({ length: 1_002 }, (_, at) => ({ messageId: `m${at}` }));
  await store.log.append(batchOf(ids.slice(0, 501)));
  await store.log.append(batchOf(ids.slice(501)));
  const known = { offset: (cursor + 1) as typeof cursor, state: "delivered", reason: "", atMs: 0 } as const;
  await store.consumers.settle("dst", { cursor, outcomes: [known], retries: [], attempts: [] });
  await store.consumers.open("dst_2", BEFORE_FIRST);
  await store.consumers.settle("dst_2", {
    ...{ cursor, retries: [], attempts: [] },
    outcomes: [{ ...known, offset: (cursor + 2) as typeof cursor }],
  });
  const queued: Retry[][] = [];
  store.consumers.requeue = async (_id, retries) => {
    queued.push([...retries]);
  };
  const connection = { destinationId: "dst", sourceId: "src_1", since: BEFORE_FIRST };
  const deps = { store, clock, reader: sharedReader(store.log) };
  expect(await catchUp(deps, connection, store.log.head())).toBe(true);
  expect(queued.map(({ length }) => length)).toEqual([500, 500, 1]);
  expect(new Set(queued.flat().map(({ offset }) => offset)).size).toBe(1_001);
  expect(queued.flat().some(({ offset }) => offset === known.offset)).toBe(false);
  queued.length = 0;
  expect(await catchUp(deps, { ...connection, sourceId: "src_2" }, store.log.head())).toBe(false);
  expect(queued).toEqual([]);
});

test("a source that is being connected while its destination is opened is not forgotten", async () => {
  const store = openMemoryStore({ clock: manualClock() });
  const connection = { sourceId: "src_1", since: BEFORE_FIRST };
  const mark = { destinationId: "dst", ...connection };
  await store.config.put(DOCUMENT_KINDS.catchUp, "dst/src_1", mark);
  // The mark is stored, and the connection is not yet.
  expect(await pendingCatchUps(store, "dst", () => [])).toEqual([]);
  expect(await pendingCatchUps(store, "dst", () => [connection])).toEqual([mark]);
});

test("finds what a destination still has to catch up with, of its connections as they are, and forgets nothing", async () => {
  const store = openMemoryStore({ clock: manualClock() });
  const since = BEFORE_FIRST;
  const later = (since + 5) as typeof since;
  const documents = {
    "dst/src_1": { destinationId: "dst", sourceId: "src_1", since },
    // Connected anew since, never connected, and of another destination.
    "dst/src_2": { destinationId: "dst", sourceId: "src_2", since },
    "dst/src_3": { destinationId: "dst", sourceId: "src_3", since },
    "dst_2/src_1": { destinationId: "dst_2", sourceId: "src_1", since },
  };
  for (const [id, value] of Object.entries(documents))
    await store.config.put(DOCUMENT_KINDS.catchUp, id, value);
  const connections = [
    { sourceId: "src_1", since },
    { sourceId: "src_2", since: later },
  ];
  expect(await pendingCatchUps(store, "dst", () => connections)).toEqual([documents["dst/src_1"]]);
  const left = (await store.config.list(DOCUMENT_KINDS.catchUp)).map(({ id }) => id);
  expect(left.sort()).toEqual(Object.keys(documents).sort());
});
