import type { DatabaseSync } from "node:sqlite";
import { afterEach, expect, test } from "vitest";
import { KEY } from "../../src/sqlite/calls/append-request.js";
import { TUNING_DEFAULTS } from "../../src/sqlite/calls/tuning.js";
import { ConsumerTables } from "../../src/sqlite/consumers/consumer-tables.js";
import { openDatabase } from "../../src/sqlite/database/database.js";
import { type SealedSegment, Segments } from "../../src/sqlite/index/segments.js";
import { Log } from "../../src/sqlite/log/log.js";
import { Usage } from "../../src/sqlite/log/usage.js";
import { Retention } from "../../src/sqlite/retention/retention.js";
import { temporaryDirectories } from "../temporary-directory.js";

const temporaryDirectory = temporaryDirectories();
const HOUR_MS = 3_600_000;

let database: DatabaseSync;
afterEach(() => database.close());

test("a dropped segment leaves nothing in memory, even if no message arrives", () => {
  const directory = temporaryDirectory();
  database = openDatabase(directory);
  const options = {
    directory,
    dedupeWindowMs: 20 * HOUR_MS,
    rejectionsKept: 0,
    retention: { maxAgeMs: 10 * HOUR_MS },
    tuning: { ...TUNING_DEFAULTS, segmentMessages: 16 },
  };
  const segments = new Segments(database, options);
  const usage = new Usage(database);
  const consumers = new ConsumerTables(
    database,
    new Log(database, segments, usage, TUNING_DEFAULTS.rowBytes),
    usage,
  );
  const retention = new Retention(database, options, segments, consumers);
  const retain = (nowMs: number): void => {
    retention.mark(nowMs);
    retention.committed();
    while (segments.hasWork) segments.workNext();
    while (retention.hasWork) retention.workNext();
  };

  const seen: SealedSegment[] = [];
  for (let hour = 0; hour < 3; hour++) {
    const { end } = segments;
    const keys = new Uint32Array(KEY.size).fill(1 + hour);
    keys[KEY.index] = 0;
    segments.open.add(0, keys, 0);
    segments.commitKeys(end, end + 1, 100, hour * HOUR_MS, hour * HOUR_MS, keys);
    segments.beginNew(0);
    retain(hour * HOUR_MS);
    seen.push(...segments.sealed.slice(-1));
  }
  expect(seen.map(({ hasFilter }) => hasFilter)).toEqual([true, true, true]);

  retain(15 * HOUR_MS);
  expect(segments.messages).toBe(0);
  expect(seen.map(({ hasFilter }) => hasFilter)).toEqual([true, true, true]);
  retain(100 * HOUR_MS);
  // The newest segment stays: it defines the next offset.
  expect(segments.sealed).toEqual(seen.slice(-1));
  expect(seen.map(({ hasFilter }) => hasFilter)).toEqual([false, false, true]);
});
