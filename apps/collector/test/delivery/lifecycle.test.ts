import { existsSync } from "node:fs";
import { rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { BEFORE_FIRST, DOCUMENT_KINDS, openMemoryStore, type Store } from "@sluice/event-log";
import { batchOf } from "@sluice/event-log/testing";
import { manualClock } from "@sluice/resilience/testing";
import { describe, expect, it } from "vitest";
import { removeDestination } from "../../src/delivery/control/connections.js";
import { retryDelivery } from "../../src/delivery/control/retry-delivery.js";
import type { DestinationDocument } from "../../src/documents/documents.js";
import { scriptedWebhooks } from "../../src/testing/scripted-webhooks.js";
import { advanceClock } from "../../src/testing.js";
import { fixture as pem } from "../sender/tcp-server.js";
import { closeDeliveries, type DeliveryFixture, openDelivery } from "./delivery-fixture.js";
import { closeReceivers, startReceiver } from "./receiver.js";

closeDeliveries();
closeReceivers();

const HOUR = 3_600_000;
const A = "https://hooks.example/a";
const SECOND_SOURCE = {
  name: "App",
  kind: "server",
  createdAt: "2026-01-01T00:00:00.000Z",
  writeKeys: [],
  blockedEvents: [],
};
const resolve = async () => [{ address: "198.41.0.4", family: 4 }];

/** Starts delivery with scripted webhooks and a manual clock. */
async function scripted() {
  const clock = manualClock({ random: Math.random });
  const { openEndpoint, ...webhooks } = scriptedWebhooks(clock);
  const fixture = await openDelivery({ clock, openEndpoint, resolve });
  return {
    clock,
    webhooks,
    fixture,
    advance: (ms: number) => advanceClock(clock, ms),
    ids: () => webhooks.requests.map(({ messageId }) => messageId),
  };
}

const states = async (fixture: DeliveryFixture, ...messageIds: string[]) =>
  (await Promise.all(messageIds.map((id) => fixture.deliveries(id)))).map(([delivery]) => delivery?.state);

describe("a disabled destination", () => {
  it("keeps queued messages, skips new ones, and continues when it is enabled", async () => {
    const { advance, webhooks, fixture, ids } = await scripted();
    const id = await fixture.create({ settings: { webhooks: [{ url: A }] } });
    webhooks.script(A, 503);
    await fixture.append([{ messageId: "queued" }]);
    await advance(0);
    await fixture.change(id, { enabled: false });
    await advance(HOUR);
    await fixture.append([{ messageId: "meanwhile" }]);
    await advance(HOUR);
    expect(ids()).toEqual(["queued"]);

    webhooks.script(A, 200);
    await fixture.change(id, { enabled: true });
    await fixture.append([{ messageId: "after" }]);
    await advance(60_000);
    expect(ids().sort()).toEqual(["after", "queued", "queued"]);
    expect(await states(fixture, "queued", "meanwhile", "after")).toEqual([
      "delivered",
      "skipped",
      "delivered",
    ]);
  });

  it("still delivers its backlog when it is enabled again", async () => {
    const { advance, webhooks, fixture, ids } = await scripted();
    const id = await fixture.create({ settings: { webhooks: [{ url: A }], concurrency: 1 } });
    webhooks.script(A, { status: 200, latencyMs: 1_000 });
    await fixture.append([{ messageId: "m1" }, { messageId: "m2" }, { messageId: "m3" }]);
    await advance(500);
    await fixture.change(id, { enabled: false });
    await advance(5_000);
    // The round in flight ends normally.
    expect(ids()).toEqual(["m1"]);
    expect(await states(fixture, "m1")).toEqual(["delivered"]);
    await fixture.change(id, { enabled: true });
    await advance(5_000);
    expect(ids()).toEqual(["m1", "m2", "m3"]);
  });
});

describe("a connected source", () => {
  it("delivers messages from the connection on, and queued messages after the disconnection", async () => {
    const { advance, webhooks, fixture, ids } = await scripted();
    const id = await fixture.create({ settings: { webhooks: [{ url: A }] }, sourceIds: [] });
    await fixture.append([{ messageId: "before" }]);
    await advance(0);
    await fixture.change(id, { sourceIds: ["src_1"] });
    webhooks.script(A, 503);
    await fixture.append([{ messageId: "connected" }]);
    await advance(0);
    await fixture.change(id, { sourceIds: [] });
    await fixture.append([{ messageId: "after" }]);
    webhooks.script(A, 200);
    await advance(60_000);
    expect(new Set(ids())).toEqual(new Set(["connected"]));
    expect(await states(fixture, "before", "connected", "after")).toEqual([
      undefined,
      "delivered",
      undefined,
    ]);
  });

  it("delivers messages from the connection on, even if the cursor passed them before delivery learned of it", async () => {
    const { advance, fixture, ids } = await scripted();
    const id = await fixture.create({ settings: { webhooks: [{ url: A }] } });
    await fixture.append([{ messageId: "first" }]);
    await advance(0);
    // Delivery learns of a change when the document is stored. Delay that while messages of the new source pass.
    const { put } = fixture.store.config;
    let letGo = (): void => {};
    const held = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    await fixture.store.config.put("source", "src_2", {
      name: "App",
      kind: "server",
      createdAt: "2026-01-01T00:00:00.000Z",
      writeKeys: [],
      blockedEvents: [],
    });
    await advance(0);
    fixture.store.config.put = async (kind, key, value, expected) => {
      if (kind === "destination") await held;
      return put.call(fixture.store.config, kind, key, value, expected) as never;
    };
    await fixture.append([{ messageId: "before" }], { sourceId: "src_2" });
    await advance(0);
    const changed = fixture.change(id, { sourceIds: ["src_1", "src_2"] });
    await advance(0);
    await fixture.append([{ messageId: "early" }], { sourceId: "src_2" });
    await fixture.append([{ messageId: "other" }]);
    await advance(0);
    expect(ids()).toEqual(["first", "other"]);
    letGo();
    await changed;
    await fixture.append([{ messageId: "late" }], { sourceId: "src_2" });
    await advance(1_000);
    expect(ids().sort()).toEqual(["early", "first", "late", "other"]);
    expect(await states(fixture, "before", "early", "late")).toEqual([undefined, "delivered", "delivered"]);
  });

  it("delivers them even if the collector was killed before delivery learned of it", async () => {
    const { advance, fixture, ids } = await scripted();
    const id = await fixture.create({ settings: { webhooks: [{ url: A }] } });
    await fixture.append([{ messageId: "first" }]);
    await advance(0);
    await fixture.store.config.put("source", "src_2", SECOND_SOURCE);
    // State at the kill: the change is stored, and the cursor has passed messages of the new source.
    await fixture.delivery.close(0);
    await fixture.append([{ messageId: "before" }], { sourceId: "src_2" });
    await fixture.change(id, { sourceIds: ["src_1", "src_2"] });
    await fixture.append([{ messageId: "early-0" }, { messageId: "early-1" }], { sourceId: "src_2" });
    const { log, consumers } = fixture.store;
    const early = (await log.find({ messageId: "early-0" }, { limit: 1 })).items[0]?.offset ?? BEFORE_FIRST;
    // One of them was delivered before the kill.
    const outcome = { offset: early, state: "delivered", reason: "HTTP 200", atMs: 0 } as const;
    await consumers.settle(id, { cursor: log.head(), outcomes: [outcome], retries: [], attempts: [] });
    await fixture.restart();
    await advance(1_000);
    expect(ids()).toEqual(["first", "early-1"]);
    expect(await states(fixture, "before", "early-0", "early-1")).toEqual([
      undefined,
      "delivered",
      "delivered",
    ]);
    // Exactly once.
    await fixture.restart();
    await advance(1_000);
    expect(ids()).toEqual(["first", "early-1"]);
    expect(await fixture.store.config.list("catch_up")).toEqual([]);
  });

  it("delivers messages that were read ahead before the connection", async () => {
    const { advance, webhooks, fixture, ids } = await scripted();
    const id = await fixture.create({ settings: { webhooks: [{ url: A }], concurrency: 1 } });
    await fixture.store.config.put("source", "src_2", SECOND_SOURCE);
    await advance(0);
    webhooks.script(A, { status: 200, latencyMs: 1_000 });
    await fixture.change(id, { sourceIds: ["src_1"] });
    const { get } = fixture.store.config;
    let letGo = (): void => {};
    const held = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    // The change is stored, but delivery learns of it only after it has read further.
    let reads = 0;
    fixture.store.config.get = async (kind: string, key: string) => {
      if (kind === "destination" && reads++ > 0) await held;
      return get.call(fixture.store.config, kind, key) as never;
    };
    await fixture.change(id, { sourceIds: ["src_1", "src_2"] });
    await fixture.append([{ messageId: "m0" }, { messageId: "m1" }]);
    await fixture.append([{ messageId: "other" }], { sourceId: "src_2" });
    await fixture.append([{ messageId: "m2" }]);
    await advance(500);
    letGo();
    await advance(60_000);
    expect(ids().sort()).toEqual(["m0", "m1", "m2", "other"]);
    expect(ids()).toHaveLength(4);
  });

  it("is not delayed by many messages of another source in between", async () => {
    const { advance, webhooks, fixture, ids } = await scripted();
    await fixture.create({ settings: { webhooks: [{ url: A }], concurrency: 1 } });
    webhooks.script(A, { status: 200, latencyMs: 10 });
    await fixture.append(Array.from({ length: 10 }, (_, index) => ({ messageId: `m${index}` })));
    for (let batch = 0; batch < 12; batch++) {
      const messages = Array.from({ length: 400 }, (_, index) => ({ messageId: `o${batch}-${index}` }));
      await fixture.append(messages, { sourceId: "src_2" });
    }
    await fixture.append([{ messageId: "last" }]);
    await advance(1_000);
    expect(ids()).toEqual([...Array.from({ length: 10 }, (_, index) => `m${index}`), "last"]);
  });

  it("that blocks an event stops it for every destination, from now on", async () => {
    const { advance, fixture, ids } = await scripted();
    await fixture.create({ settings: { webhooks: [{ url: A }] } });
    const source = await fixture.store.config.get<object>("source", "src_1");
    await fixture.store.config.put("source", "src_1", { ...source?.value, blockedEvents: ["Noise"] });
    await advance(0);
    await fixture.append([
      { messageId: "m1", event: "Noise" },
      { messageId: "m2", event: "Ordered" },
    ]);
    await advance(0);
    expect(ids()).toEqual(["m2"]);
    expect(await fixture.deliveries("m1")).toMatchObject([
      { state: "filtered", reason: "blocked event: the source blocks it" },
    ]);
  });
});

describe("a restart", () => {
  it("repeats interrupted rounds under the same number, and sends nothing that was delivered", async () => {
    const { advance, webhooks, fixture } = await scripted();
    await fixture.create({ settings: { webhooks: [{ url: A }] } });
    webhooks.script(A, ({ messageId }) => (messageId === "slow" ? "hang" : 200));
    await fixture.append([{ messageId: "slow" }, { messageId: "m1" }, { messageId: "m2" }]);
    await advance(0);
    webhooks.script(A, 200);
    await fixture.restart();
    await advance(0);
    expect(webhooks.requests.map(({ messageId, attempt }) => `${messageId} ${attempt}`).sort()).toEqual([
      "m1 1",
      "m2 1",
      "slow 1",
      "slow 1",
    ]);
    expect(await states(fixture, "slow", "m1", "m2")).toEqual(["delivered", "delivered", "delivered"]);
  });

  it("waits for deliveries in flight, up to its timeout", async () => {
    const { advance, webhooks, fixture } = await scripted();
    await fixture.create({ settings: { webhooks: [{ url: A }] } });
    webhooks.script(A, { status: 200, latencyMs: 2_000 });
    await fixture.append([{ messageId: "m1" }]);
    await advance(0);
    const restarted = fixture.restart(5_000);
    await advance(2_000);
    await restarted;
    expect(await states(fixture, "m1")).toEqual(["delivered"]);
    expect(webhooks.requests).toHaveLength(1);
  });

  it("does not restart the retry window", async () => {
    const { advance, webhooks, fixture } = await scripted();
    await fixture.create({ settings: { webhooks: [{ url: A }] } });
    webhooks.script(A, 500);
    await fixture.append([{ messageId: "m1" }]);
    for (let hour = 0; hour < 6; hour++) {
      await advance(HOUR);
      await fixture.restart();
    }
    const times = webhooks.requests.map(({ atMs }) => atMs);
    const span = (times.at(-1) ?? 0) - (times[0] ?? 0);
    expect(span).toBeGreaterThanOrEqual(3.75 * HOUR);
    expect(span).toBeLessThan(4 * HOUR);
    expect(webhooks.requests.map(({ attempt }) => attempt)).toEqual(times.map((_, index) => index + 1));
    expect(await states(fixture, "m1")).toEqual(["failed"]);
  });

  it("after a long stop continues for the rest of the window, minus 15 minutes", async () => {
    const { advance, webhooks, fixture } = await scripted();
    await fixture.create({ settings: { webhooks: [{ url: A }] } });
    webhooks.script(A, 500);
    await fixture.append([{ messageId: "m1" }]);
    await advance(0);
    await fixture.delivery.close(0);
    // A long stop looks the same as a clock that was set forward.
    await advance(5 * HOUR);
    await fixture.restart();
    await advance(0);
    expect(webhooks.requests).toHaveLength(2);
    await advance(4 * HOUR);
    const [, second, ...later] = webhooks.requests.map(({ atMs }) => atMs);
    const span = (later.at(-1) ?? 0) - (second ?? 0);
    expect(span).toBeGreaterThanOrEqual(3.5 * HOUR);
    expect(span).toBeLessThan(3.75 * HOUR);
    expect(await fixture.deliveries("m1")).toMatchObject([
      { state: "failed", reason: "gave up after 4 h of retries: HTTP 500" },
    ]);
  });

  it("keeps a user's messages in order", async () => {
    const { advance, webhooks, fixture } = await scripted();
    await fixture.create({ settings: { webhooks: [{ url: A }], order: "user" } });
    const taken: string[] = [];
    webhooks.script(A, 503);
    await fixture.append([{ messageId: "m0" }, { messageId: "m1" }, { messageId: "m2" }]);
    await advance(0);
    await fixture.restart();
    webhooks.script(A, ({ messageId }) => {
      taken.push(messageId);
      return 200;
    });
    await fixture.append([{ messageId: "m3" }, { messageId: "m4", userId: "u2" }]);
    await advance(60_000);
    expect(taken).toEqual(["m4", "m0", "m1", "m2", "m3"]);
  });

  it("retries a user's message as early as any other, however many wait behind it", async () => {
    const { advance, webhooks, fixture } = await scripted();
    await fixture.create({ settings: { webhooks: [{ url: A }], order: "user" } });
    const taken: string[] = [];
    webhooks.script(A, ({ messageId, attempt }) => {
      if (/^m[0-4]$/.test(messageId) && attempt === 1) return 503;
      taken.push(messageId);
      return 200;
    });
    const ids = Array.from({ length: 100 }, (_, index) => `m${index}`);
    await fixture.append(ids.map((messageId) => ({ messageId })));
    // Five retries of about a second, one after the other. Each message behind them takes a settlement more.
    await advance(30_000);
    expect(taken).toEqual(ids);
  });
});

it("asks a store that cannot be reached at growing intervals, and goes on when it can", async () => {
  const { clock, advance, webhooks, fixture, ids } = await scripted();
  await fixture.create({ settings: { webhooks: [{ url: A }] } });
  webhooks.script(A, 503);
  await fixture.append([{ messageId: "m0" }, { messageId: "m1" }]);
  await advance(5_000);
  const { log, consumers } = fixture.store;
  const works = { read: log.read, lease: consumers.lease };
  const asked: number[] = [];
  const cutOff = async (): Promise<never> => {
    asked.push(clock.monotonic());
    throw new Error("no server answers");
  };
  Object.assign(log, { read: cutOff });
  Object.assign(consumers, { lease: cutOff });
  const fromMs = clock.monotonic();
  await fixture.append([{ messageId: "m2" }]);
  await advance(60_000);
  // A try makes two calls. Without a limit, each of them made a further try: thousands after ten seconds.
  expect(asked.length).toBeGreaterThan(5);
  expect(asked.length).toBeLessThan(40);
  expect(asked.filter((atMs) => atMs > fromMs + 30_000).length).toBeLessThan(12);
  Object.assign(log, { read: works.read });
  Object.assign(consumers, { lease: works.lease });
  webhooks.script(A, 200);
  await advance(60_000);
  expect(await states(fixture, "m0", "m1", "m2")).toEqual(["delivered", "delivered", "delivered"]);
  expect(ids()).toContain("m2");
});

it("asks a store that fails for good no more once it is closed", async () => {
  const { advance, webhooks, fixture } = await scripted();
  await fixture.create({ settings: { webhooks: [{ url: A }], order: "user" } });
  webhooks.script(A, 503);
  await fixture.append([{ messageId: "m0" }, { messageId: "m1" }, { messageId: "m2" }]);
  await advance(0);
  let asked = 0;
  fixture.store.consumers.inLane = () => {
    asked += 1;
    return Promise.reject(new Error("the disk of the copy was full"));
  };
  webhooks.script(A, 200);
  await advance(60_000);
  expect(asked).toBeGreaterThan(0);
  await fixture.delivery.close(0);
  const before = asked;
  await advance(10_000);
  expect(asked).toBe(before);
});

describe("many messages behind a failed one of their user", () => {
  /** Fails the message `poison` until `heal` is called. Counts the retries that the consumer reads of its queues at once. */
  async function blocked(store?: Store) {
    const clock = manualClock({ random: Math.random });
    const { openEndpoint, ...webhooks } = scriptedWebhooks(clock);
    const fixture = await openDelivery({
      clock,
      openEndpoint,
      resolve,
      ...(store === undefined ? {} : { store }),
    });
    const pages: number[] = [];
    const { inLane } = fixture.store.consumers;
    fixture.store.consumers.inLane = async (...args) => {
      const page = await inLane.apply(fixture.store.consumers, args);
      pages.push(page.length);
      return page;
    };
    await fixture.create({ settings: { webhooks: [{ url: A }], order: "user" } });
    const taken: string[] = [];
    let isPoisonous = true;
    webhooks.script(A, ({ messageId }) => {
      if (messageId === "poison" && isPoisonous) return 500;
      taken.push(messageId);
      return 200;
    });
    const ids = Array.from({ length: 1_000 }, (_, index) => `m${index}`);
    await fixture.append([{ messageId: "poison" }, ...ids.slice(0, 500).map((messageId) => ({ messageId }))]);
    await advanceClock(clock, 2_000);
    return {
      ...{ fixture, taken, ids, pages },
      advance: (ms: number) => advanceClock(clock, ms),
      heal: () => {
        isPoisonous = false;
      },
    };
  }
  const messages = (ids: readonly string[], userId?: string) =>
    ids.map((messageId) => ({ messageId, ...(userId === undefined ? {} : { userId }) }));

  it("are read from the store when their turn comes, in order, and hold back nobody else", async () => {
    const { fixture, taken, ids, pages, advance, heal } = await blocked();
    const others = ids.map((id) => `other-${id}`).slice(0, 200);
    await fixture.append(messages(others, "other"));
    await advance(5_000);
    expect(taken).toEqual(others);
    expect(pages).toEqual([]);
    heal();
    await advance(HOUR / 2);
    await fixture.append(messages(ids.slice(500)));
    await advance(HOUR / 2);
    expect(taken.slice(200)).toEqual(["poison", ...ids]);
    // Each page holds 50, and each message is read once.
    expect(Math.max(...pages)).toBe(50);
    expect(pages.reduce((sum, page) => sum + page, 0)).toBeLessThanOrEqual(600);
  });

  it("keep their order over restarts before, while and after their turn", async () => {
    const { fixture, taken, ids, advance, heal } = await blocked();
    await fixture.restart();
    await fixture.append(messages(ids.slice(500, 750)));
    await advance(1_000);
    heal();
    for (let restart = 0; restart < 4; restart++) {
      await advance(restart === 0 ? HOUR : 1_000);
      await fixture.restart(1_000);
    }
    await fixture.append(messages(ids.slice(750)));
    await advance(2 * HOUR);
    expect(taken).toEqual(["poison", ...ids]);
  });

  it("are skipped if somebody discards them, and start if somebody discards the failed one", async () => {
    const { fixture, taken, ids, advance } = await blocked();
    const [destinationId = ""] = (await fixture.store.config.list("destination")).map(({ id }) => id);
    const discardables = [];
    for (const messageId of ["m0", "m7", "m499", "poison"]) {
      const { items } = await fixture.store.log.find({ messageId }, { limit: 1 });
      const [stored] = items;
      if (stored !== undefined) discardables.push({ offset: stored.offset, isPending: true });
    }
    await fixture.delivery.discard(destinationId, discardables, "discarded by a test");
    await advance(HOUR);
    expect(taken).toEqual(ids.slice(1, 499).filter((id) => id !== "m7"));
    await fixture.append(messages(["later"]));
    await advance(1_000);
    expect(taken.at(-1)).toBe("later");
  });
});

describe("messages behind slow answers of their user", () => {
  it("are stored when many of others have passed them, so that the cursor follows", async () => {
    const { advance, webhooks, fixture, ids } = await scripted();
    const id = await fixture.create({ settings: { webhooks: [{ url: A }], order: "user" } });
    webhooks.script(A, ({ messageId }) => ({
      status: 200,
      latencyMs: messageId.startsWith("slow") ? 4_000 : 0,
    }));
    const slow = ["slow0", "slow1", "slow2"];
    await fixture.append(slow.map((messageId) => ({ messageId, userId: "slow" })));
    for (let batch = 0; batch < 11; batch++) {
      const fast = Array.from({ length: 1_000 }, (_, index) => `fast${batch}-${index}`);
      await fixture.append(fast.map((messageId) => ({ messageId, userId: messageId })));
    }
    await advance(3_000);
    expect(ids().filter((messageId) => messageId.startsWith("slow"))).toEqual(["slow0"]);
    expect(await states(fixture, "slow1", "slow2", "fast0-0")).toEqual(["pending", "pending", "delivered"]);
    await advance(10_000);
    expect(await fixture.store.consumers.open(id, BEFORE_FIRST)).toMatchObject({
      cursor: 11_002,
      settledAhead: [],
    });
    expect(await states(fixture, ...slow)).toEqual(["delivered", "delivered", "delivered"]);
    expect(ids().filter((messageId) => messageId.startsWith("slow"))).toEqual(slow);
  });
});

describe("switching to order: user while messages wait for a retry", () => {
  it("keeps those messages in order too", async () => {
    const { advance, webhooks, fixture } = await scripted();
    const id = await fixture.create({ settings: { webhooks: [{ url: A }] } });
    const taken: string[] = [];
    webhooks.script(A, 503);
    await fixture.append([{ messageId: "m0" }, { messageId: "m1" }, { messageId: "v0", userId: "v" }]);
    await advance(0);
    webhooks.script(A, ({ messageId, attempt }) => {
      if (messageId === "m0" && attempt < 6) return 503;
      taken.push(messageId);
      return 200;
    });
    await fixture.change(id, { settings: { order: "user" } });
    await fixture.append([{ messageId: "m2" }, { messageId: "w0", userId: "w" }]);
    await advance(0);
    // New settings may have fixed it, so a waiting message is tried at once: m0 fails again, and v0 gets through.
    // There is no order between users.
    expect(taken.slice().sort()).toEqual(["v0", "w0"]);
    await advance(HOUR);
    expect(taken.filter((messageId) => messageId.startsWith("m"))).toEqual(["m0", "m1", "m2"]);
    expect(taken.slice().sort()).toEqual(["m0", "m1", "m2", "v0", "w0"]);
  });

  it("and back leaves no message behind and sends none twice", async () => {
    const { advance, webhooks, fixture } = await scripted();
    const id = await fixture.create({ settings: { webhooks: [{ url: A }], order: "user" } });
    const taken: string[] = [];
    webhooks.script(A, 503);
    await fixture.append([{ messageId: "m0" }, { messageId: "m1" }]);
    await advance(0);
    webhooks.script(A, ({ messageId, attempt }) => {
      if (messageId === "m0" && attempt < 8) return 503;
      taken.push(messageId);
      return 200;
    });
    await fixture.change(id, { settings: { order: "none" } });
    await fixture.append([{ messageId: "m2" }]);
    await advance(0);
    expect(taken).toEqual(["m2"]);
    await fixture.change(id, { settings: { order: "user" } });
    await fixture.append([{ messageId: "m3" }]);
    await advance(2 * HOUR);
    expect(taken).toEqual(["m2", "m0", "m1", "m3"]);
  });
});

describe("messages created by the collector", () => {
  it("arrive in order over six failed rounds and a restart, whatever `order` the destination has", async () => {
    const { advance, webhooks, fixture } = await scripted();
    const id = await fixture.create({ settings: { webhooks: [{ url: A }] }, sourceIds: [] });
    let failures = 6;
    const taken: string[] = [];
    webhooks.script(A, ({ messageId }) => {
      if (failures-- > 0) return 503;
      taken.push(messageId);
      return 200;
    });
    const make = (messageId: string) =>
      fixture.store.log.append({
        ...batchOf([{ messageId }], { sourceId: "audiences" }),
        onlyDestinations: [id],
      });
    await make("entered");
    await advance(0);
    await make("left");
    await advance(3_000);
    await fixture.restart();
    await make("back");
    await advance(HOUR);
    expect(failures).toBeLessThan(0);
    expect(taken).toEqual(["entered", "left", "back"]);
  });
});

describe("a clock that jumps", () => {
  it.each([
    ["back a day", -24 * HOUR],
    ["forward a day", 24 * HOUR],
  ])("%s neither stalls retries nor ends their window", async (_name, jumpMs) => {
    const clock = manualClock({ random: Math.random });
    const { openEndpoint, ...webhooks } = scriptedWebhooks(clock);
    const fixture = await openDelivery({ clock, openEndpoint, resolve });
    await fixture.create({ settings: { webhooks: [{ url: A }] } });
    webhooks.script(A, 500);
    await fixture.append([{ messageId: "m1" }]);
    await advanceClock(clock, 60_000);
    const before = webhooks.requests.length;
    clock.jump(jumpMs);
    await advanceClock(clock, HOUR);
    expect(webhooks.requests.length).toBeGreaterThan(before);
    await advanceClock(clock, 4 * HOUR);
    const times = webhooks.requests.map(({ atMs }, index) => (index < before ? atMs : atMs - jumpMs));
    const span = (times.at(-1) ?? 0) - (times[0] ?? 0);
    expect(span).toBeGreaterThanOrEqual(3.75 * HOUR - 60_000);
    expect(span).toBeLessThan(4 * HOUR + 60_000);
    expect(await states(fixture, "m1")).toEqual(["failed"]);
  });
});

describe("a destination that is disabled while a retry is loaded", () => {
  it("keeps the retry, and runs it when it is enabled again", async () => {
    const { advance, webhooks, fixture } = await scripted();
    const id = await fixture.create({ settings: { webhooks: [{ url: A }] } });
    webhooks.script(A, 503);
    await fixture.append([{ messageId: "m1" }]);
    await advance(100);
    const { read } = fixture.store.log;
    let letGo = (): void => {};
    const held = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    let loading = false;
    fixture.store.log.read = async (after, max) => {
      loading = true;
      await held;
      return read.call(fixture.store.log, after, max);
    };
    await advance(60_000);
    expect(loading).toBe(true);
    // A retry within a second has its message from the load before.
    const before = webhooks.requests.length;
    await fixture.change(id, { enabled: false });
    await advance(0);
    letGo();
    await advance(60_000);
    expect(webhooks.requests).toHaveLength(before);
    webhooks.script(A, 200);
    await fixture.change(id, { enabled: true });
    await advance(1_000);
    expect(await states(fixture, "m1")).toEqual(["delivered"]);
  });
});

describe("a retry requested by a person", () => {
  it("runs at once, as the next round of a pending message", async () => {
    const { advance, webhooks, fixture } = await scripted();
    const id = await fixture.create({ settings: { webhooks: [{ url: A }] } });
    webhooks.script(A, { status: 503, retryAfter: "3600" });
    await fixture.append([{ messageId: "m1" }]);
    await advance(1_000);
    webhooks.script(A, 200);
    const [pending] = await fixture.deliveries("m1");
    expect(pending?.state).toBe("pending");
    if (pending !== undefined) expect(await retryDelivery(fixture, id, pending.offset)).toBe(true);
    fixture.delivery.wake(id);
    await advance(0);
    expect(webhooks.requests.map(({ attempt }) => attempt)).toEqual([1, 2]);
    expect(await states(fixture, "m1")).toEqual(["delivered"]);
  });

  it("probes a dead destination at once", async () => {
    const { advance, webhooks, fixture } = await scripted();
    const id = await fixture.create({ settings: { webhooks: [{ url: A }] } });
    webhooks.script(A, "reset");
    await fixture.append(Array.from({ length: 30 }, (_, index) => ({ messageId: `m${index}` })));
    await advance(HOUR);
    expect(await fixture.delivery.status(id)).toMatchObject({ state: "backing_off" });
    webhooks.script(A, 200);
    fixture.delivery.wake(id);
    for (let turn = 0; turn < 50; turn++) await advance(0);
    expect(await fixture.delivery.status(id)).toMatchObject({ state: "delivering" });
  });
});

describe("a destination that cannot be opened", () => {
  it("keeps its messages, logs the reason, and delivers them once it opens", async () => {
    const clock = manualClock();
    const { openEndpoint, ...webhooks } = scriptedWebhooks(clock);
    const fixture = await openDelivery({ clock, openEndpoint, resolve });
    const caFile = join(fixture.folder, "ca.pem");
    await writeFile(caFile, pem("ca.pem"));
    const id = await fixture.create({ settings: { webhooks: [{ url: A }], caFile } });
    // As stored by older versions: the file's path without the certificates.
    const kept = await fixture.store.config.get<DestinationDocument>(DOCUMENT_KINDS.destination, id);
    if (kept === undefined) throw new Error("it was created");
    const { caPem: _, ...older } = kept.value.settings as { caPem: string };
    await fixture.store.config.put(DOCUMENT_KINDS.destination, id, { ...kept.value, settings: older });
    await rename(caFile, `${caFile}.away`);
    await fixture.restart();
    await fixture.append([{ messageId: "m1" }]);
    await advanceClock(clock, 1_000);
    expect(webhooks.requests).toHaveLength(0);
    // Startup does not wait for the destination to open, which reads a real file.
    await expect.poll(() => fixture.log.join("")).toContain("destination cannot be opened");
    expect(await fixture.delivery.status(id)).toMatchObject({
      state: "disabled",
      health: "failing",
      lastError: expect.stringContaining("ca.pem"),
      behind: 1,
    });
    await rename(`${caFile}.away`, caFile);
    await advanceClock(clock, 30_000);
    // Reading the file takes real time.
    await fixture.until("m1", "delivered");
    expect(webhooks.requests).toHaveLength(1);
    expect(await fixture.delivery.status(id)).toMatchObject({ state: "delivering", health: "good" });
  });
});

describe("a deleted destination", () => {
  it("removes its delivery data and aborts deliveries in flight", async () => {
    const { advance, webhooks, fixture } = await scripted();
    const id = await fixture.create({ settings: { webhooks: [{ url: A }] } });
    webhooks.script(A, "hang");
    await fixture.append([{ messageId: "m1" }]);
    await advance(0);
    expect(await removeDestination(fixture.store, id)).toBe(true);
    await advance(HOUR);
    expect(await fixture.deliveries("m1")).toEqual([]);
    expect(await fixture.delivery.status(id)).toBeUndefined();
    expect(webhooks.requests).toHaveLength(1);
  });

  it("logs no error, even if a settlement was being stored", async () => {
    const { advance, webhooks, fixture } = await scripted();
    const id = await fixture.create({ settings: { webhooks: [{ url: A }] } });
    await fixture.append([{ messageId: "m1" }]);
    await advance(0);
    await fixture.append([{ messageId: "m2" }]);
    await advance(0);
    expect(webhooks.requests).toHaveLength(2);
    expect(await removeDestination(fixture.store, id)).toBe(true);
    await advance(HOUR);
    expect(fixture.log.filter((line) => line.includes("error"))).toEqual([]);
  });
});

describe("the lag of a destination", () => {
  it("is zero when all received messages are routed, even if none was for the destination", async () => {
    const { advance, webhooks, fixture } = await scripted();
    const id = await fixture.create({ settings: { webhooks: [{ url: A }] } });
    await fixture.append([{ messageId: "m1" }]);
    await fixture.append([{ messageId: "m2" }, { messageId: "m3" }], { sourceId: "src_2" });
    await fixture.store.log.append({ ...batchOf([{ messageId: "m4" }]), onlyDestinations: ["dst_other"] });
    await advance(1_000);
    expect(await fixture.delivery.status(id)).toMatchObject({ behind: 0, retries: 0 });
    webhooks.script(A, { status: 200, latencyMs: 1_000 });
    await fixture.append([{ messageId: "m5" }]);
    await fixture.append([{ messageId: "m6" }], { sourceId: "src_2" });
    await advance(10);
    expect(await fixture.delivery.status(id)).toMatchObject({ behind: 1, retries: 0 });
  });
});

describe("a store that fails temporarily", () => {
  it("loses no outcome, and no message is started during the failure", async () => {
    const clock = manualClock();
    const store = openMemoryStore({ clock });
    const { openEndpoint, ...webhooks } = scriptedWebhooks(clock);
    const fixture = await openDelivery({ clock, store, openEndpoint, resolve });
    await fixture.create({ settings: { webhooks: [{ url: A }] } });
    await fixture.append([{ messageId: "m1" }, { messageId: "m2" }]);
    store.breakDown("disk full");
    await advanceClock(clock, 5_000);
    expect(webhooks.requests).toHaveLength(2);
    expect(fixture.log.join("")).toContain("delivery waits for the store");
    store.repair();
    await advanceClock(clock, 5_000);
    expect(await states(fixture, "m1", "m2")).toEqual(["delivered", "delivered"]);
    expect(webhooks.requests).toHaveLength(2);
  });
});

describe("other destination types", () => {
  it("deliver messages to a file, one per line", async () => {
    const fixture = await openDelivery();
    await fixture.create({ type: "file", settings: { fileName: "out.jsonl" } });
    await fixture.append([{ messageId: "m1" }, { messageId: "m2" }]);
    await fixture.until("m2", "delivered");
    await fixture.until("m1", "delivered");
    expect(existsSync(join(fixture.folder, "out.jsonl"))).toBe(true);
  });
});

it("a test send uses the real path, is not stored, and works for a disabled destination", async () => {
  const receiver = await startReceiver();
  const fixture = await openDelivery();
  const id = await fixture.create({
    enabled: false,
    settings: { webhookUrl: receiver.url, sharedSecret: "k" },
  });
  receiver.answer({ status: 503, body: "not today" });
  expect(await fixture.delivery.test(id)).toMatchObject({
    state: "pending",
    reason: "HTTP 503",
    attempts: [{ attempt: 1, status: 503, response: "not today", address: "127.0.0.1" }],
  });
  expect(receiver.received).toHaveLength(1);
  expect(JSON.parse(receiver.received[0]?.body ?? "")).toMatchObject({ type: "track", event: "Test Event" });
  expect(await fixture.delivery.test("dst_none")).toBeUndefined();
});
