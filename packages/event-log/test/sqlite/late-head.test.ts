import { manualClock } from "@sluice/resilience/testing";
import { expect, it } from "vitest";
import type { Snapshot } from "../../src/sqlite/calls/operations.js";
import { sharedStats } from "../../src/sqlite/calls/sharing.js";
import type { StoreConnection } from "../../src/sqlite/client/connection.js";
import { SqliteEventLog } from "../../src/sqlite/client/event-log.js";

const opened = (head: number): Snapshot => {
  const stats = { head, messages: head + 1, bytes: 0 };
  return { seed: 1, sources: [], stats, shared: sharedStats(stats), trustedMs: 0 };
};

it("tells of messages whose append had no answer and that are there when the database is opened again", () => {
  const log = new SqliteEventLog({
    connection: () => {
      throw new Error("nothing is asked") as never as StoreConnection;
    },
    clock: manualClock(),
    trustedNow: () => 0,
    isShared: () => false,
  });
  log.opened(opened(0));
  const heads: number[] = [];
  log.onAppend(() => heads.push(log.head()));
  log.opened(opened(0));
  expect(heads).toEqual([]);
  log.opened(opened(2));
  expect(heads).toEqual([2]);
});
