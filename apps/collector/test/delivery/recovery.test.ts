import { manualClock } from "@sluice/resilience/testing";
import { describe, expect, it, test } from "vitest";
import {
  afterRound,
  type Recovery,
  type RoundResult,
  release,
  STEADY,
} from "../../src/delivery/settling/recovery.js";
import { scriptedWebhooks } from "../../src/testing/scripted-webhooks.js";
import { advanceClock } from "../../src/testing.js";
import { closeDeliveries, openDelivery } from "./delivery-fixture.js";

closeDeliveries();

const DELIVERED: RoundResult = { kind: "delivered" };
const REFUSED: RoundResult = { kind: "refused" };
const FAILED: RoundResult = { kind: "failed", hasRetryAfter: false };
const WAIT: RoundResult = { kind: "failed", hasRetryAfter: true };
const steady = (failures: number): Recovery => ({ kind: "steady", failures });
const releasing = (limit: number, failures = 0): Recovery => ({
  kind: "releasing",
  storedUntilMs: 1_000,
  limit,
  failures,
});

test.each<[name: string, before: Recovery, result: RoundResult, wasDown: boolean, after: Recovery]>([
  ["a delivery in good times", STEADY, DELIVERED, false, STEADY],
  ["a failure is counted", steady(1), FAILED, false, steady(2)],
  ["a delivery after one bad message is no recovery", steady(1), DELIVERED, false, STEADY],
  ["nor after two", steady(2), DELIVERED, false, STEADY],
  ["a delivery after three failures in a row is one", steady(3), DELIVERED, false, releasing(1)],
  ["and so is one that the circuit breaker waited for", steady(1), DELIVERED, true, releasing(1)],
  ["a refused message says nothing about an outage", steady(5), REFUSED, false, steady(5)],
  ["each delivery adds one", releasing(4), DELIVERED, false, releasing(5)],
  ["up to a limit", releasing(1_024), DELIVERED, false, releasing(1_024)],
  ["a failure halves the limit", releasing(9), FAILED, false, releasing(4, 1)],
  ["which stays at one at least", releasing(1, 1), FAILED, false, releasing(1, 2)],
  ["a refused message halves it too", releasing(9), REFUSED, false, releasing(4, 1)],
  ["the third failure in a row ends it, and a new outage is needed", releasing(1, 2), FAILED, false, STEADY],
  ["a delivery in between begins the count anew", releasing(1, 2), DELIVERED, false, releasing(2)],
  ["Retry-After ends it at once", releasing(64), WAIT, false, STEADY],
])("%s", (_name, before, result, wasDown, after) => {
  expect(afterRound(before, result, { wasDown, isOld: false, nowMs: 1_000 })).toEqual(after);
});

test.each<[name: string, result: RoundResult, after: Recovery]>([
  ["a failure that began before a release says nothing", FAILED, releasing(9, 2)],
  ["nor does a refused message", REFUSED, releasing(9, 2)],
  ["a delivery counts", DELIVERED, releasing(10)],
  ["and so does Retry-After", WAIT, STEADY],
])("%s", (_name, result, after) => {
  expect(afterRound(releasing(9, 2), result, { wasDown: false, isOld: true, nowMs: 1_000 })).toEqual(after);
});

test("a release begins with one message", () => expect(release(1_000)).toEqual(releasing(1)));

const URL_A = "https://hooks.example/a";
const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const BACKLOG = 2_000;

async function outage(answer: Parameters<ReturnType<typeof scriptedWebhooks>["script"]>[1], count: number) {
  const clock = manualClock();
  const webhooks = scriptedWebhooks(clock);
  const fixture = await openDelivery({
    clock,
    openEndpoint: webhooks.openEndpoint,
    resolve: async () => [{ address: "198.41.0.4", family: 4 }],
  });
  await fixture.create({ settings: { webhooks: [{ url: URL_A }] } });
  webhooks.script(URL_A, answer);
  const ids = Array.from({ length: count }, (_, index) => `m${index}`);
  await fixture.append(ids.map((messageId) => ({ messageId, userId: messageId })));
  const pending = async (): Promise<number> =>
    (await fixture.store.consumers.list({ state: "pending" }, { limit: 5_000 })).items.length;
  return { clock, webhooks, fixture, pending };
}

/** Messages that have failed nine times: the first `soon` of them are due in a second, the others in ten minutes or more. */
async function backlog(count: number, soon: number) {
  const { clock, webhooks, fixture } = await outage({ status: 500, latencyMs: 20 }, 0);
  const [{ id: destinationId } = { id: "" }] = await fixture.store.config.list("destination");
  await fixture.delivery.close(0);
  for (let first = 0; first < count; first += 100) {
    const ids = Array.from({ length: Math.min(100, count - first) }, (_, index) => `m${first + index}`);
    await fixture.append(ids.map((messageId) => ({ messageId, userId: messageId })));
  }
  const { items } = await fixture.store.log.find({}, { limit: count });
  const nowMs = clock.monotonic();
  await fixture.store.consumers.requeue(
    destinationId,
    items.toReversed().map(({ offset }, index) => ({
      offset,
      rounds: 9,
      firstAttemptAtMs: nowMs - 60 * MINUTE,
      dueAtMs: nowMs + (index < soon ? SECOND : 10 * MINUTE + index * 100),
      reason: "HTTP 500",
      doneUrls: [],
      replay: false,
    })),
  );
  await fixture.restart();
  return { clock, webhooks, fixture };
}

