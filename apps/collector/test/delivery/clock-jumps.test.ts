import { describe, expect, it, onTestFinished } from "vitest";
import { scriptedWebhooks } from "../../src/testing/scripted-webhooks.js";
import { advanceClock, manualClock, startTestCollector, type TestCollector } from "../../src/testing.js";
import { closeDeliveries, openDelivery } from "./delivery-fixture.js";
import { slowWatchers } from "./slow-watchers.js";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const URL_A = "https://hooks.example/a";
const PUBLIC_ADDRESS = { address: "198.41.0.4", family: 4 };

closeDeliveries();

const track = (messageId: string) => ({ type: "track", event: "Ordered", userId: "u1", messageId });
const JUMPS: readonly (readonly [string, number])[] = [
  ["3 hours back", -3 * HOUR],
  ["48 hours forward", 48 * HOUR],
];

async function start(options: Partial<Parameters<typeof startTestCollector>[0]> = {}) {
  const collector = await startTestCollector(slowWatchers(options));
  onTestFinished(() => collector.close());
  return collector;
}

const received = ({ webhooks }: TestCollector): string[] =>
  webhooks.requests.map(({ messageId }) => messageId);
const stateOf = async ({ api }: TestCollector, messageId: string): Promise<string | undefined> => {
  const { outcomes } = (await api("GET", `/messages/${messageId}`)) as {
    outcomes: readonly { readonly state: string }[];
  };
  return outcomes[0]?.state;
};

describe.each(JUMPS)("the wall clock is set %s", (_name, jumpMs) => {
  it("while a destination is idle: the next message is delivered and settled at once", async () => {
    const collector = await start();
    const id = await collector.connect({ webhooks: [{ url: URL_A }] });
    await collector.send(track("before"));
    await collector.advance(MINUTE);
    collector.clock.jump(jumpMs);
    await collector.send(...Array.from({ length: 200 }, (_, index) => track(`after${index}`)));
    await collector.advance(1_000);
    expect(received(collector)).toHaveLength(201);
    expect(await stateOf(collector, "after199")).toBe("delivered");
    expect(await collector.api("GET", `/destinations/${id}/status`)).toMatchObject({ behind: 0 });
  });

  it("during a backoff: retries keep their computed delays, for four hours", async () => {
    const collector = await start();
    await collector.connect({ webhooks: [{ url: URL_A }] });
    collector.webhooks.script(URL_A, 503);
    await collector.send(track("m1"));
    await collector.advance(30 * MINUTE);
    const before = collector.webhooks.requests.length;
    collector.clock.jump(jumpMs);
    await collector.advance(17 * MINUTE);
    expect(collector.webhooks.requests.length).toBeGreaterThan(before);
    await collector.advance(2.75 * HOUR);
    expect(await stateOf(collector, "m1")).toBe("pending");
    await collector.advance(HOUR);
    expect(await stateOf(collector, "m1")).toBe("failed");
  });

  it("while the breaker is open: the next probe is sent after the same delay", async () => {
    const collector = await start();
    const id = await collector.connect({ webhooks: [{ url: URL_A }] });
    let isDead = true;
    collector.webhooks.script(URL_A, () => (isDead ? "reset" : 200));
    await collector.send(...Array.from({ length: 50 }, (_, index) => track(`m${index}`)));
    await collector.advance(10 * MINUTE);
    expect(await collector.api("GET", `/destinations/${id}/status`)).toMatchObject({ state: "backing_off" });
    isDead = false;
    collector.clock.jump(jumpMs);
    await collector.advance(20 * MINUTE);
    expect(await collector.api("GET", `/destinations/${id}/status`)).toMatchObject({
      state: "delivering",
      behind: 0,
      retries: 0,
    });
  });
});

describe.each([...JUMPS, ["10 minutes forward", 10 * MINUTE] as const])(
  "the wall clock is set %s while the collector is stopped",
  (_name, jumpMs) => {
    it("waiting messages keep their retry delays, and no window ends because of the jump", async () => {
      const clock = manualClock({ random: Math.random });
      const { openEndpoint, ...webhooks } = scriptedWebhooks(clock);
      const fixture = await openDelivery({ clock, openEndpoint, resolve: async () => [PUBLIC_ADDRESS] });
      await fixture.create({ settings: { webhooks: [{ url: URL_A }] } });
      webhooks.script(URL_A, 503);
      await fixture.append(Array.from({ length: 20 }, (_, index) => ({ messageId: `m${index}` })));
      await advanceClock(clock, HOUR);
      await fixture.delivery.close(0);
      clock.restart(jumpMs);
      await fixture.restart();

      const before = webhooks.requests.length;
      for (const { nextAttemptAtMs = 0 } of await fixture.deliveries("m19"))
        expect(nextAttemptAtMs - clock.now()).toBeLessThanOrEqual(15 * MINUTE);
      await advanceClock(clock, 17 * MINUTE);
      expect(webhooks.requests.length).toBeGreaterThan(before);
      await advanceClock(clock, 2 * HOUR);
      expect(await fixture.deliveries("m19")).toMatchObject([{ state: "pending" }]);
      await advanceClock(clock, HOUR);
      expect(await fixture.deliveries("m19")).toMatchObject([{ state: "failed" }]);
    });
  },
);
