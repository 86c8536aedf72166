import { once } from "node:events";
import { MessageChannel } from "node:worker_threads";
import { manualClock } from "@sluice/resilience/testing";
import { afterEach, expect, it } from "vitest";
import { BEFORE_FIRST, type Offset } from "../../src/message/last-message.js";
import type { ConfigChange } from "../../src/ports/documents.js";
import { StorageUnavailable } from "../../src/ports/errors.js";
import type { Store } from "../../src/ports/store.js";
import { openSqliteStore } from "../../src/sqlite/open-sqlite-store.js";
import { type JoinedStore, joinStore } from "../../src/sqlite/sharing/join-store.js";
import { idsBatch } from "../batches.js";
import { consumersContract } from "../contracts/consumers.contract.js";
import { eventLogContract } from "../contracts/event-log.contract.js";
import type { OpenStore } from "../contracts/store-fixture.js";
import { temporaryDirectories } from "../temporary-directory.js";

const temporaryDirectory = temporaryDirectories();
const ends: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

interface Joined {
  readonly joined: JoinedStore;
  /** Ends the other thread's use of the store, from this side. */
  readonly stopSharing: () => void;
  readonly port: MessageChannel["port2"];
}

async function join(store: Store, clock = manualClock()): Promise<Joined> {
  const { port1, port2 } = new MessageChannel();
  const stopSharing = store.share?.(port1);
  if (stopSharing === undefined) throw new Error("the store cannot be shared");
  const joined = await joinStore(port2, clock);
  return { joined, stopSharing, port: port2 };
}

/** The store as a thread that joined sees it. */
const throughPort: OpenStore = async (clock, options) => {
  const store = await openSqliteStore({ directory: temporaryDirectory(), clock, ...options });
  const { joined, stopSharing } = await join(store, clock as ReturnType<typeof manualClock>);
  return {
    ...store,
    consumers: joined.consumers,
    log: {
      append: (batch) => joined.log.append(batch),
      read: (...args) => joined.log.read(...args),
      tally: (...args) => joined.log.tally(...args),
      head: () => joined.log.head(),
      onAppend: (listener) => joined.log.onAppend(listener),
      find: (...args) => joined.log.find(...args),
      get: (offset) => joined.log.get(offset),
    },
    async close() {
      stopSharing();
      await store.close();
    },
  };
};
consumersContract("sqlite, from a thread that joined", throughPort);
eventLogContract("sqlite, from a thread that joined", throughPort);

async function opened(): Promise<Store> {
  const store = await openSqliteStore({ directory: temporaryDirectory(), clock: manualClock() });
  ends.push(() => store.close());
  return store;
}

async function openJoined(): Promise<Joined & { readonly store: Store }> {
  const store = await opened();
  const joined = await join(store);
  ends.push(joined.stopSharing);
  return { store, ...joined };
}

it("names sources that got their number after it joined", async () => {
  const { store, joined } = await openJoined();
  const grown = new Promise<void>((resolve) => joined.log.onAppend(resolve));
  await store.log.append({ ...idsBatch(["a"]), sourceId: "src_later" });
  await grown;
  expect(await joined.log.read(BEFORE_FIRST, { messages: 10, bytes: 1_000 })).toMatchObject([
    { sourceId: "src_later" },
  ]);
});

it("waits with a change of a document until the other thread has followed it", async () => {
  const { store, joined } = await openJoined();
  const { promise: mayFollow, resolve: follow } = Promise.withResolvers<void>();
  const seen = Promise.withResolvers<ConfigChange>();
  joined.config.watch((change) => {
    seen.resolve(change);
    return mayFollow;
  });
  let isAnswered = false;
  const put = store.config.put("source", "src_1", { name: "A" }).then(() => {
    isAnswered = true;
  });
  expect(await seen.promise).toMatchObject({
    kind: "source",
    id: "src_1",
    document: { value: { name: "A" } },
  });
  await new Promise(setImmediate);
  expect(isAnswered).toBe(false);
  follow();
  await put;
  expect(await joined.config.get("source", "src_1")).toMatchObject({ value: { name: "A" } });
});

