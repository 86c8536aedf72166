import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { OperationFilter, OperationKind } from "@sluice/control-api";
import { openSqliteStore } from "@sluice/event-log";
import { systemClock } from "@sluice/resilience";
import { manualClock } from "@sluice/resilience/testing";
import { describe, expect, it, onTestFinished } from "vitest";
import { listByCause } from "../../src/admin/deliveries/delivery-endpoints.js";
import { groupDeliveries } from "../../src/admin/deliveries/delivery-groups.js";
import { OPERATION_PAGE } from "../../src/operations/operation.js";
import type { Operations } from "../../src/operations/start-operations.js";
import { scriptedWebhooks } from "../../src/testing/scripted-webhooks.js";
import { advanceClock } from "../../src/testing.js";
import { closeDeliveries, openDelivery } from "./delivery-fixture.js";
import { openOperations } from "./operations-fixture.js";

closeDeliveries();

/** An operation over everything, on another view of a fixture's store. */
async function operationOn(
  fixture: Parameters<typeof openOperations>[0],
  kind: OperationKind,
  filter: OperationFilter = {},
) {
  const operations = await openOperations(fixture);
  const { id } = await operations.create({ kind, wanted: { filter }, createdBy, perSecond: 1_000 });
  return { id, operations };
}

const A = "https://hooks.example/a";
const createdBy = { tokenId: "tok_1", tokenName: "Ada" };

/** Messages of which `bad…` fail for good, and `later…` are retried. */
async function broken(messageIds: readonly string[], order: "none" | "user" = "none") {
  const clock = manualClock();
  const webhooks = scriptedWebhooks(clock);
  const fixture = await openDelivery({
    clock,
    openEndpoint: webhooks.openEndpoint,
    resolve: async () => [{ address: "198.41.0.4", family: 4 }],
  });
  const destinationId = await fixture.create({ settings: { webhooks: [{ url: A }], order } });
  const status = (id: string): number => (id.startsWith("bad") ? 404 : id.startsWith("later") ? 503 : 200);
  webhooks.script(A, ({ messageId }) => status(messageId));
  await fixture.append(messageIds.map((messageId) => ({ messageId, userId: "u1", event: "Order" })));
  await advanceClock(clock, 100);
  const operations = await openOperations(fixture);
  const start = async (
    kind: OperationKind,
    filter: OperationFilter,
    { fix = true, perSecond = 1_000 } = {},
  ) => {
    if (fix) webhooks.script(A, 200);
    const { id } = await operations.create({ kind, wanted: { filter }, createdBy, perSecond });
    await operations.selected(id);
    return id;
  };
  return { clock, webhooks, fixture, destinationId, operations, start };
}

describe("groups of deliveries", () => {
  it("count by destination and cause, and forget what was delivered since", async () => {
    const { clock, fixture, destinationId, start } = await broken(["ok", "bad1", "bad2", "bad3", "later1"]);
    const { groups, isExact } = await groupDeliveries(fixture.store);
    expect(isExact).toBe(true);
    expect(groups).toMatchObject([
      { destinationId, cause: "http_404", failed: 3, pending: 0 },
      { destinationId, cause: "http_503", failed: 0, pending: 1 },
    ]);
    const list = (limit: number, cursor?: string) =>
      listByCause(
        fixture.store.consumers,
        { destinationId, cause: "http_404" },
        { limit, ...(cursor === undefined ? {} : { cursor }) },
      );
    const first = await list(2);
    expect(first.items.map(({ offset }) => offset)).toEqual([3, 2]);
    expect((await list(2, first.nextCursor)).items.map(({ offset }) => offset)).toEqual([1]);
    await start("retry", { destinationId, cause: "http_404" });
    await advanceClock(clock, 5_000);
    expect((await groupDeliveries(fixture.store)).groups).not.toContainEqual(
      expect.objectContaining({ cause: "http_404" }),
    );
  });
});

