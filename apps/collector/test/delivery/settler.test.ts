import type { Attempt, Offset, Outcome, Retry, SentRange, Settlement } from "@sluice/event-log";
import { manualClock } from "@sluice/resilience/testing";
import { describe, expect, it } from "vitest";
import { type Settler, settler } from "../../src/delivery/settling/settler.js";

const outcome = (offset: number) => ({ offset: offset as Offset }) as Outcome;
const retry = (offset: number) => ({ offset: offset as Offset }) as Retry;
const attempt = (offset: number) => ({ offset: offset as Offset }) as Attempt;

/** A settler over a store whose answers the test gives. */
function held() {
  const clock = manualClock({ startMs: 0 });
  const asked: Settlement[] = [];
  const answers: { store(): void; fail(): void }[] = [];
  const stored: Settlement[] = [];
  const failures: unknown[] = [];
  const settling = settler({
    consumerId: "dst",
    consumers: {
      settle: (_id, settlement) =>
        new Promise((resolve, reject) => {
          asked.push(settlement);
          answers.push({ store: () => resolve([]), fail: () => reject(new Error("down")) });
        }),
    },
    clock,
    cursor: () => 7 as Offset,
    onStored: (settlement) => stored.push(settlement),
    onFailure: (error) => failures.push(error),
  });
  const turns = async (): Promise<void> => {
    for (let turn = 0; turn < 5; turn++) await clock.advance(0);
  };
  const offsets = () => asked.map(({ outcomes }) => outcomes.map(({ offset }) => offset));
  return { clock, settling, asked, answers, stored, failures, turns, offsets };
}

