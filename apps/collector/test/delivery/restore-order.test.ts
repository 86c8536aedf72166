import { BEFORE_FIRST, openMemoryStore } from "@sluice/event-log";
import { batchOf } from "@sluice/event-log/testing";
import { manualClock } from "@sluice/resilience/testing";
import { expect, it } from "vitest";
import { restoreOrder } from "../../src/delivery/ordering/restore-order.js";
import { messageLoader } from "../../src/delivery/reading/message-loader.js";

it("reads a batch once for all of its retries", async () => {
  const clock = manualClock();
  const { log, consumers } = openMemoryStore({ clock });
  await log.append(batchOf([{ messageId: "m0" }, { messageId: "m1" }, { messageId: "m2" }]));
  const { cursor } = await consumers.open("dst", BEFORE_FIRST);
  const stored = await Promise.all([0, 1, 2].map((offset) => log.get(offset as typeof cursor)));
  const offsets = stored.flatMap((one) => one?.offset ?? []);
  const retry = { rounds: 1, firstAttemptAtMs: 0, dueAtMs: 0, reason: "503", doneUrls: [], replay: false };
  const retries = offsets.map((offset) => ({ ...retry, offset }));
  await consumers.settle("dst", { cursor, outcomes: [], attempts: [], retries });
  let reads = 0;
  const counted = messageLoader(
    {
      read: (after, max) => {
        reads += 1;
        return log.read(after, max);
      },
    },
    clock,
  );
  const waiting: number[] = [];
  await restoreOrder({ store: { consumers }, loader: counted }, "dst", {
    laneOf: () => 7,
    restore: (lane) => waiting.push(lane.count),
  });
  expect(waiting).toEqual([3]);
  expect(reads).toBe(1);
});
