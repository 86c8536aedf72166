import { BEFORE_FIRST, DOCUMENT_KINDS, openMemoryStore } from "@sluice/event-log";
import { batchOf } from "@sluice/event-log/testing";
import { manualClock } from "@sluice/resilience/testing";
import { expect, test } from "vitest";
import {
  changeDestination,
  createDestination,
  removeDestination,
} from "../../src/delivery/control/connections.js";
import type { Order } from "../../src/delivery/ordering/restore-order.js";
import { startDelivery } from "../../src/delivery/start-delivery.js";
import { catalogOf } from "../../src/destinations/catalog.js";
import type { Destination, DestinationType, RoundOutcome } from "../../src/destinations/destination.js";
import type { DestinationDocument } from "../../src/documents/documents.js";
import { liveEvents } from "../../src/process/telemetry/live-events.js";
import { createLogger } from "../../src/process/telemetry/logger.js";
import { createMetrics } from "../../src/process/telemetry/metrics.js";
import { scriptedDestination } from "../admin/scripted-destination.js";

interface Settings {
  readonly open: string;
  readonly order?: Order;
  /** Rounds end when the test ends them. */
  readonly hangs?: boolean;
}

/** Starts delivery to destinations that open when the test allows it. The setting `open` identifies an opening. */
async function started({
  clock = manualClock(),
  store = openMemoryStore({ clock }),
  mayBegin = Promise.resolve(),
} = {}) {
  await store.config.put("source", "src_1", {
    name: "Shop",
    kind: "server",
    createdAt: "2026-01-01T00:00:00.000Z",
    writeKeys: [],
    blockedEvents: [],
  });
  /** `<setting> <message id>` and `<setting> closed`. */
  const happened: string[] = [];
  const opening = new Map<string, () => void>();
  /** Ends the rounds in flight of destinations that hang, by setting and message id. */
  const ending = new Map<string, (outcome: RoundOutcome) => void>();
  const slow: DestinationType = {
    ...scriptedDestination().type,
    async open(settings) {
      const { open, order = "none", hangs = false } = settings as Settings;
      if (open !== "at once") await new Promise<void>((resolve) => opening.set(open, resolve));
      return {
        flow: { concurrency: 10, order },
        async deliver({ messageId }) {
          happened.push(`${open} ${messageId}`);
          if (hangs) return new Promise((resolve) => ending.set(`${open} ${messageId}`, resolve));
          return { kind: "delivered", reason: "200" };
        },
        async close() {
          happened.push(`${open} closed`);
        },
      } satisfies Destination;
    },
  };
  const catalog = catalogOf([slow]);
  const delivery = await startDelivery({
    store,
    catalog,
    clock,
    logger: createLogger({ write() {} }),
    metrics: createMetrics(),
    live: liveEvents(),
    mayBegin,
  });
  const deps = { store, catalog, clock };
  return {
    clock,
    store,
    catalog,
    delivery,
    happened,
    opening,
    ending,
    async create(open: string, more: Omit<Settings, "open"> = {}): Promise<string> {
      const made = await createDestination(deps, {
        type: "scripted",
        sourceIds: ["src_1"],
        settings: { open, ...more },
      });
      if (made.kind !== "changed") throw new Error(made.kind);
      return made.destination.id;
    },
    change: (id: string, open: string, more: Omit<Settings, "open"> = {}) =>
      changeDestination(deps, id, { settings: { open, ...more } }),
    append: (...messageIds: string[]) =>
      store.log.append(batchOf(messageIds.map((messageId) => ({ messageId, userId: "ann" })))),
  };
}

