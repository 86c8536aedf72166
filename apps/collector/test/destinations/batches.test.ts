import {
  type Batch,
  type BatchLimits,
  type BatchResult,
  type DestinationDefinition,
  defineDestination,
  type OtherResult,
} from "@sluice/destination";
import { expect, it, onTestFinished } from "vitest";
import { startTestCollector, type TestCollector, type TestCollectorOptions } from "../../src/testing.js";

const DELIVERED = { kind: "delivered", reason: "kept" } as const;
const DOWN = { kind: "retry", reason: "down" } as const;

interface Got {
  readonly id: string;
  readonly ids: readonly string[];
  readonly number: number;
}

interface World {
  readonly got: Got[];
  readonly collector: TestCollector;
  readonly id: string;
}

type Answer = (batch: Batch, call: number, signal: AbortSignal) => BatchResult | Promise<BatchResult>;

function batching(got: Got[], answer: Answer, limits: BatchLimits, more: Partial<DestinationDefinition>) {
  return defineDestination({
    type: "batching",
    name: "Batching",
    settings: {
      type: "object",
      additionalProperties: false,
      properties: { colour: { title: "Colour", type: "string" } },
    },
    batch: () => limits,
    open: () => ({
      async deliverBatch(batch, { number, signal }) {
        got.push({ id: batch.id, ids: batch.messages.map(({ id }) => id), number });
        return answer(batch, got.length, signal);
      },
    }),
    ...more,
  });
}

async function world(
  answer: Answer,
  limits: BatchLimits = {},
  more: Partial<DestinationDefinition> = {},
  options: TestCollectorOptions = {},
): Promise<World> {
  const got: Got[] = [];
  const destinations = [batching(got, answer, limits, more)];
  const collector = await startTestCollector({ ...options, destinations });
  onTestFinished(() => collector.close());
  const body = { type: "batching", sourceIds: [collector.sourceId], settings: {} };
  const { id } = (await collector.api("POST", "/destinations", body)) as { id: string };
  return { got, collector, id };
}

const track = (messageId: string, userId = "u1") => ({ type: "track", event: "Ordered", userId, messageId });
const send = async ({ collector }: World, ...ids: readonly string[]) => {
  for (const id of ids) await collector.send(track(id));
};
const shown = async ({ collector }: World, id: string) =>
  (await collector.api("GET", `/messages/${id}`)) as {
    outcomes: { state: string; reason: string; attempts: { error?: object }[] }[];
  };

it("gathers messages until the first has waited long enough", async () => {
  const one = await world(() => DELIVERED, { maxAgeMs: 60_000 });
  await send(one, "m1", "m2", "m3");
  await one.collector.advance(59_000);
  expect(one.got).toEqual([]);
  await one.collector.advance(2_000);
  expect(one.got).toMatchObject([{ ids: ["m1", "m2", "m3"], number: 1 }]);
  expect(await shown(one, "m2")).toMatchObject({ outcomes: [{ state: "delivered", reason: "kept" }] });
});

it("sends a batch that is full at once, and the next one after it, in the order of the log", async () => {
  const one = await world(() => DELIVERED, { maxMessages: 3, maxAgeMs: 60_000 });
  await send(one, "m1", "m2", "m3", "m4", "m5", "m6", "m7");
  await one.collector.advance(1_000);
  expect(one.got.map(({ ids }) => ids)).toEqual([
    ["m1", "m2", "m3"],
    ["m4", "m5", "m6"],
  ]);
  expect(one.got[0]?.id.localeCompare(one.got[1]?.id ?? "")).toBe(-1);
});

it("sends no batch while another is under way", async () => {
  const first = Promise.withResolvers<BatchResult>();
  const one = await world((_, call) => (call === 1 ? first.promise : DELIVERED), { maxMessages: 2 });
  await send(one, "m1", "m2", "m3", "m4");
  await one.collector.advance(5_000);
  expect(one.got).toHaveLength(1);
  first.resolve(DELIVERED);
  await one.collector.advance(5_000);
  expect(one.got.map(({ ids }) => ids)).toEqual([
    ["m1", "m2"],
    ["m3", "m4"],
  ]);
});

