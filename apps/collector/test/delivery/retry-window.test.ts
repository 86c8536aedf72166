import { describe, expect, it } from "vitest";
import { startTestCollector, type TestCollector } from "../../src/testing.js";
import { slowWatchers } from "./slow-watchers.js";

const HOUR = 3_600_000;
const URL_A = "https://hooks.example/a";
const MESSAGE = { type: "track", event: "Ordered", userId: "u1", messageId: "m1" };

describe("four hours of retries", () => {
  it("try a message within seconds at first, for the last time between 3 h 45 and 4 h, and never afterwards", async () => {
    await using collector = await startTestCollector(slowWatchers());
    const id = await collector.connect({ webhooks: [{ url: URL_A }] });
    collector.webhooks.script(URL_A, 503);
    await collector.send(MESSAGE);
    await collector.advance(9 * HOUR);

    const times = collector.webhooks.requests.map(({ atMs }) => atMs);
    const since = times.map((atMs) => atMs - (times[0] ?? 0));
    expect(since[1]).toBeLessThan(5_000);
    expect(since.at(-1)).toBeGreaterThanOrEqual(3.75 * HOUR);
    expect(since.at(-1)).toBeLessThan(4 * HOUR);
    const gaps = since.slice(1).map((ms, index) => ms - (since[index] ?? 0));
    // A breaker's probe may be up to two minutes later than the schedule says.
    expect(Math.max(...gaps)).toBeLessThanOrEqual(17 * 60_000);
    expect(collector.webhooks.requests.map(({ attempt }) => attempt)).toEqual(
      times.map((_, index) => index + 1),
    );
    expect(await collector.api("GET", `/messages/m1`)).toMatchObject({
      outcomes: [
        {
          destinationId: id,
          state: "failed",
          reason: "gave up after 4 h of retries: HTTP 503",
          attempts: times.map((_, index) => ({ attempt: index + 1, status: 503 })),
        },
      ],
    });
  });
});

describe("a retry window of its own", () => {
  const states = async (collector: TestCollector) => {
    const { outcomes } = (await collector.api("GET", "/messages/m1")) as {
      outcomes: { state: string; reason: string }[];
    };
    return outcomes.map(({ state, reason }) => ({ state, reason }));
  };
  /** A destination that always fails, with one message. */
  const failing = async (retryForMs: number | undefined): Promise<[TestCollector, string]> => {
    const collector = await startTestCollector(slowWatchers());
    const id = await collector.connect({ webhooks: [{ url: URL_A }] });
    if (retryForMs !== undefined) await collector.api("PATCH", `/destinations/${id}`, { retryForMs });
    collector.webhooks.script(URL_A, 503);
    await collector.send(MESSAGE);
    return [collector, id];
  };
  const sinceFirst = ({ webhooks: { requests } }: TestCollector) =>
    requests.map(({ atMs }) => atMs - (requests[0]?.atMs ?? 0));

  it.each([
    ["1 minute", 60_000, 3_750, "1 min"],
    ["30 minutes", 30 * 60_000, 112_500, "30 min"],
  ])("of %s ends with an attempt in its last part", async (_name, windowMs, lastPartMs, text) => {
    const [collector] = await failing(windowMs);
    await collector.advance(windowMs + HOUR);
    const since = sinceFirst(collector);
    expect(since.at(-1)).toBeGreaterThanOrEqual(windowMs - lastPartMs);
    expect(since.at(-1)).toBeLessThan(windowMs);
    expect(await states(collector)).toEqual([
      { state: "failed", reason: `gave up after ${text} of retries: HTTP 503` },
    ]);
    await collector.close();
  });

  it("is shortened: a message beyond it fails when it is due next, without another attempt", async () => {
    const [collector, id] = await failing(undefined);
    await collector.advance(HOUR);
    const before = collector.webhooks.requests.length;
    await collector.api("PATCH", `/destinations/${id}`, { retryForMs: 10 * 60_000 });
    expect(await states(collector)).toMatchObject([{ state: "pending" }]);
    await collector.advance(20 * 60_000);
    expect(collector.webhooks.requests).toHaveLength(before);
    expect(await states(collector)).toEqual([
      { state: "failed", reason: "gave up after 10 min of retries: HTTP 503" },
    ]);
    await collector.close();
  });

  it("is lengthened: a message that waits gets more attempts, counted from its first one", async () => {
    const [collector, id] = await failing(10 * 60_000);
    await collector.advance(9 * 60_000);
    expect(await states(collector)).toMatchObject([{ state: "pending" }]);
    await collector.api("PATCH", `/destinations/${id}`, { retryForMs: HOUR });
    await collector.advance(2 * HOUR);
    const last = sinceFirst(collector).at(-1);
    expect(last).toBeGreaterThanOrEqual(HOUR - 225_000);
    expect(last).toBeLessThan(HOUR);
    expect(await states(collector)).toEqual([
      { state: "failed", reason: "gave up after 1 h of retries: HTTP 503" },
    ]);
    await collector.close();
  });

  it("makes a last attempt in a short window although the destination is down and its probe is later", async () => {
    const [collector, id] = await failing(undefined);
    await collector.advance(HOUR);
    await collector.api("PATCH", `/destinations/${id}`, { enabled: false });
    await collector.api("PATCH", `/destinations/${id}`, { retryForMs: 60_000, enabled: true });
    // Opens the breaker: the next probes are up to two minutes apart.
    const burst = Array.from({ length: 30 }, (_, index) => ({ ...MESSAGE, messageId: `burst-${index}` }));
    await collector.send(...burst);
    await collector.advance(3 * 60_000);
    const attempts = Map.groupBy(collector.webhooks.requests, ({ messageId }) => messageId);
    for (const { messageId } of burst) {
      const tried = attempts.get(messageId) ?? [];
      if (tried.length === 0) continue;
      const lastMs = (tried.at(-1)?.atMs ?? 0) - (tried[0]?.atMs ?? 0);
      expect(lastMs).toBeGreaterThanOrEqual(56_250);
      expect(lastMs).toBeLessThan(60_000);
    }
    await collector.close();
  });

  it("is refused below 1 minute and above 7 days", async () => {
    const [collector, id] = await failing(undefined);
    for (const retryForMs of [59_999, 7 * 24 * HOUR + 1, 1.5, "4h", null]) {
      await expect(collector.api("PATCH", `/destinations/${id}`, { retryForMs })).rejects.toThrow(
        /400.*retryForMs/,
      );
    }
    await collector.close();
  });

  it("is shown with its schedule", async () => {
    const [collector, id] = await failing(60_000);
    expect(await collector.api("GET", `/destinations/${id}`)).toMatchObject({
      retryForMs: 60_000,
      retrySchedule: {
        attempts: 32,
        attemptsAtMs: [0, 1_000, 2_875, 4_750, 6_625, 8_500, 10_375, 12_250, 14_125, 16_000, 17_875, 19_750],
        longestGapMs: 3_750,
        lastAttemptAfterMs: 56_250,
      },
    });
    await collector.close();
  });
});
