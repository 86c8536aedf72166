import type { Offset, Retry } from "@sluice/event-log";
import { describe, expect, it } from "vitest";
import { RetryQueue } from "../../src/delivery/settling/retry-queue.js";

const OFFSET = 7 as Offset;
const RETRY: Retry = {
  offset: OFFSET,
  rounds: 0,
  firstAttemptAtMs: 0,
  dueAtMs: 0,
  reason: "waits for an earlier message of this user",
  doneUrls: [],
  replay: false,
};
const ANY = (): boolean => true;

/** A queue over a store in which one retry is always due, and never leased. */
function queueOfOne() {
  const queue = new RetryQueue({
    consumerId: "dst",
    consumers: {
      lease: async () => [RETRY],
      nextDueMs: async () => undefined,
      backlog: async () => ({ behind: 0, retries: 1 }),
    },
    stored: 1,
    onReady: () => {},
    onFailure: (error) => {
      throw error;
    },
  });
  const fill = async (): Promise<void> => {
    queue.fill(0);
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { queue, fill };
}

describe("a retry that is stored again while it is in hand", () => {
  it.each([
    ["ready", () => undefined],
    ["in flight", (queue: RetryQueue) => queue.take(ANY)],
  ])("is not leased a second time: %s", async (_, takeFirst) => {
    const { queue, fill } = queueOfOne();
    await fill();
    const started = takeFirst(queue) ?? undefined;
    queue.put(RETRY);
    await fill();
    const copies = [started, queue.take(ANY), queue.take(ANY)].filter((retry) => retry !== undefined);
    expect(copies).toEqual([RETRY]);
    expect(queue.isInHand(OFFSET)).toBe(true);
  });

  it("is leased again after it was put back", async () => {
    const { queue, fill } = queueOfOne();
    await fill();
    expect(queue.take(ANY)).toEqual(RETRY);
    queue.putBack(OFFSET);
    expect(queue.isInHand(OFFSET)).toBe(false);
    queue.put(RETRY);
    await fill();
    expect(queue.take(ANY)).toEqual(RETRY);
  });

  it("is not leased with its old time while it is on its way to the store", async () => {
    const { queue, fill } = queueOfOne();
    queue.putBack(OFFSET);
    await fill();
    expect(queue.take(ANY)).toBeUndefined();
    queue.put(RETRY);
    await fill();
    expect(queue.take(ANY)).toEqual(RETRY);
  });
});

describe("while the store answers", () => {
  /** A queue whose calls the test answers. */
  function askedQueue(stored = 1) {
    const asked: { readonly call: string; answer(value: unknown): Promise<void>; fail(): Promise<void> }[] =
      [];
    const failures: unknown[] = [];
    const told = { ready: 0 };
    const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
    const ask = (call: string) => (): Promise<never> =>
      new Promise((resolve, reject) => {
        const settled = (settle: () => void): Promise<void> => {
          settle();
          return turn();
        };
        asked.push({
          call,
          answer: (value) => settled(() => resolve(value as never)),
          fail: () => settled(() => reject(new Error("down"))),
        });
      });
    const queue = new RetryQueue({
      consumerId: "dst",
      consumers: { lease: ask("lease"), nextDueMs: ask("nextDueMs"), backlog: ask("backlog") },
      stored,
      onReady: () => {
        told.ready += 1;
      },
      onFailure: (error) => failures.push(error),
    });
    return { queue, asked, failures, told };
  }

  it("a second fill asks nothing, and a retry that is put meanwhile is asked for next", async () => {
    const { queue, asked } = askedQueue();
    queue.fill(0);
    queue.fill(0);
    queue.release(0, 0, () => {});
    expect(asked.map(({ call }) => call)).toEqual(["lease"]);
    expect(queue.nextDueMs).toBeUndefined();
    queue.put({ ...RETRY, dueAtMs: 5 });
    await asked[0]?.answer([]);
    await asked[1]?.answer(100);
    expect(queue.nextDueMs).toBe(5);
  });

  it("waits for the time of the next retry", async () => {
    const { queue, asked, told } = askedQueue();
    queue.fill(0);
    await asked[0]?.answer([]);
    expect(told.ready).toBe(0);
    await asked[1]?.answer(100);
    expect([queue.nextDueMs, told.ready]).toEqual([100, 1]);
  });

  it.each<[call: string, ask: (queue: RetryQueue) => void]>([
    ["a fill", (queue) => queue.fill(0)],
    ["a release", (queue) => queue.release(0, 0, () => {})],
  ])("looks again when a lease without an answer has ended: of %s", async (_call, ask) => {
    const { queue, asked } = askedQueue();
    const fill = async (nowMs: number): Promise<void> => {
      const next = asked.length;
      queue.fill(nowMs);
      await asked[next]?.answer([]);
      await asked[next + 1]?.answer(undefined);
    };
    ask(queue);
    await asked[0]?.fail();
    await fill(0);
    expect(queue.nextDueMs).toBe(300_000);
    await fill(300_000);
    expect(queue.nextDueMs).toBeUndefined();
  });

  it("a lease that fails forgets nothing that was put meanwhile", async () => {
    const { queue, asked, failures } = askedQueue(0);
    queue.put({ ...RETRY, dueAtMs: 0 });
    queue.fill(0);
    queue.put({ ...RETRY, dueAtMs: 7 });
    await asked[0]?.fail();
    expect([failures.length, queue.nextDueMs]).toEqual([1, 0]);
    queue.fill(0);
    await asked[1]?.answer([]);
    await asked[2]?.answer(undefined);
    expect(queue.nextDueMs).toBe(7);
  });

  it("a failed release is not the end of the waiting retries", async () => {
    const { queue, asked, failures, told } = askedQueue();
    let ends = 0;
    const release = (): void => queue.release(0, 0, () => ends++);
    release();
    await asked[0]?.fail();
    expect([failures.length, ends]).toEqual([1, 0]);
    release();
    await asked[1]?.answer([RETRY]);
    expect([ends, queue.take(ANY)]).toEqual([0, RETRY]);
    release();
    await asked[2]?.answer([]);
    expect([ends, told.ready]).toEqual([1, 2]);
  });

  it("a retry that was withheld while it was being leased does not start", async () => {
    const { queue, asked } = askedQueue();
    queue.fill(0);
    expect(queue.withhold(OFFSET)).toBe(true);
    await asked[0]?.answer([RETRY]);
    expect(queue.take(ANY)).toBeUndefined();
    expect(queue.withhold(OFFSET)).toBe(false);
    queue.ended(OFFSET);
    expect(queue.waiting).toBe(0);
  });

  it("counts what is handed over while the retries are being counted", async () => {
    const { queue, asked } = askedQueue(0);
    queue.handedOver(OFFSET);
    queue.changed();
    queue.handedOver((OFFSET + 1) as Offset);
    await asked[0]?.answer({ behind: 0, retries: 3 });
    expect(queue.waiting).toBe(5);
    queue.put(RETRY);
    queue.put({ ...RETRY, offset: (OFFSET + 1) as Offset });
    expect(queue.waiting).toBe(5);
    queue.changed();
    await asked[1]?.answer({ behind: 0, retries: 5 });
    expect(queue.waiting).toBe(5);
  });

  it("asks for retries that somebody else put", async () => {
    const { queue, asked } = askedQueue(0);
    queue.fill(0);
    expect(asked).toEqual([]);
    queue.changed();
    queue.fill(0);
    expect(asked.map(({ call }) => call)).toEqual(["backlog", "lease"]);
  });

  it("asks for no more while 5,000 are ready", async () => {
    const { queue, asked } = askedQueue(6_000);
    for (let lease = 0; lease < 50; lease++) {
      queue.fill(0);
      const leased = Array.from({ length: 100 }, (_, at) => ({ ...RETRY, offset: lease * 100 + at }));
      await asked[lease]?.answer(leased);
    }
    queue.fill(0);
    expect(asked).toHaveLength(50);
    queue.take(ANY);
    queue.fill(0);
    expect(asked).toHaveLength(51);
  });

  it("takes only what is accepted, and withholds only what is meant", async () => {
    const { queue, asked } = askedQueue(4);
    const [first, second, third] = [1, 2, 3].map((at) => ({ ...RETRY, offset: at as Offset }));
    queue.release(0, 0, () => {});
    await asked[0]?.answer([first, second, third]);
    queue.release(0, 0, () => {});
    expect(asked).toHaveLength(1);
    expect(queue.take(() => false)).toBeUndefined();
    expect(queue.withhold(1 as Offset)).toBe(true);
    // It waits in the store.
    expect(queue.withhold(9 as Offset)).toBe(true);
    expect([queue.take(ANY), queue.take(ANY), queue.take(ANY)]).toEqual([second, third, undefined]);
  });

  it("counts a retry once that fails again", async () => {
    const { queue, asked } = askedQueue(1);
    queue.fill(0);
    await asked[0]?.answer([RETRY]);
    await asked[1]?.answer(undefined);
    queue.take(ANY);
    queue.handedOver(OFFSET);
    expect([queue.waiting, queue.isOnItsWay(OFFSET)]).toEqual([1, true]);
    queue.put(RETRY);
    expect([queue.waiting, queue.isOnItsWay(OFFSET), queue.isInHand(OFFSET)]).toEqual([1, false, false]);
  });

  it("asks again at once after a full lease, and a second later if what is due was not leased", async () => {
    const { queue, asked } = askedQueue(200);
    queue.fill(10);
    await asked[0]?.answer(Array.from({ length: 100 }, (_, offset) => ({ ...RETRY, offset })));
    expect([asked.length, queue.nextDueMs]).toEqual([1, 10]);
    queue.fill(10);
    await asked[1]?.answer([]);
    await asked[2]?.answer(10);
    expect(queue.nextDueMs).toBe(1_010);
    queue.fill(1_009);
    expect(asked).toHaveLength(3);
    queue.fill(1_010);
    expect(asked).toHaveLength(4);
    await asked[3]?.answer([]);
    await asked[4]?.answer(undefined);
    expect(queue.nextDueMs).toBeUndefined();
  });

  it("gives back only what is not due, and ends only what it withholds", async () => {
    const { queue, asked } = askedQueue(3);
    const retries = [1, 2, 3].map((at) => ({ ...RETRY, offset: at as Offset, dueAtMs: at }));
    queue.release(0, 0, () => {});
    await asked[0]?.answer(retries);
    expect(queue.earliest(({ dueAtMs }) => dueAtMs)).toBe(1);
    expect(queue.takeEarly(2)).toEqual([retries[2]]);
    expect(queue.withhold(2 as Offset)).toBe(true);
    expect(queue.take(ANY)).toEqual(retries[0]);
    expect(queue.take(ANY)).toBeUndefined();
    expect(queue.withhold(1 as Offset)).toBe(false);
    queue.ended(2 as Offset);
    queue.ended(99 as Offset);
    expect(queue.waiting).toBe(2);
    queue.leftOut(1 as Offset);
    expect([queue.waiting, queue.isInHand(1 as Offset)]).toEqual([1, false]);
  });

  it("a retry that starts by other means is not leased as well", async () => {
    const { queue, asked } = askedQueue();
    queue.fill(0);
    queue.taken(OFFSET);
    await asked[0]?.answer([RETRY]);
    expect([queue.take(ANY), queue.isInHand(OFFSET)]).toEqual([undefined, true]);
  });

  it("a retry that is made ready is not leased as well", async () => {
    const { queue, asked, told } = askedQueue();
    queue.fill(0);
    queue.ready(RETRY);
    expect(told.ready).toBe(1);
    expect(queue.take(ANY)).toEqual(RETRY);
    await asked[0]?.answer([RETRY]);
    expect(queue.take(ANY)).toBeUndefined();
    queue.putBack(OFFSET);
    expect(queue.isOnItsWay(OFFSET)).toBe(true);
    queue.ended(OFFSET);
    expect(queue.isOnItsWay(OFFSET)).toBe(false);
  });
});