it("sends what was gathered when its memory is used up", async () => {
  const one = await world(() => DELIVERED, { maxBytes: 500 });
  await send(one, "m1", "m2", "m3", "m4", "m5");
  await one.collector.advance(5_000);
  expect(one.got.length).toBeGreaterThan(0);
  await one.collector.advance(60_000);
  expect(one.got.flatMap(({ ids }) => ids)).toEqual(["m1", "m2", "m3", "m4", "m5"]);
  expect(Math.max(...one.got.map(({ ids }) => ids.length))).toBeLessThan(5);
});

it("sends a batch that fails again as it is, under the same name", async () => {
  const one = await world((_, call) => (call < 3 ? DOWN : DELIVERED), { maxAgeMs: 1_000 });
  await send(one, "m1", "m2");
  await one.collector.advance(2_000);
  await send(one, "m3");
  await one.collector.advance(30_000);
  expect(one.got.map(({ ids, number }) => [ids, number])).toEqual([
    [["m1", "m2"], 1],
    [["m1", "m2"], 2],
    [["m1", "m2"], 3],
    [["m3"], 1],
  ]);
  expect(new Set(one.got.slice(0, 3).map(({ id }) => id)).size).toBe(1);
  expect(await shown(one, "m1")).toMatchObject({ outcomes: [{ state: "delivered" }] });
});

it("waits as long as the other side asks for", async () => {
  const one = await world((_, call) => (call === 1 ? { ...DOWN, retryAfterMs: 20_000 } : DELIVERED), {
    maxAgeMs: 1_000,
  });
  await send(one, "m1");
  await one.collector.advance(15_000);
  expect(one.got).toHaveLength(1);
  await one.collector.advance(10_000);
  expect(one.got).toHaveLength(2);
});

it("keeps a batch that goes on failing together, shows its messages as retries, and recovers", async () => {
  let isDown = true;
  const one = await world(() => (isDown ? DOWN : DELIVERED), { maxAgeMs: 1_000 });
  const ids = Array.from({ length: 12 }, (_, index) => `m${index}`);
  await send(one, ...ids);
  await one.collector.advance(180_000);
  expect(await shown(one, "m1")).toMatchObject({ outcomes: [{ state: "pending", reason: "down" }] });
  expect(await one.collector.api("GET", `/destinations/${one.id}/status`)).toMatchObject({
    health: "backing_off",
    retries: 12,
  });
  isDown = false;
  await one.collector.advance(600_000);
  expect(one.got.every((batch) => batch.ids.join() === ids.join() && batch.id === one.got[0]?.id)).toBe(true);
  expect(one.got.map(({ number }) => number)).toEqual(one.got.map((_, index) => index + 1));
  expect(await one.collector.api("GET", `/destinations/${one.id}/status`)).toMatchObject({ retries: 0 });
});

it("gives a batch up as a whole when the time for retries is over", async () => {
  const one = await world((_, call) => (call < 100 ? DOWN : DELIVERED), { maxAgeMs: 30_000 });
  await one.collector.api("PATCH", `/destinations/${one.id}`, { retryForMs: 600_000 });
  await send(one, "m1");
  await one.collector.advance(20_000);
  await send(one, "m2");
  await one.collector.advance(900_000);
  expect(new Set(one.got.map(({ ids }) => ids.join()))).toEqual(new Set(["m1,m2"]));
  for (const id of ["m1", "m2"])
    expect(await shown(one, id)).toMatchObject({
      outcomes: [{ state: "failed", reason: "gave up after 10 min of retries: down" }],
    });
});

it("sends a batch that fails at once if one of its messages is retried by hand", async () => {
  let isDown = true;
  const one = await world(() => (isDown ? DOWN : DELIVERED), { maxAgeMs: 1_000 });
  await send(one, "m1", "m2", "m3");
  await one.collector.advance(900_000);
  isDown = false;
  one.got.length = 0;
  const { outcomes } = (await one.collector.api("GET", "/messages/m2")) as { outcomes: { id: string }[] };
  await one.collector.api("POST", `/deliveries/${outcomes[0]?.id}/retry`);
  await one.collector.advance(100);
  expect(one.got.map(({ ids }) => ids)).toEqual([["m1", "m2", "m3"]]);
  expect(await shown(one, "m3")).toMatchObject({ outcomes: [{ state: "delivered" }] });
});

