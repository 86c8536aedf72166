import {
  memoryProfileStore,
  type ProfileStore,
  StorageUnavailable,
  type StoredBatch,
} from "@sluice/event-log";
import { expect, test } from "vitest";
import { AudienceEngine } from "../../src/engine/engine.js";
import type { CrashMarker, CrashMarkers } from "../../src/profiles/crash-marker.js";
import { EPOCH_MS } from "../definitions/definitions.js";

const BATCH: StoredBatch = {
  first: 0 as never,
  sourceId: "src",
  receivedAtMs: EPOCH_MS,
  body: Buffer.from(JSON.stringify({ batch: [{ type: "track", event: "Order", userId: "ann" }] })),
  itemCount: 1,
  skipped: [],
  madeIds: [],
};
/** More than it takes to set a message aside. */
const OWNERS = 6;

/** Where a process keeps its marker. */
function markersOfProcess(): CrashMarkers {
  let kept: CrashMarker | undefined;
  return {
    load: () => kept,
    save: (marker) => {
      kept = marker;
    },
  };
}

/** The store as a process sees it that never stores what it counted. */
function storeThatEnds(store: ProfileStore, end: () => Promise<void>): ProfileStore {
  return Object.assign(Object.create(store) as ProfileStore, {
    commit: (change: Parameters<ProfileStore["commit"]>[0]) =>
      change.cursor === undefined ? store.commit(change) : end(),
  });
}

async function countedAtLast(store: ProfileStore, crashMarkers: CrashMarkers) {
  const last = new AudienceEngine(store, { crashMarkers });
  await last.consume([BATCH], EPOCH_MS);
  return { isCounted: (await last.profile("ann")) !== undefined, setAside: await last.setAside() };
}

test("a message counts although every owner before was replaced while it counted it", async () => {
  const store = memoryProfileStore();
  const processes = [markersOfProcess(), markersOfProcess()];
  for (let owner = 0; owner < OWNERS; owner++) {
    const crashMarkers = processes[owner % 2] as CrashMarkers;
    const replaced = storeThatEnds(store, async () => {
      throw new StorageUnavailable("another process owns the log now");
    });
    const engine = new AudienceEngine(replaced, { crashMarkers });
    await expect(engine.consume([BATCH], EPOCH_MS)).rejects.toThrow("another process");
  }
  expect(await countedAtLast(store, markersOfProcess())).toEqual({ isCounted: true, setAside: [] });
  expect(processes.map((process) => process.load())).toEqual([undefined, undefined]);
});

test("a message over which a process crashes again and again is set aside, wherever its marker is kept", async () => {
  const store = memoryProfileStore();
  const crashMarkers = markersOfProcess();
  for (let start = 0; start < OWNERS; start++) {
    const began = Promise.withResolvers<void>();
    const crashing = storeThatEnds(store, () => {
      began.resolve();
      return new Promise(() => {});
    });
    void new AudienceEngine(crashing, { crashMarkers }).consume([BATCH], EPOCH_MS);
    await began.promise;
  }
  expect(await countedAtLast(store, crashMarkers)).toMatchObject({ isCounted: false, setAside: [{}] });
});
