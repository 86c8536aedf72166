import { cpSync, rmSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "@sluice/resilience";
import type { ManualClock } from "@sluice/resilience/testing";
import { openMemoryStore } from "../../src/memory/open-memory-store.js";
import type { Store } from "../../src/ports/store.js";
import { openSqliteStore, type SqliteStoreOptions } from "../../src/sqlite/open-sqlite-store.js";
import { type Engines, memoryEngines, openChangingOwners } from "./changing-owners.js";

/** A store that is open, on data of its own. */
export interface Opened {
  readonly store: Store;
  /** Closes the store and opens it again on the same data. */
  reopen(): Promise<Store>;
  /** Called before each call of a history. Resolves with the store that takes its place from then on, if there is one. */
  beforeCall?(): Promise<Store | undefined>;
  close(): Promise<void>;
}

export type OpenOn = (directory: string, clock: ManualClock) => Promise<Opened>;

/** Its code says most plainly what the ports mean. It keeps its data when it is opened again. */
export const inMemory: OpenOn = async (_directory, clock) => {
  const store = openMemoryStore({ clock });
  return { store, reopen: async () => store, close: () => store.close() };
};

/** Each is compared with the store in memory, in a share of the histories. A new store is a line here. */
export const STORES: readonly (readonly [name: string, open: OpenOn, share: number])[] = [
  ["sqlite", inSqlite({ syncLog: false }), 1],
  [
    "sqlite, in small segments",
    inSqlite({ segmentMessages: 4, checkpointBytes: 32 * 1_024, syncLog: false }),
    1,
  ],
  ["sqlite, with crashes", inCrashingSqlite, 1],
  ["replicated, with changing owners", replicatedOver(memoryEngines), 0.25],
];

function inSqlite(tuning: NonNullable<SqliteStoreOptions["tuning"]>): OpenOn {
  return async (directory, clock) => {
    const open = (): Promise<Store> => openSqliteStore({ directory, clock, tuning });
    let store = await open();
    return {
      store,
      async reopen() {
        await store.close();
        store = await open();
        return store;
      },
      close: () => store.close(),
    };
  };
}

/** A restart follows a crash: the process is killed, or the machine loses power and SQLite's unsynced commits are gone. */
async function inCrashingSqlite(directory: string, clock: ManualClock): Promise<Opened> {
  let crashes = 0;
  const folder = (): string => join(directory, String(crashes));
  const open = (): Promise<Store> =>
    openSqliteStore({ directory: folder(), clock, tuning: { segmentMessages: 4, syncLog: false } });
  let store = await open();
  return {
    store,
    async reopen() {
      // Nobody waits for refused messages. What was asked for before an answer is stored with it.
      await store.config.list("source");
      const before = folder();
      crashes += 1;
      cpSync(before, folder(), { recursive: true });
      await store.close();
      rmSync(before, { recursive: true });
      if (crashes % 2 === 0) rmSync(join(folder(), "sluice.db-wal"), { force: true });
      store = await open();
      return store;
    },
    close: () => store.close(),
  };
}

/** Calls between two changes of the owner. */
const CALLS_OF_AN_OWNER = 3;

/** A replicated store whose owner changes after every few calls: in order, or by a takeover that the former owner does not know of. */
export function replicatedOver(newEngines: () => Promise<Engines>): OpenOn {
  return async (directory, manual) => {
    // Waiting for the engine takes real time.
    const clock = { ...manual, sleep: systemClock.sleep };
    const owners = await openChangingOwners(directory, clock, await newEngines());
    let calls = 0;
    return {
      store: (await owners.next("hand over")).store,
      reopen: async () => (await owners.next("hand over")).store,
      async beforeCall() {
        calls += 1;
        if (calls % CALLS_OF_AN_OWNER !== 0) return undefined;
        const how = calls % (2 * CALLS_OF_AN_OWNER) === 0 ? "hand over" : "take over";
        return (await owners.next(how)).store;
      },
      close: () => owners.close(),
    };
  };
}
