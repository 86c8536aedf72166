import { BEFORE_FIRST, type Offset, openMemoryStore } from "@sluice/event-log";
import { type BatchOptions, batchOf } from "@sluice/event-log/testing";
import { manualClock } from "@sluice/resilience/testing";
import { expect, it } from "vitest";
import { messagesOf, sharedReader } from "../../src/delivery/reading/shared-reader.js";

const KIB = 1_024;

interface Batch extends BatchOptions {
  readonly ids: readonly string[];
  /** Of each message's text. */
  readonly bytes?: number;
  readonly onlyDestinations?: readonly string[];
}

/** A reader over a log with a batch for each entry, and the places that were read in the log. */
async function openReader(...batches: readonly Batch[]) {
  const { log } = openMemoryStore({ clock: manualClock() });
  for (const { ids, bytes = 0, onlyDestinations, ...options } of batches) {
    const text = "x".repeat(bytes);
    const batch = batchOf(
      ids.map((messageId) => ({ messageId, text })),
      options,
    );
    await log.append(onlyDestinations === undefined ? batch : { ...batch, onlyDestinations });
  }
  const read: number[] = [];
  const failing = { now: false };
  const reader = sharedReader({
    async read(after, limits) {
      read.push(after);
      if (failing.now) throw new Error("down");
      return log.read(after, limits);
    },
  });
  return { log, reader, read, failing };
}

it("reads a place once for all who ask for it", async () => {
  const { reader, read } = await openReader({ ids: ["a"] });
  const [first, second] = await Promise.all([reader.read(BEFORE_FIRST), reader.read(BEFORE_FIRST)]);
  expect(second).toBe(first);
  expect(await reader.read(BEFORE_FIRST)).toBe(first);
  expect(read).toEqual([BEFORE_FIRST]);
});

it("reads the end of the log and a place that could not be read each time", async () => {
  const { log, reader, read, failing } = await openReader({ ids: ["a"] });
  const end = log.head();
  expect([await reader.read(end), await reader.read(end)]).toEqual([[], []]);
  failing.now = true;
  await expect(reader.read(BEFORE_FIRST)).rejects.toThrow("down");
  failing.now = false;
  expect(await reader.read(BEFORE_FIRST)).toHaveLength(1);
  expect(read).toEqual([end, end, BEFORE_FIRST, BEFORE_FIRST]);
});

it("keeps the last eight reads", async () => {
  const { reader, read } = await openReader({ ids: Array.from({ length: 9 }, (_, at) => `m${at}`) });
  for (let at = -1; at < 8; at++) await reader.read(at as Offset);
  await reader.read(0 as Offset);
  expect(read).toHaveLength(9);
  await reader.read(-1 as Offset);
  expect(read).toHaveLength(10);
});

it("keeps the messages of a batch decoded, of the latest 1 MiB", async () => {
  const { reader } = await openReader(...["a", "b", "c"].map((id) => ({ ids: [id], bytes: 400 * KIB })));
  const batches = [];
  for (const after of [-1, 0, 1]) batches.push((await reader.read(after as Offset))[0]);
  const [first, second, third] = batches;
  const decoded = [first?.messages(), second?.messages(), third?.messages()];
  expect(third?.messages()).toBe(decoded[2]);
  expect(second?.messages()).toBe(decoded[1]);
  expect(first?.messages()).not.toBe(decoded[0]);
  expect(first?.messages()).toEqual(decoded[0]);
});

it("keeps a batch decoded that is larger than that, as long as it is the latest", async () => {
  const { reader } = await openReader({ ids: ["a", "b", "c"], bytes: 500 * KIB });
  const [batch] = await reader.read(BEFORE_FIRST);
  expect(batch?.messages()).toBe(batch?.messages());
});

it("finds a source's messages in a span of the log, without those for one destination", async () => {
  const { reader, read } = await openReader(
    { ids: ["a0", "a1"], sourceId: "src_a" },
    { ids: ["b0"], sourceId: "src_b" },
    { ids: ["a2"], sourceId: "src_a", onlyDestinations: ["dst"] },
    { ids: ["a3", "a4"], sourceId: "src_a" },
  );
  const found = async (after: number, upTo: number): Promise<string[]> => {
    const ids: string[] = [];
    for await (const { messageId } of messagesOf(reader, "src_a", after as Offset, upTo as Offset))
      ids.push(messageId);
    return ids;
  };
  const [, { last: second = 0 } = {}] = await reader.read(BEFORE_FIRST);
  const all = await found(BEFORE_FIRST, 1e9);
  expect(all).toEqual(["a0", "a1", "a3", "a4"]);
  expect(await found(BEFORE_FIRST, second)).toEqual(["a0", "a1"]);
  expect(await found(second, 1e9)).toEqual(["a3", "a4"]);
  expect(await found(BEFORE_FIRST + 1, second + 2)).toEqual(["a1", "a3"]);
  const reads = read.length;
  expect([await found(1e6, 1e6), read.length]).toEqual([[], reads]);
});
