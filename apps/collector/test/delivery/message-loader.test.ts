import type { Offset } from "@sluice/event-log";
import { openMemoryStore } from "@sluice/event-log";
import { batchOf } from "@sluice/event-log/testing";
import { manualClock } from "@sluice/resilience/testing";
import { expect, it } from "vitest";
import { messageLoader } from "../../src/delivery/reading/message-loader.js";

const FULL = 512 * 1_024;

/** A batch of one message, whose body has so many bytes. */
function sized(messageId: string, bytes: number) {
  const { byteLength } = batchOf([{ messageId, text: "" }]).body;
  return batchOf([{ messageId, text: "x".repeat(bytes - byteLength) }]);
}

async function open(
  batches = [batchOf([{ messageId: "m0" }, { messageId: "m1" }]), batchOf([{ messageId: "m2" }])],
) {
  const clock = manualClock();
  const { log } = openMemoryStore({ clock });
  for (const batch of batches) await log.append(batch);
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

it("does not take a kept batch for an earlier one", async () => {
  const { ids } = await open();
  expect([await ids(2), await ids(0)]).toEqual([["m2"], ["m0"]]);
});

it.each([
  ["both of two that have half a mebibyte together", [FULL / 2, FULL / 2], 2],
  ["the latest of two that have more", [FULL / 2, FULL / 2 + 1], 3],
  ["one that is larger, as long as it is the latest", [100, FULL + 1], 3],
])("keeps %s", async (_what, sizes, expected) => {
  const { ids, reads } = await open(sizes.map((bytes, at) => sized(`m${at}`, bytes)));
  await ids(0);
  await ids(1);
  expect([await ids(1), await ids(0)]).toEqual([["m1"], ["m0"]]);
  expect(reads()).toBe(expected);
});
