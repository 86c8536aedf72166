import { once } from "node:events";
import { MessageChannel, type Worker } from "node:worker_threads";
import { manualClock } from "@sluice/resilience/testing";
import { afterEach, expect, it } from "vitest";
import { BEFORE_FIRST, type Offset } from "../../src/message/batch.js";
import { decodeBatch } from "../../src/message/decode-batch.js";
import type { ConfigChange } from "../../src/ports/documents.js";
import { StorageUnavailable } from "../../src/ports/errors.js";
import type { Store } from "../../src/ports/store.js";
import { openSqliteStore } from "../../src/sqlite/open-sqlite-store.js";
import { type JoinedStore, joinStore } from "../../src/sqlite/sharing/join-store.js";
import { idsBatch } from "../batches.js";
import { consumersContract } from "../contracts/consumers.contract.js";
import { eventLogContract } from "../contracts/event-log.contract.js";
import type { OpenStore } from "../contracts/store-fixture.js";
import { holdingChanges, untilHandedBack } from "../shared-ports.js";
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

it("hands back what was admitted by a source that has changed since, until the other thread follows", async () => {
  const store = await opened();
  const { port1, port2 } = new MessageChannel();
  const stopSharing = store.share?.(port1);
  ends.push(() => stopSharing?.());
  const { port, release } = holdingChanges(port2);
  const joined = await joinStore(port, manualClock());
  let isAnswered = false;
  const put = store.config.put("source", "src_1", { name: "A" }).then(() => {
    isAnswered = true;
  });
  await untilHandedBack(joined);
  const head = store.log.head();
  expect(await joined.log.append(idsBatch(["early"]))).toEqual({ duplicates: [], isHandedBack: true });
  expect(isAnswered).toBe(false);
  release();
  await put;
  expect(store.log.head()).toBe(head);
  expect(await joined.log.append(idsBatch(["early"]))).toEqual({ duplicates: [], first: head + 1 });
  await store.config.put("token", "tok_1", {});
  expect(await joined.log.append(idsBatch(["later"]))).toMatchObject({ first: head + 2 });
});

it("stores nothing of a thread that has ended once a change is answered", async () => {
  const { store, joined, stopSharing, port } = await openJoined();
  const isClosed = once(port, "close");
  const appended = joined.log.append(idsBatch(["a"])).catch(() => "lost");
  await store.config.get("source", "src_1");
  const put = store.config.put("source", "src_1", { name: "A" });
  stopSharing();
  await isClosed;
  await appended;
  await put;
  const head = store.log.head();
  await store.config.get("source", "src_1");
  expect(store.log.head()).toBe(head);
});

it("refuses everything while the store's thread is gone, and goes on when the folder is opened again", async () => {
  let thread: Worker | undefined;
  const note = (worker: Worker): void => {
    thread = worker;
  };
  process.on("worker", note);
  ends.push(() => void process.off("worker", note));
  const clock = manualClock();
  const store = await openSqliteStore({ directory: temporaryDirectory(), clock });
  ends.push(() => store.close());
  const { joined, stopSharing } = await join(store, clock);
  ends.push(stopSharing);
  await store.config.put("source", "src_1", { name: "A" });
  expect(await joined.log.append(idsBatch(["a"]))).toMatchObject({ first: 0 });
  const reading = joined.log.read(0 as Offset, { messages: 10, bytes: 1_000 });
  expect(await reading).toEqual([]);
  const late = joined.log.append(idsBatch(["late"])).catch((error: unknown) => error);
  await thread?.terminate();
  expect(await late).toSatisfy(
    (it) => it instanceof StorageUnavailable || (it as { first: number }).first === 1,
  );
  expect(joined.health()).toMatchObject({ kind: "unavailable" });
  await expect(joined.log.append(idsBatch(["refused"]))).rejects.toThrow(StorageUnavailable);
  while (joined.health().kind === "unavailable") {
    await clock.advance(100);
    await new Promise((resolve) => setImmediate(resolve));
  }
  const grown = new Promise<void>((resolve) => joined.log.onAppend(resolve));
  const first = store.log.head() + 1;
  expect(await store.log.append(idsBatch(["b"]))).toMatchObject({ first });
  await grown;
  // Admitted by the settings of now: the fence holds in the new thread.
  await store.config.put("source", "src_1", { name: "B" });
  expect(await joined.log.append(idsBatch(["c"]))).toMatchObject({ first: first + 1 });
});

it("answers several threads that use equal ids for their calls", async () => {
  const { store, joined } = await openJoined();
  const other = await join(store);
  ends.push(other.stopSharing);
  const ids = Array.from({ length: 50 }, (_, i) => i);
  const results = await Promise.all(
    ids.flatMap((id) => [
      joined.log.append(idsBatch([`one-${id}`])),
      other.joined.log.append(idsBatch([`other-${id}`])),
      store.log.append(idsBatch([`own-${id}`])),
    ]),
  );
  expect(results.map(({ first }) => first).sort((a, b) => Number(a) - Number(b))).toEqual(
    Array.from({ length: 150 }, (_, i) => i),
  );
  const stored = await other.joined.log.read(BEFORE_FIRST, { messages: 1_000, bytes: 1_000_000 });
  for (const [i, { first }] of results.entries()) {
    const batch = stored.find((one) => one.first === first);
    expect(batch && decodeBatch(batch).map(({ messageId }) => messageId)).toEqual([
      `${["one", "other", "own"][i % 3]}-${Math.floor(i / 3)}`,
    ]);
  }
});

it("tells a reader at the end what another thread has appended, with the messages", async () => {
  const { store, joined } = await openJoined();
  const limits = { messages: 10, bytes: 10_000 };
  expect(await joined.log.read(BEFORE_FIRST, limits)).toEqual([]);
  for (const id of ["a", "b", "c"]) {
    const at = joined.log.head();
    const told = new Promise<Awaited<ReturnType<typeof joined.log.read>>>((resolve) => {
      const stop = joined.log.onAppend(() => {
        stop();
        resolve(joined.log.read(at, limits));
      });
    });
    await store.log.append(idsBatch([id]));
    expect((await told).flatMap(decodeBatch).map(({ messageId }) => messageId)).toEqual([id]);
    expect(await joined.log.read(joined.log.head(), limits)).toEqual([]);
  }
});