/** Runs everything that is ready. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
}

test("nothing is sent before sending may begin", async () => {
  const { create, append, delivery: former, store, clock } = await started();
  const id = await create("at once");
  await former.close(0);
  await append("m1");
  const { promise: mayBegin, resolve: begin } = Promise.withResolvers<void>();
  const { happened, delivery } = await started({ store, clock, mayBegin });
  await turns();
  expect(happened).toEqual([]);
  expect((await delivery.status(id))?.behind).toBe(1);
  begin();
  await turns();
  expect(happened).toEqual(["at once m1"]);
});

test("settings that change before sending may begin send nothing either", async () => {
  const { create, append, delivery: former, store, clock } = await started();
  const id = await create("at once");
  await former.close(0);
  await append("m1");
  const { promise: mayBegin, resolve: begin } = Promise.withResolvers<void>();
  const { change, happened, delivery } = await started({ store, clock, mayBegin });
  const changed = change(id, "at once", { order: "user" });
  await turns();
  expect(happened).toEqual([]);
  begin();
  await changed;
  await turns();
  expect(happened).toEqual(["at once m1"]);
  await delivery.close(0);
});

test.each<[name: string, end: (world: Awaited<ReturnType<typeof started>>, id: string) => Promise<unknown>]>([
  ["closed", ({ delivery }) => delivery.close(0)],
  ["deleted", ({ store }, id) => removeDestination(store, id)],
])("a destination that is %s aborts rounds that began with earlier settings, too", async (_, end) => {
  const world = await started();
  const { create, change, append, delivery, happened, store } = world;
  const id = await create("at once", { hangs: true });
  await append("m1");
  await turns();
  await change(id, "at once", { hangs: true, order: "user" });
  await append("m2");
  await turns();
  await changeDestination({ store, catalog: world.catalog, clock: world.clock }, id, { enabled: false });
  expect(happened).toEqual(["at once m1", "at once m2"]);
  await end(world, id);
  expect(happened.slice(2)).toEqual(["at once closed", "at once closed"]);
  await delivery.close(0);
});

test("a destination that hangs while opening blocks neither others nor its own next change, and sends nothing", async () => {
  const { create, change, append, delivery, happened, opening } = await started();
  const hanging = await create("at once");
  const first = change(hanging, "A").then(() => happened.push("A answered"));
  await turns();
  await append("m1");
  await turns();
  // Neither with the previous settings, nor with the ones that are not open yet.
  expect(happened).toEqual(["at once closed"]);
  const other = await create("at once");
  await change(other, "at once");
  const second = change(hanging, "B").then(() => happened.push("B answered"));
  await turns();
  opening.get("B")?.();
  await second;
  await turns();
  // The change is in force when it is answered; the message is read from then on.
  expect(happened.slice(1)).toEqual(["B answered", "B m1"]);
  // The first opening completes, but it is obsolete.
  opening.get("A")?.();
  await first;
  await turns();
  await append("m2");
  await turns();
  expect(happened.slice(3, 5)).toEqual(["A closed", "A answered"]);
  // Both destinations get the message, in any order.
  expect(happened.slice(5).sort()).toEqual(["B m2", "at once m2"]);
  await delivery.close(0);
});

test("an opening that completes after a newer one does not change whose messages keep their order", async () => {
  const { create, change, append, delivery, happened, opening, ending } = await started();
  const id = await create("at once");
  const first = change(id, "A", { order: "none" });
  await turns();
  const second = change(id, "B", { order: "user", hangs: true });
  await turns();
  opening.get("B")?.();
  await second;
  opening.get("A")?.();
  await first;
  await append("m1", "m2");
  await turns();
  expect(happened.filter((line) => line.startsWith("B"))).toEqual(["B m1"]);
  ending.get("B m1")?.({ kind: "delivered", reason: "200" });
  await turns();
  expect(happened.filter((line) => line.startsWith("B"))).toEqual(["B m1", "B m2"]);
  await delivery.close(0);
});

test("rounds that end after new settings came say nothing about the new settings", async () => {
  const { clock, create, change, append, delivery, happened, ending } = await started();
  const id = await create("at once", { hangs: true });
  const old = Array.from({ length: 10 }, (_, index) => `m${index}`);
  await append(...old);
  await turns();
  expect(ending.size).toBe(10);
  await change(id, "at once", { hangs: false });
  for (const end of ending.values())
    end({ kind: "retry", reason: "timeout", doneUrls: [], failedUrls: [], alive: false });
  await turns();
  expect(await delivery.status(id)).toMatchObject({ state: "delivering" });
  expect(await delivery.status(id)).not.toHaveProperty("lastError");
  await append("new");
  await turns();
  expect(happened.at(-1)).toBe("at once new");
  await clock.advance(60_000);
  await turns();
  expect(happened.slice(-10).sort()).toEqual(old.map((messageId) => `at once ${messageId}`));
  await delivery.close(0);
});

test("deleting a destination removes its data although its first opening hangs", async () => {
  const { clock, store, create, append, delivery } = await started();
  const created = create("A");
  await turns();
  const [destination] = await store.config.list(DOCUMENT_KINDS.destination);
  const id = destination?.id ?? "";
  await append("m1");
  expect((await store.consumers.backlog(id)).behind).toBe(1);
  const removed: string[] = [];
  const { remove } = store.consumers;
  store.consumers.remove = async (consumer) => {
    removed.push(consumer);
    await remove.call(store.consumers, consumer);
  };
  expect(await removeDestination(store, id)).toBe(true);
  expect(new Set(removed)).toEqual(new Set([id]));
  await clock.advance(10_000);
  await created;
  await delivery.close(0);
});

test("a destination is opened a second later if the store cannot open its consumer at first", async () => {
  const { clock, store, create, append, delivery, happened } = await started();
  const { open } = store.consumers;
  store.consumers.open = () => Promise.reject(new Error("the disk is full"));
  await create("at once");
  store.consumers.open = (...args) => open.apply(store.consumers, args);
  await append("m1");
  await clock.advance(1_000);
  await turns();
  expect(happened).toEqual(["at once m1"]);
  await delivery.close(0);
});

test("startup does not wait for destinations, and a slow one gets its messages once it is open", async () => {
  const first = await started();
  await first.create("at once");
  const id = await first.create("at once");
  const changed = first.change(id, "A");
  await turns();
  await first.delivery.close(0);
  await changed;
  // The clock stands still, so startup waits for no timer.
  const { append, delivery, happened, opening } = await started(first);
  await append("m1");
  await turns();
  expect(happened).toEqual(["at once m1"]);
  opening.get("A")?.();
  await turns();
  expect(happened).toEqual(["at once m1", "A m1"]);
  await delivery.close(0);
});

test("a change returns after ten seconds if its destination hangs, and takes effect once that opens", async () => {
  const { clock, create, change, append, delivery, happened, opening } = await started();
  const id = await create("at once");
  const changed = change(id, "A").then(() => happened.push("answered"));
  await turns();
  await clock.advance(9_999);
  await turns();
  expect(happened).toEqual(["at once closed"]);
  await clock.advance(1);
  await changed;
  expect(happened).toEqual(["at once closed", "answered"]);
  await append("m1");
  opening.get("A")?.();
  await turns();
  expect(happened.slice(2)).toEqual(["A m1"]);
  await delivery.close(0);
});

test("closing completes a waiting change, and a destination that is deleted while opening is closed once it is open", async () => {
  const { store, create, change, delivery, happened, opening } = await started();
  const [deleted, changing] = [await create("at once"), await create("at once")];
  const first = change(deleted, "A");
  await turns();
  expect(await removeDestination(store, deleted)).toBe(true);
  opening.get("A")?.();
  await first;
  await turns();
  expect(happened.at(-1)).toBe("A closed");
  const second = change(changing, "B");
  await turns();
  await delivery.close(0);
  await second;
});

test("a change of sources takes effect at the end of the log when its settings are checked", async () => {
  const clock = manualClock();
  const store = openMemoryStore({ clock });
  const scripted = scriptedDestination().type;
  const slowToCheck: DestinationType = {
    ...scripted,
    async parseSettings(input, previous) {
      if (previous !== undefined) await store.log.append(batchOf([{ messageId: "during the check" }]));
      return scripted.parseSettings(input, previous);
    },
  };
  const deps = { store, catalog: catalogOf([slowToCheck]), clock };
  await store.config.put("source", "src_1", {
    name: "Shop",
    kind: "server",
    writeKeys: [],
    blockedEvents: [],
  });
  const made = await createDestination(deps, { type: "scripted", sourceIds: ["src_1"] });
  if (made.kind !== "changed") throw new Error(made.kind);

  const changed = await changeDestination(deps, made.destination.id, { settings: {}, sourceIds: [] });

  if (changed.kind !== "changed") throw new Error(changed.kind);
  expect(changed.destination.value.connections).toEqual([
    { sourceId: "src_1", since: BEFORE_FIRST, upTo: store.log.head() },
  ]);
});

test("a consumer that the store opens after the end does nothing", async () => {
  const clock = manualClock();
  const store = openMemoryStore({ clock });
  const { create, delivery: former } = await started({ clock, store });
  const id = await create("at once");
  const { connections } =
    (await store.config.list<DestinationDocument>(DOCUMENT_KINDS.destination))[0]?.value ?? {};
  await former.close(0);
  await store.config.put(DOCUMENT_KINDS.catchUp, `${id}/src_1`, {
    destinationId: id,
    sourceId: "src_1",
    since: connections?.[0]?.since,
  });
  await store.log.append(batchOf([{ messageId: "m1" }]));
  const { promise, resolve } = Promise.withResolvers<void>();
  const { open } = store.consumers;
  store.consumers.open = async (...args) => {
    const state = await open.apply(store.consumers, args);
    await promise;
    return { ...state, cursor: store.log.head() };
  };
  store.consumers.requeue = () => Promise.reject(new Error("the store is closed"));
  const starting = started({ clock, store });
  await turns();
  // The store answers after the destination was deleted.
  const removed = removeDestination(store, id);
  await turns();
  resolve();
  await Promise.all([starting, removed]);
  await turns();
  expect(clock.pending).toBe(0);
});
