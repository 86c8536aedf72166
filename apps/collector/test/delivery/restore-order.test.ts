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

/** A consumer's retries without a lane and its lanes, in pages, and what was stored and restored of them. */
async function restored(
  retries: number,
  withoutLane: number[][],
  lanes: number[][],
  laneOf: (id: string) => number | undefined,
) {
  const asked: unknown[][] = [];
  const settled: unknown[] = [];
  const page = (pages: number[][], after: number | undefined): number[] =>
    pages.find((one) => after === undefined || after < (one[0] ?? 0)) ?? [];
  const consumers = {
    backlog: async () => ({ behind: 0, retries }),
    async withoutLane(...args: [string, number, number]) {
      asked.push(["withoutLane", ...args]);
      return page(withoutLane, args[1]).map((offset) => ({ offset }));
    },
    async lanes(...args: [string, number, number | undefined]) {
      asked.push(["lanes", ...args]);
      return page(lanes, args[2]).map((lane) => ({ lane }));
    },
    settle: async (_id: string, settlement: { lanes?: unknown }) => settled.push(settlement.lanes),
  };
  const found: unknown[] = [];
  await restoreOrder(
    {
      store: { consumers } as never,
      // The message at offset 9 was removed.
      loader: { load: async (offset) => (offset === 9 ? undefined : ({ messageId: `m${offset}` } as never)) },
    },
    "dst",
    { laneOf: ({ messageId }) => laneOf(messageId), restore: ({ lane }) => found.push(lane) },
  );
  return { asked, settled, found };
}

it("puts retries into the lanes of their users, page by page, and gives all lanes to the consumer", async () => {
  const { asked, settled, found } = await restored(
    5,
    [
      [1, 2],
      [7, 9],
    ],
    [[4, 5], [6]],
    (id) => (id === "m2" ? undefined : Number(id.slice(1)) * 10),
  );
  expect(settled).toEqual([[{ offset: 1, lane: 10 }], [{ offset: 7, lane: 70 }]]);
  expect(found).toEqual([4, 5, 6]);
  expect(asked).toEqual([
    ["withoutLane", "dst", -1, 500],
    ["withoutLane", "dst", 2, 500],
    ["withoutLane", "dst", 9, 500],
    ["lanes", "dst", 500, undefined],
    ["lanes", "dst", 500, 5],
    ["lanes", "dst", 500, 6],
  ]);
});

it.each([
  ["has no retries", 0, [[1]], ["lanes"]],
  ["has none whose order counts", 1, [[1]], ["withoutLane", "withoutLane", "lanes"]],
])("stores nothing for a consumer that %s", async (_what, retries, pages, calls) => {
  const { asked, settled } = await restored(retries, pages, [], () => undefined);
  expect([asked.map(([call]) => call), settled]).toEqual([calls, []]);
});
