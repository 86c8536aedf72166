import type { Offset, Store } from "@sluice/event-log";
import { expect, test } from "vitest";
import type { Engine } from "../../src/engine/runner/audiences.js";
import { Checkpoints } from "../../src/engine/runner/loop/checkpoints.js";

const MINUTE_MS = 60_000;
const at = (offset: number): Offset => offset as Offset;

async function openCheckpoints() {
  const reported: Offset[] = [];
  const clock = { nowMs: 0, monotonic: () => clock.nowMs };
  const checkpoints = new Checkpoints(
    { sync: async () => {}, compact: async () => {} } as Engine,
    {
      open: async () => ({ cursor: at(5), settledAhead: [], retries: 0 }),
      settle: async (_id, { cursor }) => {
        reported.push(cursor);
        return [];
      },
    } as Pick<Store["consumers"], "open" | "settle"> as Store["consumers"],
    clock,
  );
  await checkpoints.open(at(5));
  return { checkpoints, clock, reported };
}

test("reports few messages after ten minutes, so that retention can drop them", async () => {
  const { checkpoints, clock, reported } = await openCheckpoints();
  await checkpoints.reportIfDue(at(6));
  expect(reported).toEqual([]);
  expect(checkpoints.reportAtMs(at(6))).toBe(10 * MINUTE_MS);
  clock.nowMs = 10 * MINUTE_MS;
  await checkpoints.reportIfDue(at(6));
  expect(reported).toEqual([6]);
  await checkpoints.reportIfDue(at(7));
  expect(reported).toEqual([6]);
  expect(checkpoints.reportAtMs(at(7))).toBe(20 * MINUTE_MS);
});

test("reports many messages at once", async () => {
  const { checkpoints, reported } = await openCheckpoints();
  await checkpoints.reportIfDue(at(100_006));
  expect(reported).toEqual([100_006]);
});

test("has nothing to report when nothing was read", async () => {
  const { checkpoints, clock, reported } = await openCheckpoints();
  clock.nowMs = 60 * MINUTE_MS;
  expect(checkpoints.reportAtMs(at(5))).toBeUndefined();
  await checkpoints.reportIfDue(at(5));
  expect(reported).toEqual([]);
});
