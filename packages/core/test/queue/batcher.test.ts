import { manualClock } from "@sluice/resilience/testing";
import { expect, it } from "vitest";
import { Batcher, type BatcherOptions } from "../../src/queue/batcher.js";
import { RoomWaiters } from "../../src/queue/timer-scheduler.js";
import type { SendReport } from "../../src/sending/outcome.js";
import { abandonedBy } from "../../src/sending/pauses.js";

/** Parts of the batcher with doubles that no engine has: senders that break their contract, and a counted `defer`. */
function batcherWith(options: Pick<BatcherOptions, "sender"> & Partial<BatcherOptions>): {
  readonly batcher: Batcher;
  readonly reports: readonly SendReport[];
} {
  const reports: SendReport[] = [];
  const batcher = new Batcher({
    policy: { kind: "eager", flushAt: 1, flushAfterMs: 5_000 },
    batch: { messages: 1, bytes: 1_000 },
    limits: { messages: 10, bytes: 1_000_000 },
    maxInFlight: 1,
    clock: manualClock(),
    defer: (task) => void setImmediate(task),
    hold: () => () => {},
    onOutcome: (report) => reports.push(report),
    countsSpooled: false,
    ...options,
  });
  return { batcher, reports };
}
const message = (messageId: string) => ({ messageId, json: "{}", bytes: 2 });

it("gives a batch up whose sender throws, and goes on with the next", async () => {
  let sends = 0;
  const { batcher, reports } = batcherWith({
    sender: {
      send: async () => {
        sends += 1;
        if (sends === 1) throw new TypeError("a bug");
        return { kind: "delivered", status: 200, rejected: [] };
      },
    },
  });
  batcher.offer(message("m1"));
  batcher.offer(message("m2"));
  expect(await batcher.flush()).toEqual({ delivered: 1, failed: 1, refused: 0 });
  expect(reports[0]?.outcome).toMatchObject({ kind: "rejected", status: -1 });
});

it("gives up what a request had in flight whose end stopped its sender for good", async () => {
  let sends = 0;
  const { batcher, reports } = batcherWith({
    isInRequest: () => true,
    sender: {
      send: (_, signal) => {
        sends += 1;
        if (sends === 1) return new Promise(() => {});
        return new Promise((resolve) => {
          signal.addEventListener("abort", () => resolve(abandonedBy(signal)));
        });
      },
    },
  });
  batcher.offer(message("m1"));
  const flushed = batcher.flush();
  batcher.abandonAll("close_deadline");
  expect(await flushed).toEqual({ delivered: 0, failed: 1, refused: 0 });
  expect(reports.map(({ outcome }) => outcome)).toEqual([{ kind: "abandoned", deadline: "close_deadline" }]);
});

it("asks for one turn of the event loop at a time, and for none while callers wait without room", async () => {
  let room = 2;
  const tasks: (() => void)[] = [];
  const waiters = new RoomWaiters({
    room: () => room,
    defer: (task) => tasks.push(task),
    hold: () => () => {},
  });
  await waiters.ready();
  await waiters.ready();
  expect(tasks).toHaveLength(1);
  room = 0;
  void waiters.ready();
  for (const task of tasks.splice(0)) task();
  waiters.wake();
  expect(tasks).toHaveLength(0);
});