it("tells everybody of a document that the other thread deletes", async () => {
  const { store, joined } = await openJoined();
  await store.config.put("catch_up", "dst_1/src_1", {});
  const seen: string[] = [];
  store.config.watch(({ id, document }) => void seen.push(`${id} ${document === undefined}`));
  expect(await joined.config.delete("catch_up", "dst_1/src_1")).toBe(true);
  expect(seen).toEqual(["dst_1/src_1 true"]);
});

it("does not wait for a thread that is gone", async () => {
  const { store, joined, stopSharing } = await openJoined();
  joined.config.watch(() => new Promise(() => {}));
  const put = store.config.put("source", "src_1", { name: "A" });
  await new Promise(setImmediate);
  stopSharing();
  await put;
});

it("lets no call of a thread through any more once sharing has ended", async () => {
  const { store, joined, stopSharing, port } = await openJoined();
  await store.log.append(idsBatch(["a", "b"]));
  await joined.consumers.open("dst_1", BEFORE_FIRST);
  const late = joined.consumers.settle("dst_1", {
    cursor: 1 as Offset,
    outcomes: [],
    retries: [],
    attempts: [],
  });
  const isClosed = once(port, "close");
  stopSharing();
  await expect(late).rejects.toThrow(StorageUnavailable);
  await isClosed;
  expect(await store.consumers.open("dst_1", BEFORE_FIRST)).toMatchObject({ cursor: BEFORE_FIRST });
  await expect(joined.consumers.nextDueMs("dst_1")).rejects.toThrow(StorageUnavailable);
});

it("passes on what the store refuses", async () => {
  const { joined } = await openJoined();
  await expect(joined.consumers.nextDueMs("dst_unknown")).rejects.toMatchObject({ code: "not_found" });
});

it("gives a source that another thread names first its number", async () => {
  const { store, joined } = await openJoined();
  const one = joined.log.append({ ...idsBatch(["a"]), sourceId: "src_first" });
  const other = joined.log.append({ ...idsBatch(["b"]), sourceId: "src_second" });
  const again = joined.log.append({ ...idsBatch(["a"]), sourceId: "src_first" });
  const own = store.log.append({ ...idsBatch(["c"]), sourceId: "src_second" });
  const results = await Promise.all([one, other, again, own]);
  expect(results.map(({ duplicates }) => duplicates)).toEqual([[], [], [0], []]);
  const stored = await store.log.read(BEFORE_FIRST, { messages: 10, bytes: 10_000 });
  expect(stored.map(({ sourceId }) => sourceId).sort()).toEqual(["src_first", "src_second", "src_second"]);
});

it("hands back what was admitted by a source that has changed since", async () => {
  const { store, joined } = await openJoined();
  const { promise: mayFollow, resolve: follow } = Promise.withResolvers<void>();
  // The other thread admits, and hears of the change before it sends.
  const heard = new Promise<void>((resolve) => {
    joined.config.watch(() => {
      resolve();
      return mayFollow;
    });
  });
  const put = store.config.put("source", "src_1", { name: "A" });
  await store.config.get("source", "src_1");
  const early = joined.log.append(idsBatch(["early"]));
  expect(await early).toEqual({ duplicates: [], isHandedBack: true });
  await heard;
  follow();
  await put;
  expect(await joined.log.append(idsBatch(["late"]))).toMatchObject({ duplicates: [] });
  await store.config.put("token", "tok_1", {});
  expect(await joined.log.append(idsBatch(["later"]))).toMatchObject({ duplicates: [] });
  expect(store.log.head()).toBe(1);
});

it("answers a change once what was passed on before it is stored, though the other thread has ended", async () => {
  const { store, joined, stopSharing, port } = await openJoined();
  const passedOn = once(port, "close");
  const appended = joined.log.append(idsBatch(["a"])).catch(() => "lost");
  await store.config.get("source", "src_1");
  const put = store.config.put("source", "src_1", { name: "A" });
  stopSharing();
  await passedOn;
  expect(await appended).toBe("lost");
  await put;
  const head = store.log.head();
  await store.config.get("source", "src_1");
  expect(store.log.head()).toBe(head);
});
