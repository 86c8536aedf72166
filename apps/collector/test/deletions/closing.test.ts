import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  idDigest,
  openMemoryStore,
  openSqliteStore,
  StorageUnavailable,
  StoreError,
  VersionConflict,
} from "@sluice/event-log";
import { systemClock } from "@sluice/resilience";
import { type ManualClock, manualClock } from "@sluice/resilience/testing";
import { expect, test } from "vitest";
import { startCollector } from "../../src/collector.js";
import { DELETION, type DeletionDocument } from "../../src/deletions/deletion.js";
import { emptyReceipt } from "../../src/deletions/run-step.js";
import { type DeletionsOptions, startDeletions } from "../../src/deletions/start-deletions.js";
import { openSuppressions } from "../../src/documents/suppressions.js";
import { createLogger } from "../../src/process/telemetry/logger.js";

async function deletionsOptions(clock: ManualClock): Promise<DeletionsOptions> {
  const store = openMemoryStore({ clock });
  const digest = idDigest(new Uint8Array(32));
  const noFigures = { profile: false, audienceMemberships: 0 };
  return {
    store,
    clock,
    digest,
    suppressions: await openSuppressions({ store, clock, digest }),
    onPurged: async () => {},
    catalog: { get: () => undefined },
    profiles: {
      counted: async () => {},
      identitiesOf: async (identity) => ({ identities: [identity], aliases: [], ...noFigures }),
      forget: async (users) => users.map(() => noFigures),
      compact: async () => {},
    },
    logger: createLogger({ write() {} }),
    newId: () => "d1",
  };
}

test("closing interrupts a running purge, and the next start completes the deletion", async () => {
  const clock = manualClock();
  const options = await deletionsOptions(clock);
  const { store } = options;
  const purging = Promise.withResolvers<AbortSignal | undefined>();
  const deletions = await startDeletions({
    ...options,
    store: {
      ...store,
      purge: (_query, signal) => {
        purging.resolve(signal);
        return new Promise((_, reject) =>
          signal?.addEventListener("abort", () => reject(signal.reason), { once: true }),
        );
      },
    },
  });
  await deletions.create(["u:ann"], { suppress: false, includeAliases: false });
  expect(await purging.promise).toBeInstanceOf(AbortSignal);
  await deletions.close();
  expect(await deletions.get("d1")).toMatchObject({ value: { status: "running", step: "purge" } });

  const again = await startDeletions(options);
  while ((await again.get("d1"))?.value.step !== "done") await clock.advance(0);
  expect((await again.get("d1"))?.value.error).toBeUndefined();
  await again.close();
});

test("closing does not wait for a compaction, and the next start does it again", async () => {
  const clock = manualClock();
  const options = await deletionsOptions(clock);
  const compacting = Promise.withResolvers<void>();
  const compact = (): Promise<void> => {
    compacting.resolve();
    return new Promise(() => {});
  };
  const deletions = await startDeletions({ ...options, store: { ...options.store, compact } });
  await deletions.create(["u:ann"], { suppress: false, includeAliases: false });
  await compacting.promise;
  await deletions.close();
  expect((await deletions.get("d1"))?.value).toMatchObject({ status: "running", step: "erase" });
  const again = await startDeletions(options);
  while ((await again.get("d1"))?.value.step !== "done") await clock.advance(0);
  await again.close();
});

test.each([
  [new StoreError("storage_unavailable", "the servers do not answer"), "running"],
  [new StoreError("data_damaged", "run `sluice repair`"), "failed"],
])("a deletion whose step is repeated after %s is %s, with the error", async (error, status) => {
  const clock = manualClock();
  const options = await deletionsOptions(clock);
  let isBroken = true;
  const purge: DeletionsOptions["store"]["purge"] = (...args) =>
    isBroken ? Promise.reject(error) : options.store.purge(...args);
  const deletions = await startDeletions({ ...options, store: { ...options.store, purge } });
  await deletions.create(["u:ann"], { suppress: false, includeAliases: false });
  while ((await deletions.get("d1"))?.value.error === undefined) await clock.advance(0);
  expect((await deletions.get("d1"))?.value).toMatchObject({ status, error: error.message });
  isBroken = false;
  while ((await deletions.get("d1"))?.value.step !== "done") await clock.advance(1_000);
  expect((await deletions.get("d1"))?.value).toMatchObject({ status: "finished" });
  expect((await deletions.get("d1"))?.value.error).toBeUndefined();
  await deletions.close();
});

test("a collector that is closed at once ends, although a deletion of its last run waits for profiles", async () => {
  const dataDirectory = await mkdtemp(join(tmpdir(), "sluice-closing-"));
  const store = await openSqliteStore({ directory: dataDirectory, clock: systemClock });
  const identity = "u:ann" as const;
  await store.config.put<DeletionDocument>(
    DELETION,
    "del_1",
    {
      createdAt: "2026-01-01T00:00:00.000Z",
      suppress: false,
      includeAliases: true,
      status: "running",
      step: "suppress",
      users: [{ identity, identities: [], aliases: [], sourceIds: [] }],
      receipt: emptyReceipt([identity], idDigest(new Uint8Array(32))),
    },
    0,
  );
  await store.close();
  const collector = await startCollector({
    mode: "production",
    host: "127.0.0.1",
    port: 0,
    dataDirectory,
    logger: createLogger({ write() {} }),
    profilesAfterMs: 3_600_000,
  });
  await collector.close(0);
  await rm(dataDirectory, { recursive: true });
});

test("a deletion goes on when it was changed and the store fails to say how", async () => {
  const clock = manualClock();
  const options = await deletionsOptions(clock);
  const { config } = options.store;
  let failures = 0;
  const deletions = await startDeletions({
    ...options,
    store: {
      ...options.store,
      config: {
        ...config,
        put: async (kind, id, value, expected) => {
          if (expected !== 1) return config.put(kind, id, value, expected);
          failures = 1;
          throw new VersionConflict(kind, id, 2);
        },
        get: async (kind, id) => {
          if (failures-- === 1) throw new StorageUnavailable("the disk is gone");
          return config.get(kind, id);
        },
      },
    },
  });
  await deletions.create(["u:ann"], { suppress: false, includeAliases: false });
  await clock.advance(0);
  // Somebody has changed it.
  const stored = await config.get<DeletionDocument>(DELETION, "d1");
  await config.put(DELETION, "d1", { ...stored?.value, givesUp: true });
  await clock.advance(10_000);
  expect((await config.get<DeletionDocument>(DELETION, "d1"))?.value.step).toBe("done");
  await deletions.close();
});
