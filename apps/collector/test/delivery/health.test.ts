import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { judgeHealth, lastOf } from "../../src/delivery/control/health.js";
import { startTestCollector, type TestCollector } from "../../src/testing.js";

const A = "https://hooks.example/a";
const B = "https://hooks.example/b";

async function start(options: Parameters<typeof startTestCollector>[0] = {}): Promise<TestCollector> {
  const collector = await startTestCollector(options);
  onTestFinished(() => collector.close());
  return collector;
}

const status = async (collector: TestCollector, id: string) =>
  (await collector.api("GET", `/destinations/${id}/status`)) as Record<string, unknown>;
const send = async (collector: TestCollector, messageId: string): Promise<void> => {
  await collector.send({ type: "track", event: "Ordered", userId: "u1", messageId });
  await collector.advance(1_000);
};

it.each([401, 302])(
  "a destination that always answers %d is failing until it delivers, even after a restart",
  async (refusal) => {
    const dataDirectory = await mkdtemp(join(tmpdir(), "sluice-health-"));
    onTestFinished(() => rm(dataDirectory, { recursive: true, force: true }));
    const first = await start({ dataDirectory });
    const id = await first.connect({ webhooks: [{ url: A }] });
    expect(await status(first, id)).toMatchObject({ state: "delivering", health: "idle" });
    first.webhooks.script(A, refusal);
    await send(first, "m1");
    const since = (await status(first, id)).failingSince;
    await send(first, "m2");
    const failing = {
      state: "delivering",
      health: "failing",
      failingSince: since,
      lastError: expect.stringContaining(String(refusal)),
    };
    expect(since).toEqual(expect.any(String));
    const before = await status(first, id);
    expect(before).toMatchObject(failing);
    await first.close();

    const second = await start({ dataDirectory, store: first.store, clock: first.clock });
    expect(await status(second, id)).toEqual(before);
    second.webhooks.script(A, refusal);
    await send(second, "m3");
    expect(await status(second, id)).toMatchObject(failing);
    second.webhooks.script(A, 200);
    await send(second, "m4");
    const good = await status(second, id);
    expect(good).toMatchObject({ health: "good" });
    expect(good).not.toHaveProperty("failingSince");
    expect(good).not.toHaveProperty("lastError");
  },
);

it("names a URL that answered 410", async () => {
  const collector = await start();
  const id = await collector.connect({ webhooks: [{ url: A }] });
  collector.webhooks.script(A, 410);
  await send(collector, "m1");
  expect(await status(collector, id)).toMatchObject({ health: "url_disabled", disabledUrls: [A] });
});

it("a destination with one URL that answered 410 is partly disabled while it delivers to the others, and failing if those fail too", async () => {
  const collector = await start();
  const id = await collector.connect({ webhooks: [{ url: A }, { url: B }] });
  collector.webhooks.script(A, 410);
  await send(collector, "m1");
  const partly = await status(collector, id);
  expect(partly).toMatchObject({ health: "partly_disabled", disabledUrls: [A] });
  expect(partly).not.toHaveProperty("lastError");
  collector.webhooks.script(B, 401);
  await send(collector, "m2");
  expect(await status(collector, id)).toMatchObject({
    health: "failing",
    disabledUrls: [A],
    lastError: expect.stringContaining("401"),
  });
  collector.webhooks.script(B, 410);
  await send(collector, "m3");
  expect(await status(collector, id)).toMatchObject({ health: "url_disabled", disabledUrls: [A, B] });
});

const delivery = (state: "delivered" | "failed" | "pending" | "filtered", atMs: number, rounds = 1) => ({
  state,
  atMs,
  rounds,
  reason: `${state} ${atMs}`,
});

it.each([
  ["nothing", [], { kind: "nothing" }],
  ["a message that was never tried", [delivery("pending", 1, 0)], { kind: "nothing" }],
  ["a filtered message", [delivery("filtered", 1)], { kind: "nothing" }],
  [
    "failures, in any order",
    [delivery("failed", 3), delivery("pending", 2), delivery("delivered", 1)],
    { kind: "failed", sinceMs: 2, newest: delivery("failed", 3) },
  ],
  ["a recovery", [delivery("failed", 1), delivery("delivered", 2)], { kind: "delivered" }],
])("determines the last result from %s", (_what, deliveries, last) => {
  expect(lastOf(deliveries)).toEqual(last);
});

it.each([
  ["disabled", "all", "disabled"],
  ["backing_off", "all", "url_disabled"],
  ["backing_off", "some", "backing_off"],
  ["backing_off", "none", "backing_off"],
  ["delivering", "some", "failing"],
  ["delivering", "none", "failing"],
] as const)(
  "a failing destination that is %s, with %s of its URLs disabled, has the health: %s",
  (state, disabled, health) => {
    expect(judgeHealth(state, disabled, { kind: "failed", sinceMs: 0, error: "" })).toBe(health);
  },
);
