import { expect, test } from "vitest";
import type { Rejection } from "../../src/ports/rejections.js";
import type { Connection } from "../../src/sqlite/client/connection.js";
import { sqliteRejectionLog } from "../../src/sqlite/client/rejection-log.js";

const rejections = (count: number): Rejection[] =>
  Array.from({ length: count }, (_, i) => ({
    sourceId: "src_1",
    receivedAtMs: i,
    issues: [],
    excerpt: "",
  }));

test("a burst of refused messages does not queue up: those that arrive while many are being written are discarded", async () => {
  const asked: number[] = [];
  const settle: (() => void)[] = [];
  const connection = {
    ask: (_name: string, request: { rejections: readonly Rejection[] }) => {
      asked.push(request.rejections.length);
      return new Promise<void>((resolve) => settle.push(resolve));
    },
  } as unknown as Connection;
  const log = sqliteRejectionLog(() => connection);

  // If nothing is being written, one request may have as many as the limit.
  log.add(rejections(2_500));
  log.add(rejections(1));
  expect(asked).toEqual([2_500]);
  settle.shift()?.();
  await new Promise(setImmediate);
  for (let i = 0; i < 100; i++) log.add(rejections(100));
  expect(asked).toEqual([2_500, 100, 100, 100, 100, 100]);
  for (const done of settle) done();
  await new Promise(setImmediate);
  log.add(rejections(7));
  expect(asked.at(-1)).toBe(7);
});