it("holds no more than two batches while the other side is away for an hour, and loses nothing", async () => {
  let isDown = true;
  const one = await world(() => (isDown ? DOWN : DELIVERED), { maxMessages: 20, maxAgeMs: 1_000 });
  const ids = Array.from({ length: 400 }, (_, index) => `m${index}`);
  for (let minute = 0; minute < 60; minute++) {
    await one.collector.send(...ids.splice(0, ids.length === 0 ? 0 : 10).map((id) => track(id)));
    await one.collector.advance(60_000);
  }
  const status = (await one.collector.api("GET", `/destinations/${one.id}/status`)) as { retries: number };
  // Everything else waits in the log.
  expect(status.retries).toBeLessThanOrEqual(40);
  expect(new Set(one.got.flatMap((batch) => batch.ids)).size).toBeLessThanOrEqual(40);
  isDown = false;
  one.got.length = 0;
  await one.collector.advance(600_000);
  const arrived = one.got.flatMap((batch) => batch.ids);
  expect(arrived).toHaveLength(400);
  expect(new Set(arrived).size).toBe(400);
});

it("counts each attempt at a batch, and shows at once that it fails", async () => {
  const one = await world((_, call) => (call < 4 ? DOWN : DELIVERED), { maxAgeMs: 1_000 });
  await send(one, "m1", "m2");
  await one.collector.advance(2_500);
  expect(await one.collector.api("GET", `/destinations/${one.id}/status`)).toMatchObject({
    health: "failing",
  });
  await one.collector.advance(30_000);
  for (const id of ["m1", "m2"])
    expect(await shown(one, id)).toMatchObject({
      outcomes: [{ state: "delivered", attempts: [1, 2, 3, 4].map((attempt) => ({ attempt })) }],
    });
});

it("ends each message as the result of the batch says", async () => {
  const refused = { kind: "failed", reason: "22P02", detail: "no number" } as const;
  const later = { kind: "retry", reason: "locked", isReachable: true } as const;
  const one = await world(
    ({ messages }) => ({
      ...DELIVERED,
      others: messages.flatMap(({ id }, index): OtherResult[] =>
        id === "m2" ? [{ index, result: refused }] : id === "m3" ? [{ index, result: later }] : [],
      ),
    }),
    { maxAgeMs: 1_000 },
  );
  await send(one, "m1", "m2", "m3");
  await one.collector.advance(1_500);
  expect(await shown(one, "m1")).toMatchObject({ outcomes: [{ state: "delivered" }] });
  expect(await shown(one, "m2")).toMatchObject({
    outcomes: [
      {
        state: "failed",
        reason: "22P02",
        attempts: [{ error: { code: "22P02", message: "no number" } }],
      },
    ],
  });
  expect(await shown(one, "m3")).toMatchObject({ outcomes: [{ state: "pending", reason: "locked" }] });
});

it("repeats a batch under its name if the collector ends before the result is stored", async () => {
  const hang: Answer = () => new Promise(() => {});
  const one = await world(hang, { maxAgeMs: 1_000 });
  await send(one, "m1", "m2");
  await one.collector.advance(2_000);
  const { store, clock } = one.collector;
  await one.collector.close();
  const got: Got[] = [];
  const destinations = [batching(got, () => DELIVERED, { maxAgeMs: 1_000 }, {})];
  const again = await startTestCollector({ store, clock, destinations });
  onTestFinished(() => again.close());
  await again.advance(2_000);
  expect(got).toEqual(one.got);
});

it("sends what was gathered when its settings change, and starts anew", async () => {
  const one = await world(() => DELIVERED, { maxAgeMs: 60_000 });
  await send(one, "m1");
  await one.collector.api("PATCH", `/destinations/${one.id}`, { settings: { colour: "red" } });
  await send(one, "m2");
  await one.collector.advance(1_000);
  expect(one.got).toMatchObject([{ ids: ["m1"] }]);
  await one.collector.advance(60_000);
  expect(one.got).toMatchObject([{ ids: ["m1"] }, { ids: ["m2"] }]);
});

