import { type NewBatch, type Offset, openMemoryStore } from "@sluice/event-log";
import { manualClock } from "@sluice/resilience/testing";
import { expect, test } from "vitest";
import { UnreadMessages } from "../../src/delivery/reading/unread-messages.js";

const at = (offset: number): Offset => offset as Offset;

function batch(
  sourceId: string,
  ids: readonly string[],
  only: Pick<NewBatch, "onlyDestinations"> = {},
): NewBatch {
  const messages = ids.map((messageId) => ({ type: "track", event: "E", userId: "u", messageId }));
  return {
    ...{ sourceId, receivedAtMs: 1, itemCount: ids.length, skipped: [], madeIds: [], ...only },
    body: new TextEncoder().encode(JSON.stringify({ batch: messages })),
    keys: ids.map((messageId, index) => ({ index, messageId, userId: "u", type: "track", event: "E" })),
  };
}

test("counts what its connections and batches for it alone have, as the range moves", async () => {
  const { log } = await openMemoryStore({ clock: manualClock() });
  const unread = new UnreadMessages("dst_1", log);
  const tallied: [after: number, upTo: number][] = [];
  const { tally } = log;
  log.tally = (after, upTo) => {
    tallied.push([after, upTo]);
    return tally(after, upTo);
  };
  const connections = [
    { sourceId: "src_1", since: at(-1) },
    { sourceId: "src_2", since: at(4), upTo: at(6) },
  ];
  const count = (passed: number) => unread.after(at(passed), { connections, disabledSpans: [] });
  await log.append(batch("src_1", ["0", "1", "2"]));
  await log.append(batch("src_2", ["3", "4", "5", "6", "7"]));
  // 3 of the first source, and 5 and 6 of the second one, which was connected for these.
  expect(await count(-1)).toEqual({ unread: 5, skipped: 0 });
  await log.append(batch("src_9", ["8"]));
  await log.append(batch("src_9", ["9"], { onlyDestinations: ["dst_1", "dst_2"] }));
  await log.append(batch("src_1", ["10", "11"], { onlyDestinations: ["dst_2"] }));
  tallied.length = 0;
  expect(await count(-1)).toEqual({ unread: 6, skipped: 0 });
  expect(await count(5)).toEqual({ unread: 2, skipped: 0 });
  // Nothing was counted again but what came and what left.
  expect(tallied).toEqual([
    [7, 11],
    [-1, 4],
    [4, 5],
  ]);
  expect(await count(11)).toEqual({ unread: 0, skipped: 0 });
});

test("counts anew for other connections", async () => {
  const { log } = await openMemoryStore({ clock: manualClock() });
  const unread = new UnreadMessages("dst_1", log);
  await log.append(batch("src_1", ["0", "1"]));
  await log.append(batch("src_2", ["2"]));
  for (const [sourceId, expected] of [
    ["src_1", 2],
    ["src_2", 1],
  ] as const) {
    const connections = [{ sourceId, since: at(-1) }];
    expect(await unread.after(at(-1), { connections, disabledSpans: [] })).toEqual({
      unread: expected,
      skipped: 0,
    });
  }
});

test("counts what came while it was disabled, of its sources", async () => {
  const { log } = await openMemoryStore({ clock: manualClock() });
  const unread = new UnreadMessages("dst_1", log);
  const connections = [{ sourceId: "src_1", since: at(-1) }];
  const count = (passed: number, ...disabledSpans: { after: Offset; upTo?: Offset }[]) =>
    unread.after(at(passed), { connections, disabledSpans });
  await log.append(batch("src_1", ["0", "1"]));
  await log.append(batch("src_2", ["2"]));
  await log.append(batch("src_1", ["3", "4"]));
  expect(await count(-1, { after: at(1) })).toEqual({ unread: 4, skipped: 2 });
  await log.append(batch("src_1", ["5"]));
  const tallied: [after: number, upTo: number][] = [];
  const { tally } = log;
  log.tally = (after, upTo) => {
    tallied.push([after, upTo]);
    return tally(after, upTo);
  };
  expect(await count(-1, { after: at(1) })).toEqual({ unread: 5, skipped: 3 });
  // Nothing was counted again.
  expect(tallied).toEqual([
    [4, 5],
    [4, 5],
  ]);
  expect(await count(3, { after: at(1), upTo: at(4) })).toEqual({ unread: 2, skipped: 1 });
  expect(await count(4, { after: at(1), upTo: at(4) })).toEqual({ unread: 1, skipped: 0 });
});
