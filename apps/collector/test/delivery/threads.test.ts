import { mkdtemp, rm } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { idDigest, idDigestKey, openSqliteStore, userIdentity } from "@sluice/event-log";
import { batchOf } from "@sluice/event-log/testing";
import { systemClock } from "@sluice/resilience";
import { startThread } from "@sluice/resilience/node";
import { afterEach, expect, it, vi } from "vitest";
import { createDestination } from "../../src/delivery/control/connections.js";
import { DELIVERY_DEFAULTS } from "../../src/delivery/delivery-stage.js";
import { startDelivery } from "../../src/delivery/start-delivery.js";
import type { DeliveryWorker } from "../../src/delivery/workers/delivery-thread.js";
import type { DeliveryThreadData } from "../../src/delivery/workers/thread-api.js";
import { createCatalog } from "../../src/destinations/catalog.js";
import { secretBox } from "../../src/destinations/secret-box.js";
import { openSuppressions } from "../../src/documents/suppressions.js";
import { liveEvents } from "../../src/process/telemetry/live-events.js";
import { createLogger } from "../../src/process/telemetry/logger.js";
import { createMetrics } from "../../src/process/telemetry/metrics.js";
import { egressPolicy } from "../../src/sender/egress-policy.js";
import { type CollectorWorld, openCollector } from "../audiences/collector-world.js";
import { type Answer, closeReceivers, type Received, type Receiver, startReceiver } from "./receiver.js";

closeReceivers();

/** Longer than one second on a busy machine. */
const until = (holds: () => Promise<void> | void): Promise<void> => vi.waitFor(holds, { timeout: 60_000 });

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

async function withThreads(): Promise<CollectorWorld> {
  const world = await openCollector({ workers: 3 });
  ends.push(() => world.close());
  return world;
}

function track(messageId: string): { type: string; messageId: string; userId: string; event: string } {
  return { type: "track", messageId, userId: "u1", event: "E" };
}

const idsOf = ({ received }: Receiver): string[] => received.map(({ messageId }) => messageId).sort();

it("delivers to each destination in one of the threads, and counts and shows it as in one", async () => {
  const world = await withThreads();
  const receivers = await Promise.all([1, 2, 3, 4].map(() => startReceiver()));
  const ids: string[] = [];
  for (const { url } of receivers) ids.push(await world.webhook(url, [world.sourceId]));
  await world.send(["a", "b", "c"].map(track));
  await Promise.all(receivers.map((receiver) => receiver.until(3)));
  for (const receiver of receivers) expect(idsOf(receiver)).toEqual(["a", "b", "c"]);
  const counted = ids.map((id) => `sluice_deliveries_total{destination="${id}",state="delivered"} 3`);
  await until(async () => {
    const metrics = await world.metrics();
    for (const line of counted) expect(metrics).toContain(line);
    for (const id of ids)
      expect(metrics).toContain(`sluice_destination_backlog_messages{destination="${id}"} 0`);
  });
  await until(async () => {
    const { body } = await world.api("GET", `/destinations/${ids[0]}/status`);
    expect(body).toMatchObject({ health: "good", behind: 0, waiting: 0 });
  });
});

it("sends nothing to a former URL once a change is answered", async () => {
  const world = await withThreads();
  const [before, after] = [await startReceiver(), await startReceiver()];
  const id = await world.webhook(before.url, [world.sourceId]);
  await world.send([track("a")]);
  await before.until(1);
  const settings = { webhooks: [{ url: after.url }] };
  expect((await world.api("PATCH", `/destinations/${id}`, { settings })).status).toBe(200);
  await world.send([track("b")]);
  await after.until(1);
  expect(idsOf(before)).toEqual(["a"]);
  expect(idsOf(after)).toEqual(["b"]);
});

it("disables a URL that answers 410, and forgets a destination that is deleted", async () => {
  const world = await withThreads();
  const receiver = await startReceiver();
  receiver.answer(410);
  const id = await world.webhook(receiver.url, [world.sourceId]);
  await world.send([track("a")]);
  await receiver.until(1);
  await until(async () => {
    const { body } = await world.api("GET", `/destinations/${id}/status`);
    expect(body.disabledUrls).toEqual([receiver.url]);
  });
  expect((await world.api("DELETE", `/destinations/${id}`)).status).toBe(204);
  await expect(world.collector.store.consumers.nextDueMs(id)).rejects.toMatchObject({ code: "not_found" });
});

it("goes on after a restart where the threads stopped", async () => {
  const world = await withThreads();
  const receiver = await startReceiver();
  receiver.answer(503);
  await world.webhook(receiver.url, [world.sourceId]);
  await world.send([track("a")]);
  await receiver.until(1);
  await world.restart(() => receiver.answer(200));
  await receiver.until(2);
  expect(receiver.received.map(({ attempt }) => attempt)).toEqual([1, 2]);
});