it("sends a test message at once", async () => {
  const one = await world(() => DELIVERED, { maxAgeMs: 60_000 });
  expect(await one.collector.api("POST", `/destinations/${one.id}/test`, {})).toMatchObject({
    state: "delivered",
  });
  expect(one.got).toHaveLength(1);
});

it("aborts a batch at the time limit, and counts it as failed", async () => {
  const signals: AbortSignal[] = [];
  const one = await world(
    (_, call, signal) => {
      signals.push(signal);
      return call === 1 ? new Promise(() => {}) : DELIVERED;
    },
    { maxAgeMs: 1_000 },
    { timeoutMs: 5_000 },
  );
  await send(one, "m1");
  await one.collector.advance(30_000);
  expect(signals.map(({ aborted }) => aborted)).toEqual([true, false]);
});

it("erases a user after what came before is delivered", async () => {
  const order: unknown[] = [];
  const one = await world(
    () => DELIVERED,
    { maxAgeMs: 600_000 },
    {
      takesDeletions: "erase",
      open: () => ({
        async deliverBatch({ messages }) {
          order.push(messages.map(({ id }) => id));
          return DELIVERED;
        },
        async erase(user) {
          order.push(user);
          return { kind: "delivered", reason: "erased" };
        },
      }),
    },
  );
  await one.collector.send(track("m1", "u1"));
  await one.collector.send(track("m2", "u2"));
  await one.collector.advance(1_000);
  await one.collector.api("POST", "/deletions", { userIds: ["u1"] });
  await one.collector.advance(5_000);
  await one.collector.send(track("m3", "u2"));
  await one.collector.advance(700_000);
  // What was not sent yet is not sent any more.
  expect(order).toEqual([["m2"], { userId: "u1" }, ["m3"]]);
  const receiptOf = async () => {
    const { items } = (await one.collector.api("GET", "/deletions")) as { items: { receipt: object }[] };
    return items[0]?.receipt;
  };
  expect(await receiptOf()).toMatchObject({
    deleteMessages: [{ deliveries: [{ destinationId: one.id, state: "sent" }] }],
    destinations: [{ takes: "erase", message: "Batching (batching) erases what it got of the users" }],
  });
  await one.collector.api("PATCH", `/destinations/${one.id}`, { enabled: false });
  await one.collector.api("POST", "/deletions", { userIds: ["u2"] });
  await one.collector.advance(60_000);
  expect(await receiptOf()).toMatchObject({
    deleteMessages: [],
    destinations: [{ takes: "erase", message: expect.stringContaining("disabled or disconnected") }],
  });
});

it("sends messages while a user cannot be erased, and goes on trying", async () => {
  const got: string[] = [];
  let [erasures, isLocked] = [0, true];
  const one = await world(
    () => DELIVERED,
    { maxAgeMs: 1_000 },
    {
      takesDeletions: "erase",
      open: () => ({
        async deliverBatch({ messages }) {
          got.push(...messages.map(({ id }) => id));
          return DELIVERED;
        },
        async erase() {
          erasures += 1;
          return isLocked ? { kind: "retry", reason: "locked" } : { kind: "delivered", reason: "erased" };
        },
      }),
    },
  );
  await one.collector.send(track("m0", "u1"));
  await one.collector.advance(5_000);
  await one.collector.api("POST", "/deletions", { userIds: ["u1"] });
  await one.collector.advance(600_000);
  expect(erasures).toBeGreaterThan(5);
  await one.collector.send(track("m1", "u2"));
  await one.collector.advance(130_000);
  expect(got).toEqual(["m0", "m1"]);
  [erasures, isLocked] = [0, false];
  await one.collector.advance(900_000);
  expect(erasures).toBe(1);
});

it("is named in the receipt of a deletion, with what it does", async () => {
  const one = await world(() => DELIVERED, { maxAgeMs: 1_000 });
  await send(one, "m1");
  await one.collector.advance(5_000);
  const { id } = (await one.collector.api("POST", "/deletions", { userIds: ["u1"] })) as { id: string };
  await one.collector.advance(60_000);
  expect(await one.collector.api("GET", `/deletions/${id}`)).toMatchObject({
    receipt: {
      destinations: [
        {
          destinationId: one.id,
          takes: "none",
          message:
            "Batching (batching) keeps what it got before the deletion: remove the users' messages there",
        },
      ],
    },
  });
});
