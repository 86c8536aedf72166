import { openMemoryStore, type Snapshots } from "@sluice/event-log";
import { temporaryDirectories } from "@sluice/event-log/testing";
import { manualClock } from "@sluice/resilience/testing";
import { expect, it } from "vitest";
import { PIECE_BYTES, startBackups } from "../../src/backups/start-backups.js";

const temporaryDirectory = temporaryDirectories();

/** Backups of a store with a file of three pieces. */
function startedBackups() {
  const clock = manualClock({});
  /** Places that were read, for each snapshot. */
  const reads: number[][] = [];
  /** The first pause between two pieces: reached, and over. */
  const paused = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  const snapshots: Snapshots = {
    begin: async () => {
      reads.push([]);
      return { file: "sluice.db", bytes: 3 * PIECE_BYTES, layout: 1 };
    },
    read: async (at, bytes) => {
      reads.at(-1)?.push(at);
      return new Uint8Array(bytes).fill(at / PIECE_BYTES);
    },
    end: async () => {},
  };
  const backups = startBackups({
    store: { ...openMemoryStore({ clock }), snapshots },
    audiences: {
      beginSnapshot: async (beginLog) => ({ profiles: undefined, log: await beginLog() }),
      snapshot: { read: snapshots.read, end: async () => {} },
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
