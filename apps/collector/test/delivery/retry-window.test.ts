import { describe, expect, it } from "vitest";
import { manualClock, startTestCollector } from "../../src/testing.js";

const HOUR = 3_600_000;
const URL_A = "https://hooks.example/a";
const MESSAGE = { type: "track", event: "Ordered", userId: "u1", messageId: "m1" };

describe("four hours of retries", () => {
  it("try a message within seconds at first, for the last time between 3 h 45 and 4 h, and never afterwards", async () => {
    await using collector = await startTestCollector({ clock: manualClock({ random: Math.random }) });
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
