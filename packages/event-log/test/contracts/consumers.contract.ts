import { describe, expect, it } from "vitest";
import { BEFORE_FIRST, type Offset } from "../../src/message/batch.js";
import type { Attempt, FinalState, Outcome, Retry, Settlement } from "../../src/ports/consumers.js";
import { idsBatch, RECEIVED_AT_MS } from "../batches.js";
import { type OpenStore, storeFixture } from "./store-fixture.js";

const at = (offset: number): Offset => offset as Offset;

function outcome(offset: number, state: FinalState = "delivered", fields: Partial<Outcome> = {}): Outcome {
  return { offset: at(offset), state, reason: "200", atMs: RECEIVED_AT_MS, ...fields };
}

function retry(offset: number, fields: Partial<Retry> = {}): Retry {
  return {
    offset: at(offset),
    rounds: 1,
    firstAttemptAtMs: RECEIVED_AT_MS,
    dueAtMs: RECEIVED_AT_MS + 1_000,
    reason: "503",
    doneUrls: [],
    replay: false,
    ...fields,
  };
}

function attempt(offset: number, number = 1, fields: Partial<Attempt> = {}): Attempt {
  return {
    offset: at(offset),
    attempt: number,
    atMs: RECEIVED_AT_MS + number,
    url: "https://example.com/hook",
    latencyMs: 12,
    ...fields,
  };
}

function settlement(cursor: number, fields: Partial<Settlement> = {}): Settlement {
  return { cursor: at(cursor), outcomes: [], retries: [], attempts: [], ...fields };
}

