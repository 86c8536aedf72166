import { systemClock } from "@sluice/resilience";
import { manualClock } from "@sluice/resilience/testing";
import { expect, it } from "vitest";
import { BEFORE_FIRST } from "../../src/message/batch.js";
import { idsBatch, RECEIVED_AT_MS } from "../batches.js";
import { FOREVER, leadSafely, testClusters } from "./cluster.js";
import { contentsOf } from "./copy-contents.js";

const newCluster = testClusters();
const TUNING = { segmentMessages: 4, checkpointBytes: 32 * 1_024 };
const ALL = { messages: 1_000, bytes: 1e9 };

it("drops the same in all copies, by what the owner chose and by its settings", async () => {
  const manual = manualClock({ startMs: RECEIVED_AT_MS });
  // Waiting for the engine takes real time.
  const clock = { ...manual, sleep: systemClock.sleep };
  const cluster = newCluster();
  const retention = { maxAgeMs: 60_000 };
  const a = await cluster.open("a", { clock, tuning: TUNING, retention, dedupeWindowMs: 120_000 });
  // Its own settings would keep everything, in one segment.
  const b = await cluster.open("b", { clock });
  const { store, stepDown } = await leadSafely(a);
  const retained = async (): Promise<void> => {
    manual.advance(10_000);
    // It is answered after the calls that retention made in the same turn.
    await store.config.put("source", "turn", manual.now());
    await store.config.put("source", "turn", manual.now());
  };
  for (let i = 0; i < 12; i++) {
    await store.log.append({ ...idsBatch([`m${i}`, `n${i}`]), receivedAtMs: manual.now() });
    await retained();
  }
  await retained();
  const kept = await store.log.read(BEFORE_FIRST, ALL);
  expect(kept.length).toBeGreaterThan(3);
  expect(kept.length).toBeLessThan(12);
  await stepDown();
  await b.caughtUp(FOREVER);
  await cluster.close(a);
  await cluster.close(b);
  expect(contentsOf(cluster.folderOf("b"))).toEqual(contentsOf(cluster.folderOf("a")));

  const again = await cluster.open("b", { clock, tuning: TUNING, retention, dedupeWindowMs: 120_000 });
  const next = await leadSafely(again, 2);
  expect((await next.store.log.read(BEFORE_FIRST, ALL)).map(({ first }) => first)).toEqual(
    kept.map(({ first }) => first),
  );
});
