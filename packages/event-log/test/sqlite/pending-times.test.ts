import { manualClock } from "@sluice/resilience/testing";
import { expect, test } from "vitest";
import { BEFORE_FIRST, type Offset } from "../../src/message/batch.js";
import { openSqliteStore } from "../../src/sqlite/open-sqlite-store.js";
import { idsBatch, RECEIVED_AT_MS } from "../batches.js";
import { temporaryDirectories } from "../temporary-directory.js";

const temporaryDirectory = temporaryDirectories();
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

test.each([
  ["back", -3 * HOUR],
  ["forward", 48 * HOUR],
])(
  "pending deliveries are found by the displayed times after the clock was set %s",
  async (_case, jumpMs) => {
    const clock = manualClock({ startMs: RECEIVED_AT_MS });
    const store = await openSqliteStore({ directory: temporaryDirectory(), clock });
    await store.log.append(idsBatch(["a", "b"]));
    await store.consumers.open("dst_1", BEFORE_FIRST);
    const put = (offset: number) =>
      store.consumers.requeue("dst_1", [
        {
          offset: offset as Offset,
          rounds: 1,
          firstAttemptAtMs: clock.monotonic(),
          dueAtMs: clock.monotonic() + HOUR,
          reason: "HTTP 503",
          doneUrls: [],
          replay: false,
        },
      ]);
    await put(0);
    clock.elapse(10 * MINUTE);
    await put(1);
    clock.jump(jumpMs);
    const find = async (bounds: { fromMs?: number; toMs?: number }) =>
      (await store.consumers.list({ state: "pending", ...bounds }, { limit: 5 })).items;
    const shown = await find({});
    expect(shown.map(({ offset }) => offset)).toEqual([1, 0]);
    for (const delivery of shown) {
      const { atMs } = delivery;
      expect(atMs).toBe(RECEIVED_AT_MS + jumpMs + (delivery.offset === 1 ? 10 * MINUTE : 0));
      expect(await find({ fromMs: atMs, toMs: atMs + 1 })).toEqual([delivery]);
    }
    expect(await find({ toMs: RECEIVED_AT_MS + jumpMs })).toEqual([]);
    await store.close();
  },
);
