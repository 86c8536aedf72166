import type { Offset } from "@sluice/event-log";
import { openMemoryStore } from "@sluice/event-log";
import { batchOf } from "@sluice/event-log/testing";
import { manualClock } from "@sluice/resilience/testing";
import { expect, it } from "vitest";
import { messageLoader } from "../../src/delivery/reading/message-loader.js";

async function open() {
  const clock = manualClock();
  const { log } = openMemoryStore({ clock });
  await log.append(batchOf([{ messageId: "m0" }, { messageId: "m1" }]));
  await log.append(batchOf([{ messageId: "m2" }]));
  let reads = 0;
  const loader = messageLoader(
    {
      read: (after, max) => {
        reads += 1;
        return log.read(after, max);
      },
    },
    clock,
  );
  const ids = async (...offsets: number[]) =>
    (await Promise.all(offsets.map((offset) => loader.load(offset as Offset)))).map((one) => one?.messageId);
  return { clock, ids, reads: () => reads };
}

it("reads a batch once for all of its messages that are requested together", async () => {
  const { ids, reads } = await open();
  expect(await ids(1, 0, 1, 0)).toEqual(["m1", "m0", "m1", "m0"]);
  expect(reads()).toBe(1);
  expect(await ids(2, 0)).toEqual(["m2", "m0"]);
  expect(reads()).toBe(2);
});

it("caches nothing for longer than a second, and caches no missing message", async () => {
  const { clock, ids, reads } = await open();
  expect(await ids(0, 9)).toEqual(["m0", undefined]);
  await clock.advance(1_000);
  expect(await ids(0)).toEqual(["m0"]);
  expect(reads()).toBe(3);
});