/** Delivery over a store on disk, in threads that a test can end. */
async function openThreads() {
  const folder = await mkdtemp(join(tmpdir(), "sluice-threads-"));
  const store = await openSqliteStore({ directory: folder, clock: systemClock });
  const key = new Uint8Array(32);
  const catalog = createCatalog({
    clock: systemClock,
    secrets: secretBox(key),
    egress: egressPolicy({ allow: ["127.0.0.0/8"] }),
    exportsFolder: folder,
  });
  await store.config.put("source", "src_1", {
    name: "Shop",
    kind: "server",
    writeKeys: [],
    blockedEvents: [],
  });
  const log: string[] = [];
  const workers: DeliveryWorker[] = [];
  const workerData: DeliveryThreadData = {
    ...{ exportsFolder: folder, key, allowTargets: ["127.0.0.0/8"], packages: [], folder },
    policy: DELIVERY_DEFAULTS,
    tracesShare: undefined,
  };
  const suppressions = await openSuppressions({
    ...{ store, clock: systemClock },
    digest: idDigest(idDigestKey(key)),
  });
  const delivery = await startDelivery({
    suppressions,
    ...{ store, catalog, clock: systemClock, metrics: createMetrics(), live: liveEvents() },
    logger: createLogger({ write: (line) => log.push(line) }),
    threads: {
      count: 1,
      startThread() {
        const entry = new URL("../../src/workers/worker.ts", import.meta.url);
        const worker = startThread(entry, { name: "test", room: { youngMb: 16, oldMb: 128 }, workerData });
        workers.push(worker);
        return worker;
      },
    },
  });
  ends.push(async () => {
    await delivery.close(0);
    await store.close();
    await rm(folder, { recursive: true });
  });
  const create = async (url: string, settings: object = {}): Promise<string> => {
    const result = await createDestination(
      { store, catalog, clock: systemClock },
      {
        type: "webhooks",
        name: "Hook",
        sourceIds: ["src_1"],
        settings: { webhooks: [{ url }], ...settings },
      },
    );
    if (result.kind !== "changed") throw new Error(JSON.stringify(result));
    return result.destination.id;
  };
  return { store, delivery, workers, log, create };
}

it("starts a thread that died again, which repeats what was under way and loses nothing", async () => {
  const { store, workers, log, create } = await openThreads();
  const receiver = await startReceiver();
  receiver.answer(
    ({ messageId, attempt }: Received): Answer =>
      messageId === "failed" && attempt === 1
        ? 503
        : messageId === "hangs" && workers.length === 1
          ? "hang"
          : 200,
  );
  await create(receiver.url);
  await store.log.append(batchOf([track("sent"), track("failed"), track("hangs")]));
  await receiver.until(3);
  await workers[0]?.terminate();
  await store.log.append(batchOf([track("later")]));
  await until(() => expect(idsOf(receiver)).toContain("later"));
  await receiver.until(6);
  await until(() => expect(idsOf(receiver).filter((id) => id === "hangs")).toHaveLength(2));
  expect(idsOf(receiver).filter((id) => id !== "sent")).toEqual([
    "failed",
    "failed",
    "hangs",
    "hangs",
    "later",
  ]);
  expect(workers).toHaveLength(2);
  expect(log.join("")).toContain("a thread that works has ended and is started again");
});

it("removes a destination that is deleted while its thread is away", async () => {
  const { store, workers, create } = await openThreads();
  const receiver = await startReceiver();
  const id = await create(receiver.url);
  await store.log.append(batchOf([track("a")]));
  await receiver.until(1);
  await workers[0]?.terminate();
  await store.config.delete("destination", id);
  await expect(store.consumers.nextDueMs(id)).rejects.toMatchObject({ code: "not_found" });
});

it("sends nothing of a user whose messages were purged, though its thread has read them", async () => {
  const { store, delivery, create } = await openThreads();
  const receiver = await startReceiver();
  const { promise: mayAnswer, resolve: answer } = Promise.withResolvers<void>();
  receiver.answer(
    (_request: Received, response: ServerResponse) => void mayAnswer.then(() => response.end()),
  );
  const id = await create(receiver.url, { concurrency: 1 });
  await store.log.append(batchOf([track("first"), { ...track("gone"), userId: "u2" }, track("last")]));
  await receiver.until(1);
  await delivery.purged([userIdentity("u2")]);
  answer();
  await receiver.until(2);
  await until(async () => expect((await delivery.status(id))?.behind).toBe(0));
  expect(idsOf(receiver)).toEqual(["first", "last"]);
});