describe("an operation", () => {
  it("retries what failed and what waits, and tells what came of it", async () => {
    const { clock, fixture, operations, start } = await broken(["ok", "bad1", "bad2", "later1"]);
    const id = await start("retry", {});
    await advanceClock(clock, 2_000);
    expect(await operations.get(id)).toMatchObject({
      state: "finished",
      createdBy,
      total: 3,
      done: 3,
      failed: 0,
      waiting: 0,
      results: { delivered: 3, failed: 0, discarded: 0, skipped: 0 },
    });
    expect(await fixture.store.config.list("operation_page")).toEqual([]);
    expect(await fixture.deliveries("bad1")).toMatchObject([{ state: "delivered" }]);
  });

  it("keeps the attempts and the window of a pending message, and names the cause if it fails again", async () => {
    const { clock, fixture, destinationId, operations, start } = await broken(["later1", "bad1"]);
    const [before] = await fixture.deliveries("later1");
    const id = await start("retry", { destinationId }, { fix: false });
    await advanceClock(clock, 1_000);
    expect(await operations.get(id)).toMatchObject({
      state: "finished",
      done: 2,
      failed: 2,
      causes: [
        { cause: "http_404", title: "404 Not Found", count: 1 },
        { cause: "http_503", title: "503 Service Unavailable", count: 1 },
      ],
    });
    const [after] = await fixture.deliveries("later1");
    expect(after?.rounds).toBeGreaterThan(before?.rounds ?? 0);
    expect(after?.retry?.firstAttemptAtMs).toBe(before?.retry?.firstAttemptAtMs);
  });

  it("discards: nothing is sent any more, and each message says by whom", async () => {
    const { clock, webhooks, fixture, destinationId, operations, start } = await broken([
      "ok",
      "bad1",
      "later1",
      "later2",
    ]);
    const id = await start("discard", { destinationId });
    const sent = webhooks.requests.length;
    await advanceClock(clock, 60 * 60_000);
    expect(await operations.get(id)).toMatchObject({
      state: "finished",
      results: { discarded: 3, skipped: 0 },
    });
    expect(webhooks.requests.length).toBe(sent);
    for (const messageId of ["bad1", "later1", "later2"])
      expect(await fixture.deliveries(messageId)).toMatchObject([
        { state: "discarded", reason: "discarded by Ada" },
      ]);
    expect(await fixture.store.consumers.backlog(destinationId)).toEqual({ behind: 0, retries: 0 });
    expect((await groupDeliveries(fixture.store)).groups).toEqual([]);
  });

  it("lets the next message of a user go when an earlier one is discarded", async () => {
    const { clock, fixture, start } = await broken(["later1", "ok"], "user");
    expect(await fixture.deliveries("ok")).toMatchObject([{ state: "pending" }]);
    await start("discard", { cause: "http_503" }, { fix: false });
    await advanceClock(clock, 1_000);
    expect(await fixture.deliveries("ok")).toMatchObject([{ state: "delivered" }]);
  });

  it("stops when it is cancelled, and what it has started goes on", async () => {
    const ids = Array.from({ length: 20 }, (_, index) => `bad${index}`);
    const { clock, operations, start } = await broken(ids);
    const id = await start("retry", {}, { perSecond: 4 });
    await advanceClock(clock, 1_000);
    const cancelled = operations.cancel(id);
    await advanceClock(clock, 1_000);
    await cancelled;
    const view = await operations.get(id);
    expect(view).toMatchObject({ state: "cancelled", total: 20 });
    expect(view?.done).toBeLessThan(20);
    await advanceClock(clock, 10_000);
    expect(await operations.get(id)).toEqual(view);
  });

  it("goes on after a restart, without sending a message twice", async () => {
    const ids = Array.from({ length: 20 }, (_, index) => `bad${index}`);
    const { clock, webhooks, fixture, operations, start } = await broken(ids);
    const id = await start("retry", {}, { perSecond: 4 });
    await advanceClock(clock, 1_100);
    await operations.close();
    const again = await openOperations(fixture);
    expect(await again.get(id)).toMatchObject({ state: "running", total: 20 });
    await advanceClock(clock, 30_000);
    expect(await again.get(id)).toMatchObject({ state: "finished", results: { delivered: 20, skipped: 0 } });
    const sent = webhooks.requests.slice(20).map(({ messageId }) => messageId);
    expect(sent.sort()).toEqual([...ids].sort());
  });

  it("fails with a reason when the list of its deliveries is gone, instead of running for ever", async () => {
    const ids = Array.from({ length: 20 }, (_, index) => `bad${index}`);
    const { clock, fixture, operations, start } = await broken(ids);
    const id = await start("retry", {}, { perSecond: 4 });
    await advanceClock(clock, 1_100);
    await operations.close();
    expect(await fixture.store.config.delete(OPERATION_PAGE, `${id}.0`)).toBe(true);
    const again = await openOperations(fixture);
    await advanceClock(clock, 30_000);
    const view = await again.get(id);
    expect(view).toMatchObject({ state: "failed", error: expect.stringMatching(/list of its deliveries/) });
    expect(view?.done).toBeGreaterThan(0);
  });

  it("starts what a failure of the store kept from starting, instead of reporting it as failed", async () => {
    const { clock, webhooks, fixture } = await broken(["bad1", "bad2", "later1"]);
    const { retryNow } = fixture.store.consumers;
    let failures = 1;
    const consumers = {
      ...fixture.store.consumers,
      retryNow: (...call: Parameters<typeof retryNow>) =>
        failures-- > 0 ? Promise.reject(new Error("disk full")) : retryNow(...call),
    };
    webhooks.script(A, 200);
    const { id, operations } = await operationOn(
      { ...fixture, store: { ...fixture.store, consumers } },
      "retry",
    );
    await advanceClock(clock, 30_000);
    expect(await operations.get(id)).toMatchObject({
      state: "finished",
      results: { delivered: 3, failed: 0 },
    });
  });

  it("counts what it discarded once, also if the store failed afterwards", async () => {
    const { clock, fixture } = await broken(["bad1", "bad2", "later1"]);
    const { put } = fixture.store.config;
    let failures = 1;
    const config = {
      ...fixture.store.config,
      put: (async (kind, id, value: { results?: { discarded: number } }, version) => {
        if (kind === "operation" && value.results?.discarded === 3 && failures-- > 0)
          throw new Error("disk full");
        return put(kind, id, value, version);
      }) as typeof put,
    };
    const { id, operations } = await operationOn(
      { ...fixture, store: { ...fixture.store, config } },
      "discard",
    );
    await advanceClock(clock, 30_000);
    expect(await operations.get(id)).toMatchObject({
      state: "finished",
      done: 3,
      results: { discarded: 3, skipped: 0 },
    });
  });

  it("runs once, although the request that made it is repeated", async () => {
    const { clock, webhooks, fixture, operations } = await broken(["bad1", "bad2"]);
    webhooks.script(A, 200);
    const wanted = { kind: "replay", wanted: { filter: {} }, createdBy } as const;
    const { id } = await operations.create(wanted);
    const first = await fixture.store.config.get<object>("operation", id);
    await advanceClock(clock, 10_000);
    const before = await operations.get(id);
    const sent = webhooks.requests.length;
    // As the endpoint does if the collector crashed before the request was answered.
    const repeated = await operations.create(wanted, { put: async () => first as never });
    await advanceClock(clock, 10_000);
    expect(repeated).toEqual(before);
    expect(await operations.get(id)).toEqual(before);
    expect(webhooks.requests.length).toBe(sent);
  });

  it("leaves no page behind when it is cancelled while it selects", async () => {
    const { clock, fixture } = await broken(Array.from({ length: 4_100 }, (_, index) => `bad${index}`));
    const paged = Promise.withResolvers<void>();
    const { put } = fixture.store.config;
    const config = {
      ...fixture.store.config,
      put: (async (kind, ...rest) => {
        if (kind === "operation_page") paged.resolve();
        return put(kind, ...rest);
      }) as typeof put,
    };
    const view = { ...fixture, store: { ...fixture.store, config } };
    const { id, operations } = await operationOn(view, "retry", { event: "Order" });
    await paged.promise;
    const cancelled = operations.cancel(id);
    await advanceClock(clock, 1_000);
    expect(await cancelled).toMatchObject({ state: "cancelled" });
    expect(await fixture.store.config.list("operation_page")).toEqual([]);
  });

  it("goes on after the SQLite store was closed and opened again", async () => {
    const folder = await mkdtemp(join(tmpdir(), "sluice-operation-"));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const ids = Array.from({ length: 20 }, (_, index) => `bad${index}`);
    const receiver = scriptedWebhooks(systemClock);
    receiver.script(A, 404);
    const open = async () => {
      const fixture = await openDelivery({
        clock: systemClock,
        store: await openSqliteStore({ directory: folder, clock: systemClock }),
        openEndpoint: receiver.openEndpoint,
        resolve: async () => [{ address: "198.41.0.4", family: 4 }],
      });
      return { fixture, operations: await openOperations(fixture) };
    };
    const first = await open();
    await first.fixture.create({ settings: { webhooks: [{ url: A }] } });
    await first.fixture.append(ids.map((messageId) => ({ messageId, userId: "u1" })));
    for (const messageId of ids) await first.fixture.until(messageId, "failed");
    await first.fixture.deliveries("bad19");
    receiver.script(A, 200);
    const { id } = await first.operations.create({
      kind: "retry",
      wanted: { filter: {} },
      createdBy,
      perSecond: 20,
    });
    await expect.poll(async () => (await first.operations.get(id))?.done).toBeGreaterThan(0);
    await first.operations.close();
    await first.fixture.delivery.close(1_000);
    await first.fixture.store.close();

    const second = await open();
    expect(await second.operations.get(id)).toMatchObject({ state: "running", total: 20 });
    await expect
      .poll(() => second.operations.get(id))
      .toMatchObject({ state: "finished", results: { delivered: 20, failed: 0, skipped: 0 } });
    const sent = receiver.requests.slice(20).map(({ messageId }) => messageId);
    expect(sent.sort()).toEqual([...ids].sort());
  });

  it("waits for a destination that is down instead of queueing everything there", async () => {
    const ids = Array.from({ length: 700 }, (_, index) => `bad${index}`);
    const { clock, fixture, destinationId, operations, start } = await broken(ids);
    await fixture.change(destinationId, { enabled: false });
    const id = await start("retry", { destinationId });
    await advanceClock(clock, 20_000);
    expect(await operations.get(id)).toMatchObject({ state: "running", total: 700, done: 0, waiting: 500 });
    await fixture.change(destinationId, { enabled: true });
    await advanceClock(clock, 20_000);
    expect(await operations.get(id)).toMatchObject({ state: "finished", done: 700 });
  });

  it("ends when its destination is deleted", async () => {
    const { clock, fixture, destinationId, operations, start } = await broken(["bad1", "bad2"]);
    const id = await start("retry", { destinationId }, { perSecond: 1 });
    await fixture.store.config.delete("destination", destinationId);
    await advanceClock(clock, 30_000);
    expect(await operations.get(id)).toMatchObject({ state: "finished", done: 2 });
  });
});

