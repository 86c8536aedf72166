import type { OperationFilter } from "@sluice/control-api";
import type { EventLog } from "@sluice/event-log";
import { manualClock } from "@sluice/resilience/testing";
import { describe, expect, it } from "vitest";
import { selectDeliveries, statesFor } from "../../src/operations/select-deliveries.js";
import { scriptedWebhooks, type WebhookScript } from "../../src/testing/scripted-webhooks.js";
import { advanceClock } from "../../src/testing.js";
import { closeDeliveries, type DeliveryFixture, openDelivery } from "./delivery-fixture.js";
import { openOperations } from "./operations-fixture.js";

closeDeliveries();

const A = "https://hooks.example/a";
const resolve = async () => [{ address: "198.41.0.4", family: 4 }];

type Filter = { destinationId: string; fromMs?: number; toMs?: number } & OperationFilter;

/** Starts a replay, and resolves when it has started its messages, or with `dryRun` counts them. */
async function replay(
  fixture: DeliveryFixture,
  { fromMs, toMs, ...filter }: Filter,
  { dryRun = false, perSecond = 1_000 } = {},
): Promise<{ count: number }> {
  const operations = await openOperations(fixture);
  const span = { ...(fromMs === undefined ? {} : { fromMs }), ...(toMs === undefined ? {} : { toMs }) };
  const wanted = { filter, ...span };
  if (dryRun) return { count: await operations.count({ kind: "replay", wanted }) };
  const createdBy = { tokenId: "tok_1", tokenName: "test" };
  const { id } = await operations.create({ kind: "replay", wanted, createdBy, perSecond });
  const { total = 0 } = (await operations.selected(id)) ?? {};
  // Its first batch.
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
  return { count: total };
}

/** Three messages delivered, two failed, one filtered. */
async function settled() {
  const clock = manualClock();
  const { openEndpoint, ...webhooks } = scriptedWebhooks(clock);
  const fixture = await openDelivery({ clock, openEndpoint, resolve });
  const destinationId = await fixture.create({ settings: { webhooks: [{ url: A }] } });
  webhooks.script(A, ({ messageId }) => (messageId.startsWith("bad") ? 400 : 200));
  await fixture.append([
    { messageId: "ok1" },
    { messageId: "ok2", userId: "u2", event: "Viewed" },
    { messageId: "ok3", type: "page", name: "Home" },
    { messageId: "bad1" },
    { messageId: "bad2", userId: "u2" },
    { messageId: "off", integrations: { All: false } },
  ]);
  await advanceClock(clock, 1_000);
  webhooks.script(A, 200);
  const before = webhooks.requests.length;
  return {
    clock,
    fixture,
    destinationId,
    /** From now on. */
    answer: (script: WebhookScript) => webhooks.script(A, script),
    /** The requests since the setup. */
    again: () => webhooks.requests.slice(before),
  };
}

describe("a replay", () => {
  it.each<[name: string, filter: object, expected: string[]]>([
    ["by state", { state: "failed" }, ["bad1", "bad2"]],
    ["by user", { userId: "u2" }, ["bad2", "ok2"]],
    ["by state and user", { state: "failed", userId: "u2" }, ["bad2"]],
    ["by event", { event: "Viewed" }, ["ok2"]],
    ["by type", { type: "page" }, ["ok3"]],
    ["by message", { messageId: "ok1" }, ["ok1"]],
    ["by a time range without messages", { toMs: 0 }, []],
  ])("%s counts first, and then sends with the same ids", async (_name, filter, expected) => {
    const { clock, fixture, destinationId, again } = await settled();
    const request = { destinationId, ...filter };
    expect(await replay(fixture, request, { dryRun: true })).toEqual({ count: expected.length });
    await advanceClock(clock, 10_000);
    expect(again()).toEqual([]);
    expect(await replay(fixture, request)).toEqual({ count: expected.length });
    fixture.delivery.wake(destinationId);
    await advanceClock(clock, 10_000);
    expect(
      again()
        .map(({ messageId }) => messageId)
        .sort(),
    ).toEqual(expected);
  });

  it("is marked in the trace, has its own outcome, and applies the current rules", async () => {
    const { clock, fixture, destinationId, again } = await settled();
    expect(await replay(fixture, { destinationId })).toEqual({ count: 6 });
    fixture.delivery.wake(destinationId);
    await advanceClock(clock, 10_000);
    expect(
      again()
        .map(({ messageId }) => messageId)
        .sort(),
    ).toEqual(["bad1", "bad2", "ok1", "ok2", "ok3"]);
    expect(await fixture.deliveries("bad1")).toMatchObject([{ state: "delivered" }]);
    expect(await fixture.deliveries("off")).toMatchObject([{ state: "filtered" }]);
    expect(await fixture.attempts(destinationId, "bad1")).toMatchObject([
      { status: 400 },
      { status: 200, replay: true },
    ]);
  });

  it("requested again while it runs sends nothing twice, and skips messages delivered by then", async () => {
    const { clock, fixture, destinationId, answer, again } = await settled();
    answer({ status: 200, latencyMs: 4_000 });
    const request = { destinationId, state: "failed" } as const;
    expect(await replay(fixture, request)).toEqual({ count: 2 });
    // As after a kill before the response: the client repeats the request.
    expect(await replay(fixture, request)).toEqual({ count: 0 });
    expect(await replay(fixture, { destinationId })).toEqual({ count: 4 });
    fixture.delivery.wake(destinationId);
    await advanceClock(clock, 10_000);
    expect(await replay(fixture, request)).toEqual({ count: 0 });
    expect(again().map(({ messageId }) => messageId)).toHaveLength(5);
  });

  it("by state reads each batch once, however many of its messages match", async () => {
    const { fixture, destinationId } = await settled();
    let reads = 0;
    const log = Object.assign(Object.create(fixture.store.log), {
      read: (...asked: Parameters<EventLog["read"]>) => {
        reads += 1;
        return fixture.store.log.read(...asked);
      },
      get: () => Promise.reject(new Error("one message was read for itself")),
    }) as EventLog;
    const counted = { store: { ...fixture.store, log }, clock: fixture.clock };
    const selection = { destinationId, states: statesFor("replay", "delivered"), fromMs: 0 };
    let count = 0;
    for await (const offsets of selectDeliveries(counted, selection)) count += offsets.length;
    expect(count).toBe(3);
    expect(reads).toBe(1);
  });

  it("is spread over time", async () => {
    const { clock, fixture, destinationId, again } = await settled();
    await replay(fixture, { destinationId }, { perSecond: 1 });
    fixture.delivery.wake(destinationId);
    await advanceClock(clock, 1_500);
    expect(again().length).toBeLessThanOrEqual(2);
    await advanceClock(clock, 10_000);
    expect(again()).toHaveLength(5);
  });
});
