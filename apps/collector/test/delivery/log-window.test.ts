import type { Offset, StoredMessage } from "@sluice/event-log";
import { expect, it } from "vitest";
import { LogWindow } from "../../src/delivery/reading/log-window.js";
import type { ReadBatch } from "../../src/delivery/reading/shared-reader.js";

const MIB = 1_024 * 1_024;
const START = 10;

/** A window over a log whose reads the test answers. It starts after message 10. */
function openWindow() {
  const reads: {
    readonly after: number;
    answer(...batches: ReadBatch[]): Promise<void>;
    fail(): Promise<void>;
  }[] = [];
  const told = { read: 0, failed: 0, decoded: 0 };
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  const window = new LogWindow({
    start: START as Offset,
    concerns: ({ sourceId }) => sourceId === "mine",
    onRead: () => {
      told.read += 1;
    },
    onFailure: () => {
      told.failed += 1;
    },
    reader: {
      read: (after) =>
        new Promise((resolve, reject) => {
          reads.push({
            after,
            answer(...batches) {
              resolve(batches);
              return turn();
            },
            fail() {
              reject(new Error("down"));
              return turn();
            },
          });
        }),
    },
  });
  /** A batch with the messages from `first` to `last`, each with a text of so many bytes. */
  const batch = (first: number, last: number, bytes = 1, sourceId = "mine"): ReadBatch => ({
    sourceId,
    last: last as Offset,
    messages() {
      told.decoded += 1;
      return Array.from({ length: last - first + 1 }, (_, index) => ({
        offset: first + index,
        message: { type: "track", text: "x".repeat(bytes) },
      })) as unknown as StoredMessage[];
    },
  });
  const takeAll = (): number[] => {
    const taken: number[] = [];
    for (let stored = window.take(); stored !== undefined; stored = window.take()) taken.push(stored.offset);
    return taken;
  };
  const readAfter = (): number[] => reads.map(({ after }) => after);
  return { window, reads, told, batch, takeAll, readAfter };
}

it("gives the messages in order, and knows the end of the log when a read finds nothing more", async () => {
  const { window, reads, told, batch, takeAll, readAfter } = openWindow();
  expect([window.atEnd, window.take()]).toEqual([false, undefined]);
  window.fill();
  window.fill();
  expect(window.atEnd).toBe(false);
  await reads[0]?.answer(batch(9, 12), batch(13, 14));
  expect(takeAll()).toEqual([11, 12, 13, 14]);
  expect([window.passed, window.atEnd]).toEqual([14, false]);
  window.fill();
  await reads[1]?.answer();
  expect([window.atEnd, told.read, readAfter()]).toEqual([true, 2, [START, 14]]);
  window.fill();
  expect(reads).toHaveLength(2);
  window.notify();
  expect(window.atEnd).toBe(false);
  window.fill();
  expect(readAfter()).toEqual([START, 14, 14]);
});

it("has three reads ahead at most, and reads on when the messages of one are taken", async () => {
  const { window, reads, batch, readAfter } = openWindow();
  for (const [at, last] of [20, 30, 40].entries()) {
    window.fill();
    await reads[at]?.answer(batch(last - 1, last));
  }
  window.fill();
  expect(readAfter()).toEqual([START, 20, 30]);
  window.take();
  window.fill();
  expect(reads).toHaveLength(3);
  window.take();
  window.fill();
  expect(readAfter()).toEqual([START, 20, 30, 40]);
});

it("passes what does not concern the destination without decoding it", async () => {
  const { window, reads, told, batch, takeAll, readAfter } = openWindow();
  window.fill();
  await reads[0]?.answer(batch(11, 12, 1, "other"), batch(13, 13), batch(14, 20, 1, "other"));
  expect(takeAll()).toEqual([13]);
  expect(window.passed).toBe(13);
  window.fill();
  expect([window.passed, told.decoded, readAfter()]).toEqual([20, 1, [START, 20]]);
});

it("does not count reads as ahead that do not concern the destination", async () => {
  const { window, reads, batch } = openWindow();
  for (let at = 0; at < 5; at++) {
    window.fill();
    await reads[at]?.answer(batch(20 + at, 20 + at, 1, "other"));
  }
  expect(reads).toHaveLength(5);
});

it("decodes 2 MiB of a batch at a time, and a larger message alone", async () => {
  const { window, reads, told, batch, takeAll } = openWindow();
  window.fill();
  await reads[0]?.answer(batch(11, 14, 0.9 * MIB), batch(15, 16, 3 * MIB));
  window.take();
  window.take();
  expect(told.decoded).toBe(1);
  window.take();
  expect(told.decoded).toBe(2);
  expect(takeAll()).toEqual([14, 15, 16]);
  expect(told.decoded).toBe(4);
});

it("reads again what was not taken when it was dropped, and ignores a read that was under way", async () => {
  const { window, reads, told, batch, takeAll, readAfter } = openWindow();
  window.fill();
  await reads[0]?.answer(batch(11, 12), batch(13, 13));
  window.take();
  window.fill();
  window.drop();
  expect(takeAll()).toEqual([]);
  await reads[1]?.answer(batch(14, 20));
  expect([told.read, takeAll()]).toEqual([2, []]);
  window.fill();
  expect(readAfter()).toEqual([START, 13, 11]);
  await reads[2]?.answer(batch(11, 12), batch(13, 13));
  expect(takeAll()).toEqual([12, 13]);
});

it("does not pass what it has decoded and not given yet", async () => {
  const { window, reads, batch, takeAll } = openWindow();
  window.fill();
  await reads[0]?.answer(batch(11, 13));
  window.take();
  window.fill();
  expect(window.passed).toBe(11);
  expect(takeAll()).toEqual([12, 13]);
});

it("goes on behind a batch whose messages were removed", async () => {
  const { window, reads, batch, takeAll } = openWindow();
  window.fill();
  await reads[0]?.answer({ ...batch(11, 12), messages: () => [] }, batch(13, 13));
  expect(takeAll()).toEqual([13]);
});

it("stays at the end if nothing is dropped", async () => {
  const { window, reads } = openWindow();
  window.fill();
  await reads[0]?.answer();
  window.drop();
  expect(window.atEnd).toBe(true);
});

it("drops what does not concern the destination too: it may by now", async () => {
  const { window, reads, batch, readAfter } = openWindow();
  window.fill();
  await reads[0]?.answer(batch(11, 12, 1, "other"));
  window.drop();
  window.fill();
  expect(readAfter()).toEqual([START, START]);
});

it("reads the same again after a failure", async () => {
  const { window, reads, told, readAfter } = openWindow();
  window.fill();
  await reads[0]?.fail();
  expect([told.failed, told.read, window.atEnd]).toEqual([1, 0, false]);
  window.fill();
  expect(readAfter()).toEqual([START, START]);
});