describe("the settler", () => {
  it("stores one settlement at a time, and 50 ms later what came meanwhile", async () => {
    const { clock, settling, asked, answers, stored, turns, offsets } = held();
    settling.outcome(outcome(1));
    settling.outcome(outcome(2));
    settling.attempt(attempt(1));
    await turns();
    settling.outcome(outcome(3));
    settling.flush();
    await clock.advance(1_000);
    expect(offsets()).toEqual([[1, 2]]);
    expect(asked[0]).toMatchObject({ cursor: 7, attempts: [{ offset: 1 }] });
    answers[0]?.store();
    await turns();
    expect(stored).toEqual([asked[0]]);
    await clock.advance(49);
    expect(asked).toHaveLength(1);
    await clock.advance(1);
    await turns();
    expect(offsets()).toEqual([[1, 2], [3]]);
  });

  it.each<[what: string, hand: (settling: Settler) => void, stored: Partial<Settlement>]>([
    ["an outcome", (settling) => settling.outcome(outcome(1)), { outcomes: [outcome(1)] }],
    ["a retry", (settling) => settling.retry(retry(1)), { retries: [retry(1)] }],
    ["an attempt", (settling) => settling.attempt(attempt(1)), { attempts: [attempt(1)] }],
    ["the cursor, when it is asked to", (settling) => settling.flush(), {}],
  ])("stores %s alone, and again if the store failed", async (_what, hand, expected) => {
    const { clock, settling, asked, answers, turns } = held();
    hand(settling);
    await turns();
    answers[0]?.fail();
    await turns();
    await clock.advance(1_000);
    await turns();
    const settlement = { cursor: 7, outcomes: [], retries: [], attempts: [], ...expected };
    expect(asked).toStrictEqual([settlement, settlement]);
  });

  it("is full after a failure, and repeats it a second later before what came since", async () => {
    const { clock, settling, answers, failures, turns, offsets } = held();
    settling.outcome(outcome(1));
    await turns();
    answers[0]?.fail();
    await turns();
    expect([settling.full, failures.length]).toEqual([true, 1]);
    settling.outcome(outcome(2));
    await clock.advance(999);
    expect(offsets()).toHaveLength(1);
    await clock.advance(1);
    await turns();
    expect(offsets()[1]).toEqual([1, 2]);
    expect(settling.full).toBe(false);
    answers[1]?.store();
    await turns();
    expect(clock.pending).toBe(0);
  });

  it("is full while more than 5,000 results wait", async () => {
    const { settling } = held();
    for (let offset = 0; offset < 5_000; offset++) settling.outcome(outcome(offset));
    expect(settling.full).toBe(false);
    settling.outcome(outcome(5_000));
    expect(settling.full).toBe(true);
    void settling.stop();
  });

  it("stores what waits when it stops, also what comes during the last settlement, and nothing later", async () => {
    const { clock, settling, answers, turns, offsets } = held();
    settling.outcome(outcome(1));
    await turns();
    const stopped = settling.stop();
    settling.outcome(outcome(2));
    answers[0]?.store();
    await turns();
    expect(offsets()).toEqual([[1], [2]]);
    answers[1]?.store();
    await stopped;
    expect(clock.pending).toBe(0);
    settling.outcome(outcome(3));
    await clock.advance(10_000);
    expect(offsets()).toHaveLength(2);
  });

  it("starts in the next turn of the event loop, without a timer, unless a settlement was stored just now", async () => {
    const { clock, settling, asked, answers, turns } = held();
    const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
    settling.outcome(outcome(1));
    expect(clock.pending).toBe(0);
    await nextTurn();
    expect(asked).toHaveLength(1);
    answers[0]?.store();
    await turns();
    await clock.advance(50);
    settling.outcome(outcome(2));
    await nextTurn();
    expect(asked).toHaveLength(2);
  });

  const range: SentRange = { id: "r1", runs: [[0, 4]] as never, settings: {} };
  const fixing = (settling: Settler) => {
    const fixed = { isStored: false, stored: settling.fix(range) };
    void fixed.stored.then(() => {
      fixed.isStored = true;
    });
    return fixed;
  };

  it("fixes what is sent at once, with what waits, and says when it is stored", async () => {
    const { settling, asked, answers, stored, turns } = held();
    settling.outcome(outcome(1));
    await turns();
    answers[0]?.store();
    await turns();
    settling.outcome(outcome(2));
    // The pause after a settlement is not waited for.
    const fixed = fixing(settling);
    await turns();
    expect(asked[1]).toMatchObject({ outcomes: [outcome(2)], range });
    expect(fixed.isStored).toBe(false);
    answers[1]?.store();
    await fixed.stored;
    expect(stored).toHaveLength(2);
  });

  it("does not take the end of a settlement without the range for the range's", async () => {
    const { clock, settling, asked, answers, turns } = held();
    settling.outcome(outcome(1));
    await turns();
    const fixed = fixing(settling);
    answers[0]?.store();
    await turns();
    expect(fixed.isStored).toBe(false);
    await clock.advance(50);
    await turns();
    expect(asked[1]).toStrictEqual({ cursor: 7, outcomes: [], retries: [], attempts: [], range });
    answers[1]?.store();
    await fixed.stored;
  });

  it("fixes the range again if the store failed", async () => {
    const { clock, settling, asked, answers, turns } = held();
    const fixed = fixing(settling);
    await turns();
    answers[0]?.fail();
    await turns();
    expect([fixed.isStored, settling.isIdle]).toEqual([false, false]);
    await clock.advance(1_000);
    await turns();
    expect(asked[1]).toMatchObject({ range });
    answers[1]?.store();
    await fixed.stored;
  });

  it("fixes a range after the pause if the store has failed before", async () => {
    const { clock, settling, asked, answers, turns } = held();
    expect(settling.isIdle).toBe(true);
    settling.outcome(outcome(1));
    expect(settling.isIdle).toBe(false);
    await turns();
    // Everything is with the store, and has no answer.
    expect([asked.length, settling.isIdle]).toEqual([1, false]);
    answers[0]?.fail();
    await turns();
    const fixed = fixing(settling);
    await turns();
    expect(asked).toHaveLength(1);
    await clock.advance(1_000);
    await turns();
    expect(asked[1]).toMatchObject({ outcomes: [outcome(1)], range });
    answers[1]?.store();
    await fixed.stored;
  });

  it("stores the end of a range alone, and not its beginning behind it", async () => {
    const { clock, settling, asked, answers, turns } = held();
    void settling.fix(range);
    await turns();
    settling.rangeEnded();
    answers[0]?.fail();
    await turns();
    await clock.advance(1_000);
    await turns();
    expect(asked[1]).toStrictEqual({ cursor: 7, outcomes: [], retries: [], attempts: [], range: null });
    answers[1]?.store();
    await turns();
    expect([settling.isIdle, clock.pending]).toEqual([true, 0]);
  });

  it("does not go on if the store fails while it stops", async () => {
    const { clock, settling, answers, turns, offsets } = held();
    settling.outcome(outcome(1));
    await turns();
    const stopped = settling.stop();
    answers[0]?.fail();
    await stopped;
    await clock.advance(10_000);
    expect([offsets().length, clock.pending]).toEqual([1, 0]);
  });

  it("leaves no timer behind when it stops after the store has failed", async () => {
    const { clock, settling, answers, turns } = held();
    settling.outcome(outcome(1));
    await turns();
    answers[0]?.fail();
    await turns();
    expect(clock.pending).toBe(1);
    await settling.stop();
    expect(clock.pending).toBe(0);
  });
});