it("an operation that has begun is answered, also if the store fails while old ones are deleted", async () => {
  const { fixture, operations, start } = await broken(["bad1"]);
  const { config } = fixture.store;
  for (let number = 0; number < 201; number++)
    await config.put("operation", `op_${number}`, { state: "finished", pages: 0 });
  const { delete: remove } = config;
  config.delete = () => Promise.reject(new Error("no space left"));
  const id = await start("retry", {});
  expect(await operations.get(id)).toMatchObject({ total: 1 });
  config.delete = remove;
  await start("retry", {});
  expect(await config.get("operation", "op_0")).toBeUndefined();
});

describe("an operation that is under way", () => {
  it.each<
    [name: string, ends: (operations: Operations, id: string) => readonly Promise<unknown>[], state: string]
  >([
    ["cancelled twice", (operations, id) => [operations.cancel(id), operations.cancel(id)], "cancelled"],
    ["closed twice", (operations) => [operations.close(), operations.close()], "finished"],
    ["cancelled, then closed", (operations, id) => [operations.cancel(id), operations.close()], "cancelled"],
    ["closed, then cancelled", (operations, id) => [operations.close(), operations.cancel(id)], "cancelled"],
  ])("and is %s at the same time ends, and sends nothing twice after a restart", async (_, ends, state) => {
    const ids = Array.from({ length: 20 }, (_one, index) => `bad${index}`);
    const { clock, webhooks, fixture, operations, start } = await broken(ids);
    const id = await start("retry", {}, { perSecond: 4 });
    await advanceClock(clock, 1_100);
    const ended = ends(operations, id);
    await advanceClock(clock, 1_000);
    await Promise.all(ended);
    const again = await openOperations(fixture);
    await advanceClock(clock, 30_000);
    expect(await again.get(id)).toMatchObject({ state });
    const sent = webhooks.requests.slice(20).map(({ messageId }) => messageId);
    expect(new Set(sent).size).toBe(sent.length);
    expect(sent.length === 20).toBe(state === "finished");
    expect(await fixture.store.config.list(OPERATION_PAGE)).toEqual([]);
  });

  it("is cancelled as soon as the store is back, if it fails then", async () => {
    const { clock, fixture, operations, start } = await broken(["bad1", "bad2", "bad3"]);
    const id = await start("retry", {}, { perSecond: 1 });
    const { put } = fixture.store.config;
    fixture.store.config.put = () => Promise.reject(new Error("no space left"));
    await advanceClock(clock, 2_000);
    let isCancelled = false;
    const cancelled = operations.cancel(id).then(() => {
      isCancelled = true;
    });
    await advanceClock(clock, 20_000);
    expect(isCancelled).toBe(false);
    fixture.store.config.put = put;
    await advanceClock(clock, 10_000);
    await cancelled;
    expect(await operations.get(id)).toMatchObject({ state: "cancelled" });
  });

  it("ends when its destination is deleted while it waits for results of it", async () => {
    const { clock, webhooks, fixture, destinationId, operations, start } = await broken(["bad1", "bad2"]);
    const id = await start("retry", { destinationId }, { fix: false });
    webhooks.script(A, "hang");
    await advanceClock(clock, 1_000);
    await fixture.store.config.delete("destination", destinationId);
    await fixture.store.consumers.remove(destinationId);
    await advanceClock(clock, 30_000);
    expect(await operations.get(id)).toMatchObject({ state: "finished", done: 2, waiting: 0 });
  });
});
