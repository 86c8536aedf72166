import { DOCUMENT_KINDS, openMemoryStore, type Store } from "@sluice/event-log";
import { manualClock } from "@sluice/resilience/testing";
import { expect, it } from "vitest";
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
