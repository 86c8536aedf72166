import { openMemoryStore, type Snapshots } from "@sluice/event-log";
import { temporaryDirectories } from "@sluice/event-log/testing";
import { manualClock } from "@sluice/resilience/testing";
import { describe, expect, it } from "vitest";
import { PIECE_BYTES, startBackups } from "../../src/backups/start-backups.js";

const temporaryDirectory = temporaryDirectories();

const turn = (): Promise<void> => new Promise(setImmediate);

/** Backups of a store with a file of three pieces. `ends`: how the snapshot of the store ends. */
function startedBackups({
  ends = turn,
  list,
}: {
  ends?: () => Promise<void>;
  list?: () => Promise<never>;
} = {}) {
  const clock = manualClock({});
  /** Places that were read, for each snapshot. */
  const reads: number[][] = [];
  /** The first pause between two pieces: reached, and over. */
  const paused = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  const snapshots: Snapshots = {
    begin: async () => {
      await turn();
      reads.push([]);
      return { file: "sluice.db", bytes: 3 * PIECE_BYTES, layout: 1 };
    },
    read: async (at, bytes) => {
      await turn();
      reads.at(-1)?.push(at);
      return new Uint8Array(bytes).fill(at / PIECE_BYTES);
    },
    end: ends,
  };
  const store = { ...openMemoryStore({ clock }), snapshots };
  const backups = startBackups({
    store: list === undefined ? store : { ...store, config: { ...store.config, list } },
    audiences: {
      beginSnapshot: async (beginLog) => ({ profiles: undefined, log: await beginLog() }),
      snapshot: { read: snapshots.read, end: turn },
    },
    clock: {
      ...clock,
      sleep: async () => {
        paused.resolve();
        await goOn.promise;
      },
    },
    dataDirectory: temporaryDirectory(),
    version: "0.0.0-test",
    isKeyInEnvironment: true,
  });
  return {
    backups,
    reads,
    paused: paused.promise,
    goOn: goOn.resolve,
  };
}

it("reads nothing of the next backup after a backup was ended", async () => {
  const { backups, reads, paused, goOn } = startedBackups();
  const first = await backups.begin();
  const rest = (async () => {
    for await (const _ of first.archive());
  })();
  await paused;
  await first.end();
  await backups.begin();
  goOn();
  await expect(rest).rejects.toThrow(/ended/);
  expect(reads).toEqual([[0], []]);
});

describe("a second backup", () => {
  const CONFLICT = /another backup of this collector is running/;

  it("is refused while one begins, is read or is ending, and begins when it has ended", async () => {
    const held = Promise.withResolvers<void>();
    const { backups, reads } = startedBackups({ ends: () => held.promise });
    const beginning = backups.begin();
    await expect(backups.begin()).rejects.toThrow(CONFLICT);
    const first = await beginning;
    await expect(backups.begin()).rejects.toThrow(CONFLICT);
    const ended = [first.end(), first.end()];
    let resolved = 0;
    for (const one of ended) void one.then(() => (resolved += 1));
    await turn();
    expect(resolved).toBe(0);
    await expect(backups.begin()).rejects.toThrow(CONFLICT);
    held.resolve();
    await Promise.all(ended);
    const second = await backups.begin();
    // The end of one does not end another.
    await first.end();
    await expect(backups.begin()).rejects.toThrow(CONFLICT);
    await second.end();
    expect(reads).toHaveLength(2);
  });

  it("begins after one that could not begin, whose snapshot has ended", async () => {
    let ends = 0;
    let fails = true;
    const { backups } = startedBackups({
      ends: async () => {
        await turn();
        ends += 1;
      },
      list: async () => {
        await turn();
        if (fails) throw new Error("the store is down");
        return [] as never;
      },
    });
    await expect(backups.begin()).rejects.toThrow("the store is down");
    expect(ends).toBe(1);
    fails = false;
    await (await backups.begin()).end();
    expect(ends).toBe(2);
  });

  it("begins after one whose snapshot could not be ended", async () => {
    const { backups } = startedBackups({ ends: () => Promise.reject(new Error("the store is down")) });
    await (await backups.begin()).end();
    await (await backups.begin()).end();
  });

  it("begins after one whose reader stopped in the middle", async () => {
    const { backups, paused, goOn } = startedBackups();
    const first = await backups.begin();
    const reading = first.archive();
    await reading.next();
    await paused;
    const stopped = reading.return(undefined);
    goOn();
    await stopped;
    await first.end();
    await (await backups.begin()).end();
  });
});
