import { systemClock } from "@sluice/resilience";
import { expect, it } from "vitest";
import { BEFORE_FIRST } from "../../src/message/batch.js";
import { decodeBatch } from "../../src/message/decode-batch.js";
import { openSqliteStore } from "../../src/sqlite/open-sqlite-store.js";
import { batchOf } from "../batches.js";
import { temporaryDirectories } from "../temporary-directory.js";

const temporaryDirectory = temporaryDirectories();

it("opens a folder whose open segment has more messages than a segment may have now", async () => {
  const directory = temporaryDirectory();
  const before = await openSqliteStore({ directory, clock: systemClock, tuning: {} });
  for (let at = 0; at < 40; at++) await before.log.append(batchOf([{ messageId: `m${at}` }]));
  await before.close();
  const after = await openSqliteStore({ directory, clock: systemClock, tuning: { segmentMessages: 4 } });
  const batches = await after.log.read(BEFORE_FIRST, { messages: 100, bytes: 1e6 });
  expect(batches.flatMap(decodeBatch)).toHaveLength(40);
  await after.close();
});