export function consumersContract(name: string, open: OpenStore): void {
  const openStore = storeFixture(open);

  /** A store with ten messages, m0 to m9 at the offsets 0 to 9, and one consumer. */
  async function withMessages() {
    const { store, clock } = await openStore();
    for (let i = 0; i < 10; i += 2) await store.log.append(idsBatch([`m${i}`, `m${i + 1}`]));
    await store.consumers.open("dst_1", BEFORE_FIRST);
    return { store, clock, consumers: store.consumers };
  }

  describe(`consumers: ${name}`, () => {
    it("starts at the given offset, but only the first time", async () => {
      const { consumers } = (await openStore()).store;
      expect(await consumers.open("dst_1", at(5))).toEqual({ cursor: 5, settledAhead: [], retries: 0 });
      expect(await consumers.open("dst_1", at(9))).toMatchObject({ cursor: 5 });
    });

    it.each([
      ["set back: what was left of a delay is left", -3 * 3_600_000, [1_000, -3_600_000]],
      [
        "set forward: due at once, and the window nearly as long",
        48 * 3_600_000,
        [1_000 - 48 * 3_600_000, -4_500_000],
      ],
    ])("takes over retries over a restart with the clock %s", async (_case, jumpMs, [dueInMs, firstInMs]) => {
      const { clock, consumers } = await withMessages();
      const nowMs = clock.monotonic();
      const url = { url: "https://example.com/a", rounds: 1, dueAtMs: nowMs + 1_000 };
      const waiting = retry(3, { dueAtMs: nowMs + 1_000, firstAttemptAtMs: nowMs - 3_600_000, urls: [url] });
      // Waits in a lane and was never sent, as there may be millions of.
      const untried = retry(4, { ...waiting, offset: at(4), rounds: 0, lane: 1 });
      const { urls: _, ...behind } = untried;
      await consumers.settle("dst_1", settlement(9, { retries: [waiting, behind] }));
      clock.restart(jumpMs);
      // Twice is once: readings do not move any more.
      for (let i = 0; i < 2; i++) await consumers.resumeRetries(clock.monotonic());
      const dueAtMs = clock.monotonic() + (dueInMs ?? 0);
      expect(await consumers.lease("dst_1", dueAtMs - 1, dueAtMs, 10)).toEqual([]);
      expect(await consumers.lease("dst_1", dueAtMs, dueAtMs + 1, 10)).toEqual([
        {
          ...waiting,
          dueAtMs,
          firstAttemptAtMs: clock.monotonic() + (firstInMs ?? 0),
          urls: [{ ...url, dueAtMs }],
        },
        { ...behind, dueAtMs, firstAttemptAtMs: clock.monotonic() + (firstInMs ?? 0) },
      ]);
    });

    it("takes over more retries than the sum of their times fits into a number", async () => {
      const { clock, consumers } = await withMessages();
      const dueAtMs = clock.monotonic() + 1_000;
      const retries = Array.from({ length: 6_000 }, (_, offset) =>
        retry(offset, { dueAtMs, lane: 2 ** 53 - 1 }),
      );
      await consumers.settle("dst_1", settlement(-1, { retries }));
      await consumers.resumeRetries(clock.monotonic());
      expect(await consumers.nextDueMs("dst_1")).toBe(dueAtMs);
    });

    it("shows a pending delivery in wall time", async () => {
      const { clock, consumers } = await withMessages();
      const dueAtMs = clock.monotonic() + 60_000;
      await consumers.settle("dst_1", settlement(9, { retries: [retry(3, { dueAtMs })] }));
      clock.jump(3_600_000);
      const shown = { atMs: clock.now(), nextAttemptAtMs: clock.now() + 60_000 };
      expect(await consumers.outcomesOf(at(3))).toMatchObject([shown]);
      expect((await consumers.list({}, { limit: 1 })).items).toMatchObject([shown]);
    });

    it("moves its cursor forward, never back", async () => {
      const { consumers } = await withMessages();
      await consumers.settle("dst_1", settlement(4));
      await consumers.settle("dst_1", settlement(2));
      expect(await consumers.open("dst_1", BEFORE_FIRST)).toMatchObject({ cursor: 4 });
    });

    it("keeps what is being sent until its results are stored, or the next is sent", async () => {
      const { store, consumers } = await withMessages();
      const runs = [
        [at(0), at(2)],
        [at(5), at(5)],
      ] as const;
      const range = { id: "0000000000000000", runs, settings: { bucket: "a", filters: [], none: null } };
      const stored = async () => (await consumers.open("dst_1", BEFORE_FIRST)).range;
      expect(await stored()).toBeUndefined();
      const filtered = { outcomes: [outcome(3, "filtered"), outcome(4, "suppressed")] };
      await consumers.settle("dst_1", settlement(-1, { range, ...filtered }));
      expect(await stored()).toEqual(range);
      // What is settled beside it does not change it, nor does the removal of its messages.
      await consumers.settle("dst_1", settlement(-1, { retries: [retry(6)] }));
      await store.purge({ sourceId: "src_1", messageId: "m1" });
      expect(await consumers.open("dst_1", BEFORE_FIRST)).toMatchObject({
        cursor: -1,
        settledAhead: [3, 4, 6],
        range,
      });
      await consumers.open("dst_2", BEFORE_FIRST);
      expect(await consumers.open("dst_2", BEFORE_FIRST)).not.toHaveProperty("range");
      const next = { ...range, id: "0000000000000007-again-ab", runs: [[at(7), at(7)] as const] };
      await consumers.settle("dst_1", settlement(6, { range: next }));
      expect(await stored()).toEqual(next);
      await consumers.settle("dst_1", settlement(7, { range: null, outcomes: [outcome(7)] }));
      expect(await stored()).toBeUndefined();
      await consumers.settle("dst_1", settlement(7, { range }));
      await consumers.remove("dst_1");
      expect(await stored()).toBeUndefined();
    });

    it("gives the retries that somebody leased to whoever opens it next", async () => {
      const { clock, consumers } = await withMessages();
      const nowMs = clock.monotonic();
      await consumers.settle("dst_1", settlement(9, { retries: [retry(3, { dueAtMs: nowMs })] }));
      expect(await consumers.lease("dst_1", nowMs, nowMs + 60_000, 10)).toHaveLength(1);
      expect(await consumers.lease("dst_1", nowMs, nowMs + 60_000, 10)).toEqual([]);
      await consumers.open("dst_1", BEFORE_FIRST);
      expect(await consumers.lease("dst_1", nowMs, nowMs + 60_000, 10)).toHaveLength(1);
    });

    it("reports offsets settled beyond the cursor", async () => {
      const { consumers } = await withMessages();
      await consumers.settle("dst_1", settlement(1, { outcomes: [outcome(0), outcome(1), outcome(5)] }));
      await consumers.settle("dst_1", settlement(1, { outcomes: [outcome(3)], retries: [retry(7)] }));
      expect(await consumers.open("dst_1", BEFORE_FIRST)).toEqual({
        cursor: 1,
        settledAhead: [3, 5, 7],
        retries: 1,
      });
    });

    it("counts what failed or is retried, by state and reason, and nothing that was sent again since", async () => {
      const { clock, consumers } = await withMessages();
      const [firstAttemptAtMs, failedAtMs] = [clock.monotonic(), clock.now()];
      const waiting = { reason: "HTTP 500", rounds: 2, firstAttemptAtMs };
      const failed = { reason: "HTTP 404", atMs: failedAtMs };
      await consumers.settle(
        "dst_1",
        settlement(9, {
          outcomes: [
            outcome(0),
            outcome(1, "failed", failed),
            outcome(2, "failed", failed),
            outcome(3, "failed", failed),
          ],
          retries: [
            retry(4, waiting),
            retry(5, waiting),
            retry(6, { ...waiting, rounds: 0, reason: "replay" }),
          ],
        }),
      );
      await consumers.settle(
        "dst_1",
        settlement(9, { outcomes: [outcome(2)], retries: [retry(3, waiting)] }),
      );
      const { items, before } = await consumers.tally("dst_1");
      expect(before).toBeUndefined();
      expect([...items].sort((a, b) => a.newest - b.newest)).toEqual([
        {
          state: "failed",
          reason: "HTTP 404",
          count: 1,
          firstAtMs: failedAtMs,
          lastAtMs: failedAtMs,
          newest: 1,
        },
        {
          state: "pending",
          reason: "HTTP 500",
          count: 3,
          firstAtMs: failedAtMs,
          lastAtMs: failedAtMs,
          newest: 5,
        },
      ]);
      expect(await consumers.tally("dst_9")).toEqual({ items: [] });
    });

    it("scans the deliveries in some states, newest first, from a position on", async () => {
      const { consumers } = await withMessages();
      const failed = { reason: "HTTP 404" };
      await consumers.settle(
        "dst_1",
        settlement(9, {
          outcomes: [outcome(0, "failed", failed), outcome(1), outcome(2, "failed", failed)],
          retries: [retry(4)],
        }),
      );
      const { items } = await consumers.scan("dst_1", ["failed", "pending"]);
      expect(items.map(({ offset, state }) => [offset, state])).toEqual([
        [4, "pending"],
        [2, "failed"],
        [0, "failed"],
      ]);
      expect((await consumers.scan("dst_1", ["delivered"])).items.map(({ offset }) => offset)).toEqual([1]);
      expect(await consumers.scan("dst_1", ["discarded"])).toEqual({ items: [] });
    });

    it("makes messages due now: a waiting one keeps its attempts, a settled one is a replay", async () => {
      const { clock, consumers } = await withMessages();
      const nowMs = clock.monotonic();
      const url = { url: "https://example.com/a", rounds: 2, dueAtMs: nowMs + 60_000 };
      const waiting = retry(4, {
        dueAtMs: nowMs + 60_000,
        rounds: 2,
        firstAttemptAtMs: nowMs - 5,
        urls: [url],
      });
      const failed = { reason: "HTTP 404" };
      await consumers.settle(
        "dst_1",
        settlement(9, { outcomes: [outcome(0), outcome(1, "failed", failed)], retries: [waiting, retry(5)] }),
      );
      const offsets = [0, 1, 4, 7].map(at);
      const options = { dueAtMs: nowMs, states: ["failed", "pending"] } as const;
      expect(await consumers.retryNow("dst_1", offsets, options)).toEqual([1, 4]);
      expect(await consumers.lease("dst_1", nowMs, nowMs + 1, 10)).toEqual([
        expect.objectContaining({ offset: 1, rounds: 0, replay: true }),
        { ...waiting, dueAtMs: nowMs, urls: [{ ...url, dueAtMs: nowMs }] },
      ]);
    });

    it("leases retries early, but not those that must wait, are new, or were stored later", async () => {
      const { clock, consumers } = await withMessages();
      const nowMs = clock.monotonic();
      const later = { dueAtMs: nowMs + 60_000, rounds: 1 };
      await consumers.settle(
        "dst_1",
        settlement(9, {
          retries: [
            retry(1, { ...later, dueAtMs: nowMs + 90_000 }),
            retry(2, later),
            retry(3, { ...later, rounds: 0 }),
            retry(4, { ...later, notBeforeMs: nowMs + 30_000 }),
          ],
        }),
      );
      await clock.advance(10);
      await consumers.settle("dst_1", settlement(9, { retries: [retry(5, later)] }));
      const lease = async (atMs: number) =>
        (await consumers.lease("dst_1", atMs, atMs + 1_000, 10, nowMs)).map(({ offset }) => offset);
      expect(await lease(nowMs + 10)).toEqual([2, 1]);
      expect(await lease(nowMs + 20)).toEqual([]);
      expect(await lease(nowMs + 30_000)).toEqual([2, 4, 1]);
    });

    it("refuses a settlement of an unknown or removed consumer", async () => {
      const { consumers } = await withMessages();
      await consumers.remove("dst_1");
      for (const id of ["dst_1", "dst_9"]) {
        await expect(consumers.settle(id, settlement(1))).rejects.toMatchObject({ code: "not_found" });
      }
    });

    it("deletes a removed consumer with all its data", async () => {
      const { consumers } = await withMessages();
      await consumers.settle(
        "dst_1",
        settlement(1, { outcomes: [outcome(0)], retries: [retry(1)], attempts: [attempt(0), attempt(1)] }),
      );
      await consumers.remove("dst_1");
      expect(await consumers.outcomesOf(at(0))).toEqual([]);
      expect(await consumers.outcomesOf(at(1))).toEqual([]);
      expect(await consumers.attemptsOf("dst_1", at(0))).toEqual([]);
      expect(await consumers.open("dst_1", at(3))).toEqual({ cursor: 3, settledAhead: [], retries: 0 });
    });

    it("counts the messages behind and the retries", async () => {
      const { store, consumers } = await withMessages();
      await store.log.append(idsBatch(["x", "bad", "y"], { skipped: [1] }));
      expect(await consumers.backlog("dst_1")).toEqual({ behind: 12, retries: 0 });
      await consumers.settle("dst_1", settlement(2, { retries: [retry(1), retry(2)] }));
      expect(await consumers.backlog("dst_1")).toEqual({ behind: 9, retries: 2 });
      await consumers.settle("dst_1", settlement(10, { outcomes: [outcome(1)] }));
      expect(await consumers.backlog("dst_1")).toEqual({ behind: 1, retries: 1 });
      await consumers.settle("dst_1", settlement(12));
      expect(await consumers.backlog("dst_1")).toEqual({ behind: 0, retries: 1 });
    });
  });

  describe(`outcomes: ${name}`, () => {
    it("returns a message's outcome at each consumer", async () => {
      const { consumers } = await withMessages();
      await consumers.open("dst_2", BEFORE_FIRST);
      await consumers.settle(
        "dst_1",
        settlement(2, {
          outcomes: [
            outcome(0),
            outcome(1, "filtered", { reason: "integrations.All", atMs: RECEIVED_AT_MS + 7 }),
          ],
          attempts: [attempt(0)],
        }),
      );
      await consumers.settle("dst_2", settlement(0, { retries: [retry(1, { rounds: 3 })] }));
      expect(await consumers.outcomesOf(at(1))).toEqual([
        {
          consumerId: "dst_1",
          offset: 1,
          state: "filtered",
          reason: "integrations.All",
          atMs: RECEIVED_AT_MS + 7,
          rounds: 0,
        },
        {
          consumerId: "dst_2",
          offset: 1,
          state: "pending",
          reason: "503",
          atMs: RECEIVED_AT_MS,
          rounds: 3,
          nextAttemptAtMs: RECEIVED_AT_MS + 1_000,
          // What waits is handed out whole: "try now" puts it back with another due time.
          retry: retry(1, { rounds: 3 }),
        },
      ]);
      expect(await consumers.outcomesOf(at(0))).toMatchObject([{ state: "delivered", rounds: 1 }]);
      expect(await consumers.outcomesOf(at(2))).toEqual([]);
    });

    it("ends a retry with an outcome, and lets a replay make it pending again", async () => {
      const { consumers } = await withMessages();
      await consumers.settle("dst_1", settlement(3, { retries: [retry(3)], attempts: [attempt(3)] }));
      await consumers.settle(
        "dst_1",
        settlement(3, { outcomes: [outcome(3, "failed", { reason: "410" })], attempts: [attempt(3, 2)] }),
      );
      expect(await consumers.outcomesOf(at(3))).toMatchObject([
        { state: "failed", reason: "410", rounds: 2 },
      ]);
      await consumers.requeue("dst_1", [retry(3, { rounds: 0, replay: true, reason: "replay" })]);
      expect(await consumers.outcomesOf(at(3))).toMatchObject([{ state: "pending", reason: "replay" }]);
      await consumers.settle("dst_1", settlement(3, { outcomes: [outcome(3)], attempts: [attempt(3, 3)] }));
      expect(await consumers.outcomesOf(at(3))).toMatchObject([{ state: "delivered", rounds: 3 }]);
      expect((await consumers.backlog("dst_1")).retries).toBe(0);
    });

    it("distinguishes many outcomes in few settlements", async () => {
      const { store } = await openStore();
      const { consumers } = store;
      const count = 5_000;
      for (let i = 0; i < count; i += 500) {
        await store.log.append(idsBatch(Array.from({ length: 500 }, (_, k) => `m${i + k}`)));
      }
      await consumers.open("dst_1", BEFORE_FIRST);
      const states: FinalState[] = ["delivered", "failed", "filtered", "skipped", "suppressed"];
      const expected = (i: number) =>
        outcome(i, states[i % 7] ?? "delivered", {
          reason: `reason ${i % 11}`,
          atMs: RECEIVED_AT_MS + i * 3 - (i % 5) * 100,
        });
      for (let i = 0; i < count; i += 250) {
        await consumers.settle(
          "dst_1",
          settlement(i + 249, { outcomes: Array.from({ length: 250 }, (_, k) => expected(i + k)) }),
        );
      }
      for (const i of [0, 1, 249, 250, 2_499, 4_999]) {
        const { offset, ...rest } = expected(i);
        expect(await consumers.outcomesOf(offset)).toMatchObject([rest]);
      }
      const failed = await consumers.list({ state: "failed" }, { limit: 10_000 });
      const expectedFailed = Array.from({ length: count }, (_, i) => i).filter((i) => i % 7 === 1);
      expect(failed.items.map(({ offset }) => offset)).toEqual(expectedFailed.reverse());
    });

    it("counts accepted, filtered and delivered messages by source and day", async () => {
      const { store, consumers } = await withMessages();
      await store.log.append(
        idsBatch(["y", "z"], { sourceId: "src_2", receivedAtMs: RECEIVED_AT_MS + 86_400_000 }),
      );
      await consumers.settle(
        "dst_1",
        settlement(11, {
          outcomes: [
            outcome(0),
            outcome(1),
            outcome(2, "filtered"),
            outcome(3, "failed"),
            outcome(10, "delivered", { atMs: RECEIVED_AT_MS + 86_400_000 }),
            outcome(4, "delivered", { atMs: RECEIVED_AT_MS + 86_400_000 }),
          ],
        }),
      );
      expect(await store.usage.days("src_1")).toEqual([
        { day: "2026-11-22", accepted: 0, filtered: 0, delivered: 1 },
        { day: "2026-11-21", accepted: 10, filtered: 1, delivered: 2 },
      ]);
      expect(await store.usage.days("src_2")).toEqual([
        { day: "2026-11-22", accepted: 2, filtered: 0, delivered: 1 },
      ]);
      expect(await store.usage.days("src_9")).toEqual([]);
    });
  });

  describe(`attempts: ${name}`, () => {
    it("returns every field, oldest first", async () => {
      const { consumers } = await withMessages();
      const first = attempt(2, 1, {
        address: "203.0.113.9",
        status: 503,
        error: { code: "status_503", message: "The endpoint answered 503" },
        requestHeaders: { "user-agent": "Sluice/1.0", "x-message-id": "m2" },
        response: "zu viel ✗ \0 \ud83d\ude00",
        responseHeaders: { shown: { "content-type": "text/plain", "x-ü": "" }, leftOut: 2 },
      });
      const second = attempt(2, 2, { status: 200, replay: true, response: "" });
      await consumers.settle("dst_1", settlement(1, { attempts: [first, attempt(1)], retries: [retry(2)] }));
      await consumers.settle("dst_1", settlement(2, { attempts: [second] }));
      expect(await consumers.attemptsOf("dst_1", at(2))).toEqual([first, second]);
      expect(await consumers.attemptsOf("dst_1", at(1))).toEqual([attempt(1)]);
      expect(await consumers.attemptsOf("dst_1", at(0))).toEqual([]);
      expect(await consumers.attemptsOf("dst_9", at(1))).toEqual([]);
    });

    it("keeps the URLs of one round in order", async () => {
      const { consumers } = await withMessages();
      const round = ["https://a.example/", "https://b.example/"].map((url) => attempt(4, 1, { url }));
      await consumers.settle("dst_1", settlement(4, { attempts: round }));
      expect(await consumers.attemptsOf("dst_1", at(4))).toEqual(round);
    });
  });

  describe(`retries: ${name}`, () => {
    it("leases due retries, the oldest due first, with every field", async () => {
      const { consumers } = await withMessages();
      const early = retry(5, {
        dueAtMs: RECEIVED_AT_MS - 5,
        doneUrls: ["https://a.example/"],
        failedUrls: ["https://a.example/"],
        urls: [{ url: "https://b.example/", rounds: 2, dueAtMs: RECEIVED_AT_MS - 5 }],
        replay: true,
      });
      await consumers.settle(
        "dst_1",
        settlement(6, { retries: [retry(4, { dueAtMs: RECEIVED_AT_MS }), early, retry(6)] }),
      );
      const due = await consumers.lease("dst_1", RECEIVED_AT_MS, RECEIVED_AT_MS + 30_000, 10);
      expect(due).toEqual([early, retry(4, { dueAtMs: RECEIVED_AT_MS })]);
    });

    it("returns at most the requested number", async () => {
      const { consumers } = await withMessages();
      await consumers.settle("dst_1", settlement(6, { retries: [retry(1), retry(2), retry(3)] }));
      const lease = () => consumers.lease("dst_1", RECEIVED_AT_MS + 5_000, RECEIVED_AT_MS + 35_000, 2);
      expect((await lease()).map(({ offset }) => offset)).toEqual([1, 2]);
      expect((await lease()).map(({ offset }) => offset)).toEqual([3]);
      expect(await lease()).toEqual([]);
    });

    it("leases a retry again after its lease ends, or after it is put again", async () => {
      const { consumers } = await withMessages();
      await consumers.settle("dst_1", settlement(1, { retries: [retry(1, { dueAtMs: RECEIVED_AT_MS })] }));
      const lease = (nowMs: number) => consumers.lease("dst_1", nowMs, nowMs + 30_000, 10);
      expect(await lease(RECEIVED_AT_MS)).toHaveLength(1);
      expect(await lease(RECEIVED_AT_MS + 29_999)).toHaveLength(0);
      expect(await lease(RECEIVED_AT_MS + 30_000)).toHaveLength(1);
      await consumers.settle(
        "dst_1",
        settlement(1, { retries: [retry(1, { rounds: 2, dueAtMs: RECEIVED_AT_MS })] }),
      );
      expect(await lease(RECEIVED_AT_MS + 30_001)).toMatchObject([{ rounds: 2 }]);
    });

    it("keeps the retries of a lane in the order of the log, leased or not", async () => {
      const { consumers } = await withMessages();
      const WIDE = 2 ** 53 - 1;
      const lanes = [5, 2, 9, 1].map((offset) => retry(offset, { lane: WIDE, dueAtMs: offset }));
      await consumers.settle(
        "dst_1",
        settlement(9, { retries: [...lanes, retry(3, { lane: 7 }), retry(4)] }),
      );
      await consumers.lease("dst_1", RECEIVED_AT_MS, RECEIVED_AT_MS + 30_000, 10);
      const inLane = async (lane: number, limit = 10) =>
        (await consumers.inLane("dst_1", lane, limit)).map(({ offset }) => offset);
      expect([await inLane(WIDE), await inLane(WIDE, 2), await inLane(7), await inLane(8)]).toEqual([
        [1, 2, 5, 9],
        [1, 2],
        [3],
        [],
      ]);
      expect(await consumers.lanes("dst_1", 10)).toEqual([
        { lane: 7, first: retry(3, { lane: 7 }), last: 3, count: 1 },
        { lane: WIDE, first: retry(1, { lane: WIDE, dueAtMs: 1 }), last: 9, count: 4 },
      ]);
      expect((await consumers.lanes("dst_1", 10, 7)).map(({ lane }) => lane)).toEqual([WIDE]);
      expect((await consumers.lanes("dst_1", 1)).map(({ lane }) => lane)).toEqual([7]);
      await consumers.settle("dst_1", settlement(9, { outcomes: [outcome(1), outcome(3)] }));
      expect([await inLane(WIDE), await inLane(7)]).toEqual([[2, 5, 9], []]);
    });

    it("puts waiting retries into a lane later, and lets a retry keep its lane", async () => {
      const { consumers } = await withMessages();
      const replay = retry(6, { replay: true });
      await consumers.settle(
        "dst_1",
        settlement(9, { retries: [retry(5), retry(1), replay, retry(2, { lane: 4 })] }),
      );
      const without = async (after = -1, limit = 10) =>
        (await consumers.withoutLane("dst_1", at(after), limit)).map(({ offset }) => offset);
      expect([await without(), await without(1), await without(-1, 1)]).toEqual([[1, 5], [5], [1]]);
      const lanes = [1, 5, 8].map((offset) => ({ offset: at(offset), lane: 4 }));
      await consumers.settle("dst_1", settlement(-1, { lanes }));
      await consumers.settle("dst_1", settlement(-1, { retries: [retry(5, { rounds: 2 })] }));
      expect(await consumers.inLane("dst_1", 4, 10)).toEqual([
        retry(1, { lane: 4 }),
        retry(2, { lane: 4 }),
        retry(5, { lane: 4, rounds: 2 }),
      ]);
      expect(await without()).toEqual([]);
      expect(await consumers.backlog("dst_1")).toMatchObject({ retries: 4 });
    });

    it("reports when the next unleased retry is due", async () => {
      const { consumers, clock } = await withMessages();
      expect(await consumers.nextDueMs("dst_1")).toBeUndefined();
      await consumers.settle(
        "dst_1",
        settlement(2, { retries: [retry(1), retry(2, { dueAtMs: RECEIVED_AT_MS + 9_000 })] }),
      );
      expect(await consumers.nextDueMs("dst_1")).toBe(RECEIVED_AT_MS + 1_000);
      await clock.advance(1_000);
      await consumers.lease("dst_1", clock.now(), clock.now() + 30_000, 10);
      expect(await consumers.nextDueMs("dst_1")).toBe(RECEIVED_AT_MS + 9_000);
      await consumers.settle("dst_1", settlement(2, { outcomes: [outcome(2)] }));
      expect(await consumers.nextDueMs("dst_1")).toBeUndefined();
      await clock.advance(30_000);
      expect(await consumers.nextDueMs("dst_1")).toBe(RECEIVED_AT_MS + 1_000);
    });

    it("keeps consumers apart", async () => {
      const { consumers } = await withMessages();
      await consumers.open("dst_2", BEFORE_FIRST);
      await consumers.settle("dst_1", settlement(1, { retries: [retry(1, { dueAtMs: RECEIVED_AT_MS })] }));
      expect(await consumers.lease("dst_2", RECEIVED_AT_MS, RECEIVED_AT_MS + 1, 10)).toEqual([]);
      await consumers.settle("dst_2", settlement(1, { outcomes: [outcome(1)] }));
      expect((await consumers.backlog("dst_1")).retries).toBe(1);
    });
  });

  describe(`the list of deliveries: ${name}`, () => {
    async function withDeliveries() {
      const fixture = await withMessages();
      const { consumers } = fixture;
      await consumers.open("dst_2", BEFORE_FIRST);
      await consumers.settle(
        "dst_1",
        settlement(5, {
          outcomes: [
            outcome(0),
            outcome(1, "failed", { reason: "404 Not Found", atMs: RECEIVED_AT_MS + 100 }),
            outcome(2, "filtered"),
            outcome(4, "failed", { reason: "timeout", atMs: RECEIVED_AT_MS + 200 }),
          ],
          retries: [retry(3), retry(5)],
        }),
      );
      await consumers.settle(
        "dst_2",
        settlement(4, {
          outcomes: [outcome(4, "failed", { reason: "410 Gone", atMs: RECEIVED_AT_MS + 300 })],
        }),
      );
      return consumers;
    }
    const shown = (items: readonly { consumerId: string; offset: Offset }[]) =>
      items.map(({ consumerId, offset }) => `${offset} ${consumerId}`);

    it.each([
      ["failed and pending ones, newest first", {}, ["5 dst_1", "4 dst_1", "4 dst_2", "3 dst_1", "1 dst_1"]],
      ["one consumer's", { consumerId: "dst_2" }, ["4 dst_2"]],
      ["failed ones", { state: "failed" as const }, ["4 dst_1", "4 dst_2", "1 dst_1"]],
      ["pending ones", { state: "pending" as const }, ["5 dst_1", "3 dst_1"]],
      ["delivered ones", { state: "delivered" as const }, ["0 dst_1"]],
      ["by reason", { error: "40" }, ["1 dst_1"]],
      ["by time", { fromMs: RECEIVED_AT_MS + 100, toMs: RECEIVED_AT_MS + 300 }, ["4 dst_1", "1 dst_1"]],
    ])("gives %s", async (_case, query, expected) => {
      const consumers = await withDeliveries();
      expect(shown((await consumers.list(query, { limit: 100 })).items)).toEqual(expected);
    });

    it("shows the current state of a message only", async () => {
      const consumers = await withDeliveries();
      await consumers.requeue("dst_1", [retry(1, { replay: true })]);
      await consumers.settle("dst_1", settlement(5, { outcomes: [outcome(4)] }));
      expect(shown((await consumers.list({ state: "failed" }, { limit: 9 })).items)).toEqual(["4 dst_2"]);
      expect(
        shown((await consumers.list({ consumerId: "dst_1", state: "delivered" }, { limit: 9 })).items),
      ).toEqual(["4 dst_1", "0 dst_1"]);
    });

    it("pages without gaps or repetitions", async () => {
      const consumers = await withDeliveries();
      const paged: string[] = [];
      let cursor: string | undefined;
      do {
        const page = await consumers.list({}, { limit: 1, ...(cursor === undefined ? {} : { cursor }) });
        paged.push(...shown(page.items));
        cursor = page.nextCursor;
      } while (cursor !== undefined);
      expect(paged).toEqual(["5 dst_1", "4 dst_1", "4 dst_2", "3 dst_1", "1 dst_1"]);
    });

    it("lists all of them with many consumers", async () => {
      const { consumers } = await withMessages();
      const ids = Array.from({ length: 450 }, (_, i) => `dst_${String(i).padStart(3, "0")}`);
      await Promise.all(ids.map((id) => consumers.open(id, BEFORE_FIRST)));
      const failed = settlement(9, { outcomes: [outcome(4, "failed"), outcome(5)] });
      await Promise.all(ids.map((id) => consumers.settle(id, failed)));
      const all = (await consumers.list({ state: "failed" }, { limit: 1_000 })).items;
      expect(shown(all)).toEqual(ids.map((id) => `4 ${id}`));
      const first = await consumers.list({ state: "failed" }, { limit: 100 });
      const cursor = first.nextCursor ?? "";
      const second = await consumers.list({ state: "failed" }, { limit: 100, cursor });
      expect(shown([...first.items, ...second.items])).toEqual(ids.slice(0, 200).map((id) => `4 ${id}`));
    });
  });
}
