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