describe("when a destination recovers", () => {
  it("releases its waiting retries within seconds, a few at first, and keeps their attempts", async () => {
    const { clock, webhooks, pending } = await outage({ status: 500, latencyMs: 20 }, BACKLOG);
    // The messages fail a few times, as far as the breaker lets them.
    webhooks.script(URL_A, ({ attempt }) => ({ status: attempt <= 1 ? 500 : 200, latencyMs: 20 }));
    await advanceClock(clock, 1 * SECOND);
    while ((await pending()) < 20) await advanceClock(clock, SECOND);
    const before = new Map(webhooks.requests.map(({ messageId, attempt }) => [messageId, attempt]));
    webhooks.script(URL_A, { status: 200, latencyMs: 20 });
    const waiting = await pending();
    while ((await pending()) === waiting) await advanceClock(clock, 100);
    await advanceClock(clock, 5 * SECOND);
    expect(await pending()).toBe(0);
    expect(waiting).toBeGreaterThanOrEqual(20);
    for (const [messageId, attempt] of before) {
      const numbers = webhooks.requests
        .filter((request) => request.messageId === messageId)
        .map((request) => request.attempt);
      expect(Math.max(...numbers)).toBeGreaterThanOrEqual(attempt);
      expect(new Set(numbers).size).toBe(numbers.length);
    }
  });

  it("delivers a backlog of 2,000 messages that waited for up to 15 minutes", async () => {
    const { clock, webhooks, fixture } = await backlog(BACKLOG, 1);
    // Four new messages fail, and show that it is down.
    await fixture.append([1, 2, 3, 4].map((n) => ({ messageId: `new${n}`, userId: `u${n}` })));
    await advanceClock(clock, 500);
    expect(webhooks.requests).toHaveLength(4);
    webhooks.script(URL_A, { status: 200, latencyMs: 20 });
    const recoveredAt = webhooks.requests.length;
    await advanceClock(clock, 20 * SECOND);
    const delivered = webhooks.requests.slice(recoveredAt);
    expect(new Set(delivered.map(({ messageId }) => messageId)).size).toBe(BACKLOG + 4);
    expect(delivered.filter(({ messageId }) => messageId === "m5")).toMatchObject([{ attempt: 10 }]);
    // Gently: the first 20 ms bring one message, the next two, and so on.
    const [first] = delivered;
    const after = (ms: number): number =>
      delivered.filter(({ atMs }) => atMs < (first?.atMs ?? 0) + ms).length;
    expect(after(20)).toBeLessThanOrEqual(2);
    expect(after(60)).toBeLessThanOrEqual(16);
  });

  it("neither waits for attempts that began before, nor counts them, and repeats them at once", async () => {
    const { clock, webhooks, fixture } = await backlog(12, 4);
    await fixture.append([1, 2, 3, 4].map((n) => ({ messageId: `new${n}`, userId: `u${n}` })));
    await advanceClock(clock, 500);
    // The four that are due find nobody who answers. The next message does.
    const hung: string[] = [];
    webhooks.script(URL_A, ({ messageId, attempt }) => {
      if (!/^m[0-3]$/.test(messageId) || attempt > 10) return { status: 200, latencyMs: 20 };
      hung.push(messageId);
      return "hang";
    });
    await advanceClock(clock, 520);
    expect(hung).toHaveLength(4);
    await fixture.append([{ messageId: "good", userId: "good" }]);
    await advanceClock(clock, 2 * SECOND);
    const delivered = () => new Set(webhooks.requests.slice(4).map(({ messageId }) => messageId));
    expect([4, 5, 6, 7, 8, 9, 10, 11].filter((n) => !delivered().has(`m${n}`))).toEqual([]);
    await advanceClock(clock, 4 * SECOND);
    const repeated = webhooks.requests.filter(({ attempt }) => attempt === 11);
    expect(repeated.map(({ messageId }) => messageId).toSorted()).toEqual(["m0", "m1", "m2", "m3"]);
  });

  it("does not send before the time that the receiver asked for", async () => {
    const { clock, webhooks } = await outage({ status: 503, retryAfter: "300", latencyMs: 20 }, 4);
    await advanceClock(clock, SECOND);
    const asked = webhooks.requests.length;
    webhooks.script(URL_A, 200);
    await advanceClock(clock, 290 * SECOND);
    expect(webhooks.requests.length).toBe(asked);
    await advanceClock(clock, 300 * SECOND);
    expect(new Set(webhooks.requests.slice(asked).map(({ messageId }) => messageId)).size).toBe(4);
  });

  it("stops at once when the destination fails again", async () => {
    const { clock, webhooks, pending } = await outage({ status: 500, latencyMs: 20 }, 12);
    await advanceClock(clock, 30 * SECOND);
    const waiting = await pending();
    expect(waiting).toBe(12);
    // One message gets through, then nothing more.
    let isUp = true;
    webhooks.script(URL_A, () => {
      const status = isUp ? 200 : 500;
      isUp = false;
      return { status, latencyMs: 20 };
    });
    while ((await pending()) === waiting) await advanceClock(clock, 100);
    const before = webhooks.requests.length;
    await advanceClock(clock, 500);
    expect(webhooks.requests.length - before).toBeLessThanOrEqual(4);
  });
});
