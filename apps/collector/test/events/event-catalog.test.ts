import { DOCUMENT_KINDS, type NewBatch, openMemoryStore, type Store } from "@sluice/event-log";
import { batchOf } from "@sluice/event-log/testing";
import { manualClock } from "@sluice/resilience/testing";
import { describe, expect, it } from "vitest";
import { type EventCatalog, startEventCatalog } from "../../src/events/event-catalog.js";

const SOURCES = ["src_kept", "src_deleted"] as const;

/** The catalog of a store whose sources are those that have a document, as it is now. */
async function catalogOf(store: Store, clock: ReturnType<typeof manualClock>): Promise<EventCatalog> {
  const sources = await store.config.list(DOCUMENT_KINDS.source);
  const ids = new Set(sources.map(({ id }) => id));
  return startEventCatalog({
    ...{ store, clock, logger: { warn: () => {} } },
    planOf: () => undefined,
    isSource: (id) => ids.has(id),
    onReported: () => {},
  });
}

async function countedSources() {
  const clock = manualClock();
  const store = openMemoryStore({ clock });
  for (const id of SOURCES) await store.config.put(DOCUMENT_KINDS.source, id, {});
  const catalog = await catalogOf(store, clock);
  for (const sourceId of SOURCES)
    catalog.addRefused({
      ...{ sourceId, atMs: clock.now() },
      message: { type: "track", event: "Ordered" },
      violation: { path: "", message: "is not planned" },
    });
  return { clock, store, catalog };
}

const namesIn = (catalog: EventCatalog) =>
  SOURCES.map((id) =>
    catalog
      .of(id)
      .list()
      .map(({ name }) => name),
  );
const storedIn = async ({ config }: Store) =>
  (await config.list(DOCUMENT_KINDS.eventCatalog)).map(({ id }) => id).sort();

it("forgets a source whose document is deleted, whoever deletes it", async () => {
  const { store, catalog } = await countedSources();
  await store.config.delete(DOCUMENT_KINDS.source, "src_deleted");
  expect(namesIn(catalog)).toEqual([["Ordered"], []]);
  await catalog.close();
  expect(await storedIn(store)).toEqual(["position", "src_kept"]);
});

it("forgets at its start what was deleted meanwhile", async () => {
  const { clock, store, catalog } = await countedSources();
  await catalog.close();
  expect(await storedIn(store)).toEqual(["position", "src_deleted", "src_kept"]);
  await store.config.delete(DOCUMENT_KINDS.source, "src_deleted");
  const next = await catalogOf(store, clock);
  expect(namesIn(next)).toEqual([["Ordered"], []]);
  expect(await storedIn(store)).toEqual(["position", "src_kept"]);
  await next.close();
});

it("ends in order while the store cannot be written", async () => {
  const clock = manualClock();
  const store = openMemoryStore({ clock });
  await store.config.put(DOCUMENT_KINDS.source, "src_kept", {});
  const catalog = await catalogOf(store, clock);
  catalog.addRefused({
    ...{ sourceId: "src_kept", atMs: clock.now() },
    message: { type: "track", event: "Ordered" },
    violation: { path: "", message: "is not planned" },
  });
  store.breakDown("the disk is full");
  await expect(catalog.close()).resolves.toBeUndefined();
});

describe("batches that are handed on", () => {
  let made = 0;
  const ordered = (messages: number): NewBatch =>
    batchOf(
      Array.from({ length: messages }, () => {
        made += 1;
        return { type: "track", event: "Ordered", messageId: `m${made}`, userId: "u" };
      }),
      { sourceId: "src_kept" },
    );

  async function world() {
    const clock = manualClock();
    const store = openMemoryStore({ clock });
    await store.config.put(DOCUMENT_KINDS.source, "src_kept", {});
    const reads = { count: 0 };
    const log = new Proxy(store.log, {
      get(target, name) {
        if (name === "read") reads.count += 1;
        return Reflect.get(target, name);
      },
    });
    const catalog = await catalogOf({ ...store, log }, clock);
    const append = async (batch: NewBatch, isHandedOn: boolean): Promise<void> => {
      const count = isHandedOn ? catalog.admit(batch) : undefined;
      const { first } = await store.log.append(batch);
      if (first !== undefined) count?.(first);
    };
    const counted = async (): Promise<number | undefined> => {
      while (catalog.behind > 0) await clock.advance(1_000);
      return catalog.of("src_kept").list()[0]?.count;
    };
    // Unknown names, and the first messages of a name, are read; then one message from time to time.
    for (const messages of [1, 60]) {
      await append(ordered(messages), true);
      expect(catalog.behind).toBe(messages);
      await counted();
    }
    reads.count = 0;
    return { clock, reads, catalog, append, counted };
  }

  it("are counted and not read", async () => {
    const { reads, catalog, append, counted } = await world();
    await append(ordered(3), true);
    await append(ordered(2), true);
    expect(catalog.behind).toBe(0);
    expect(await counted()).toBe(66);
    expect(reads.count).toBe(0);
    await catalog.close();
  });

  it("are counted once, after those before them", async () => {
    const { reads, catalog, append, counted } = await world();
    await append(ordered(4), false);
    await append(ordered(3), true);
    await append(ordered(2), false);
    await append(ordered(1), true);
    expect(await counted()).toBe(71);
    expect(reads.count).toBe(2);
    await catalog.close();
  });

  it("are looked into again from time to time", async () => {
    const { clock, reads, catalog, append, counted } = await world();
    await clock.advance(2_000);
    await append(ordered(1), true);
    await append(ordered(1), true);
    expect(await counted()).toBe(63);
    expect(reads.count).toBe(1);
    expect(catalog.of("src_kept").list()[0]?.sampled).toBe(62);
    await catalog.close();
  });
});
