import { AUDIENCE, AudienceEngine, type Audiences, startAudiences } from "@sluice/audiences";
import { audience, EPOCH_MS } from "@sluice/audiences/testing";
import type { EventLog, ProfileStore, Store } from "@sluice/event-log";
import {
  idDigest,
  memoryProfileStore,
  openMemoryStore,
  StorageUnavailable,
  SUPPRESSION,
  userIdentity,
} from "@sluice/event-log";
import { AUDIENCE_SOURCE_ID } from "@sluice/protocol";
import { type ManualClock, manualClock } from "@sluice/resilience/testing";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { definitionEndpoints } from "../../src/admin/definitions/definition-endpoints.js";
import { CollectorError } from "../../src/errors.js";
import { createLogger } from "../../src/process/telemetry/logger.js";
import { createMetrics, type Metrics } from "../../src/process/telemetry/metrics.js";
import { controlApi } from "../admin/control-api.js";

let clock: ManualClock;
let store: Store;
let profiles: ProfileStore;
let audiences: Audiences | undefined;
let sent = 0;
let utilization = 0;
let metrics: Metrics;
/** What the log does with messages of audiences, instead of only appending them. */
let appendOwed: EventLog["append"] | undefined;
/** Whether the log fails to look for messages. */
let isIndexDamaged = false;
let logged: string[] = [];

beforeEach(async () => {
  clock = manualClock({ startMs: EPOCH_MS });
  store = openMemoryStore({ clock });
  profiles = memoryProfileStore();
  appendOwed = undefined;
  isIndexDamaged = false;
  logged = [];
  sent = 0;
  utilization = 0;
});
afterEach(async () => {
  await audiences?.close();
  await store.close();
});

async function start(engine = new AudienceEngine(profiles)): Promise<Audiences> {
  const log: EventLog = {
    ...store.log,
    head: () => store.log.head(),
    read: (...args) => store.log.read(...args),
    find: (...args) =>
      isIndexDamaged
        ? Promise.reject(new CollectorError("data_damaged", "the index"))
        : store.log.find(...args),
    get: (offset) => store.log.get(offset),
    onAppend: (listener) => store.log.onAppend(listener),
    append: (batch) =>
      batch.sourceId === AUDIENCE_SOURCE_ID && appendOwed !== undefined
        ? appendOwed(batch)
        : store.log.append(batch),
  };
  metrics = createMetrics();
  audiences = await startAudiences({
    store: { log, config: store.config, consumers: store.consumers },
    engine,
    clock,
    logger: createLogger({ write: (line) => void logged.push(line) }),
    metrics,
    digestKey: new Uint8Array(32),
    utilization: () => utilization,
  });
  return audiences;
}

/** Messages that are not counted yet, those of audiences among them. */
async function behind(): Promise<number> {
  return Number(/^sluice_audiences_backlog_messages (\d+)$/m.exec(await metrics.render())?.[1]);
}

async function identify(userId: string, plan: string): Promise<void> {
  sent += 1;
  const message = { type: "identify", messageId: `m${sent}`, userId, traits: { plan } };
  await store.log.append({
    sourceId: "src",
    receivedAtMs: clock.now(),
    body: Buffer.from(JSON.stringify({ batch: [message] })),
    itemCount: 1,
    skipped: [],
    madeIds: [],
    keys: [{ index: 0, messageId: message.messageId, userId, type: "identify" }],
  });
}

test("a failure that lasts is logged once, and again after it has ended", async () => {
  await makePros();
  await start();
  const failures = () => logged.filter((line) => line.includes("audiences failed and will retry")).length;
  appendOwed = () => Promise.reject(new Error("the disk is full"));
  await identify("ann", "pro");
  await clock.advance(60_000);
  expect(failures()).toBe(1);
  appendOwed = undefined;
  await clock.advance(2_000);
  expect(await told()).toEqual(["ann:true"]);
  appendOwed = () => Promise.reject(new Error("the disk is full"));
  await identify("bob", "pro");
  await clock.advance(60_000);
  expect(failures()).toBe(2);
});

/** What the log has of audiences, oldest first. */
async function told(): Promise<string[]> {
  const { items } = await store.log.find({ sourceId: AUDIENCE_SOURCE_ID }, { limit: 100 });
  return items
    .toReversed()
    .map(({ message }) => `${message.userId}:${(message.traits as Record<string, unknown>).pros}`);
}

const PROS = audience("pros", { kind: "trait", trait: "plan", is: "equals", value: "pro" });
const makePros = () => store.config.put(AUDIENCE, "pros", PROS.document);

describe("what is owed to the log", () => {
  test("is appended, for the audience's destinations alone", async () => {
    await makePros();
    const started = await start();
    await identify("ann", "pro");
    expect(await started.stats("pros")).toMatchObject({ size: 1 });
    await clock.advance(0);
    expect(await told()).toEqual(["ann:true"]);
    const { items } = await store.log.find({ sourceId: AUDIENCE_SOURCE_ID }, { limit: 1 });
    expect(items[0]?.onlyDestinations).toEqual(["dst"]);
  });

  test.each([
    ["before", async () => Promise.reject(new Error("no answer"))],
    [
      "after",
      async (batch: Parameters<EventLog["append"]>[0]) => {
        await store.log.append(batch);
        throw new Error("no answer");
      },
    ],
  ] as const)("is told once when the log failed %s it had taken it", async (_when, fails) => {
    await makePros();
    await start();
    appendOwed = fails;
    await identify("ann", "pro");
    await clock.advance(10);
    appendOwed = undefined;
    await identify("ann", "free");
    await clock.advance(5_000);
    expect(await told()).toEqual(["ann:true", "ann:false"]);
  });

  test("is appended at the next start when the process ended before", async () => {
    await makePros();
    await start();
    appendOwed = () => new Promise(() => {});
    await identify("ann", "pro");
    await clock.advance(0);
    // The process is gone: nothing of it is closed, nothing more comes of it.
    audiences = undefined;
    appendOwed = undefined;
    await start();
    await clock.advance(0);
    expect(await told()).toEqual(["ann:true"]);
  });

  test("is not appended again when the log had it already, however long ago that was", async () => {
    await makePros();
    await start();
    appendOwed = async (batch) => {
      await store.log.append(batch);
      return new Promise(() => {});
    };
    await identify("ann", "pro");
    await clock.advance(0);
    audiences = undefined;
    appendOwed = undefined;
    clock.jump(7 * 24 * 60 * 60 * 1_000);
    await start();
    await clock.advance(0);
    expect(await told()).toEqual(["ann:true"]);
  });
});

describe("a change of an audience", () => {
  const INPUT = { name: "Pros", condition: PROS.document.condition, destinationIds: [] };
  const apiOf = (started: Audiences) => controlApi({ store, clock, endpoints: definitionEndpoints(started) });

  test("that the engine cannot store is answered as stored and not in force, and is taken up later", async () => {
    const engine = new AudienceEngine(profiles);
    const define = engine.define.bind(engine);
    let isDiskFull = false;
    engine.define = (...args) =>
      isDiskFull ? Promise.reject(new StorageUnavailable("the disk is full")) : define(...args);
    const { ask } = await apiOf(await start(engine));
    isDiskFull = true;
    const made = await ask("POST", "/api/v1/audiences", INPUT);
    expect(made).toMatchObject({
      status: 500,
      body: { code: "not_in_force", message: expect.stringContaining("the disk is full") },
    });
    const { id } = made.body;
    expect((await store.config.get(AUDIENCE, id))?.version).toBe(1);
    const { body: audit } = await ask("GET", "/api/v1/audit");
    expect(audit.items).toMatchObject([{ action: "audiences.create", target: id }]);
    await clock.advance(1_000);
    const changed = ask("PATCH", `/api/v1/audiences/${id}`, { name: "Professionals" });
    await clock.advance(1_000);
    expect((await changed).body).toMatchObject({ code: "not_in_force", id });
    isDiskFull = false;
    await clock.advance(1_000);
    expect((await ask("PATCH", `/api/v1/audiences/${id}`, { enabled: false })).status).toBe(200);
    isDiskFull = true;
    expect((await ask("DELETE", `/api/v1/audiences/${id}`)).body).toMatchObject({ code: "not_in_force", id });
    expect(await store.config.get(AUDIENCE, id)).toBeUndefined();
  });

  test("is taken up though it cannot be known whether older messages are in the log", async () => {
    await makePros();
    const started = await start();
    const { ask } = await apiOf(started);
    isIndexDamaged = true;
    appendOwed = () => Promise.reject(new Error("no answer"));
    await identify("ann", "pro");
    await clock.advance(0);
    appendOwed = undefined;
    const made = ask("POST", "/api/v1/audiences", { ...INPUT, name: "Others" });
    await clock.advance(2_000);
    expect((await made).status).toBe(201);
    // And what was owed before is not lost by it.
    expect(await told()).toEqual([]);
    isIndexDamaged = false;
    await clock.advance(2_000);
    expect(await told()).toEqual(["ann:true"]);
  });

  test("is answered after ten seconds where the engine hangs", async () => {
    const engine = new AudienceEngine(profiles);
    const define = engine.define.bind(engine);
    let goOn: (() => void) | undefined;
    const { ask } = await apiOf(await start(engine));
    engine.define = async (...args) => {
      await new Promise<void>((resolve) => {
        goOn = resolve;
      });
      return define(...args);
    };
    const made = ask("POST", "/api/v1/audiences", INPUT);
    await clock.advance(10_000);
    expect((await made).body).toMatchObject({ code: "not_in_force" });
    goOn?.();
  });
});

test("sizes are known of audiences for which everybody was evaluated", async () => {
  await makePros();
  const started = await start();
  await identify("ann", "pro");
  await clock.advance(1_000);
  const paused = { ...PROS.document, key: "waiting", paused: true };
  const made = store.config.put(AUDIENCE, "waiting", paused);
  await clock.advance(1_000);
  await made;
  expect(await started.sizes()).toEqual([{ id: "pros", size: 1 }]);
  const resumed = store.config.put(AUDIENCE, "waiting", { ...paused, paused: false });
  await clock.advance(1_000);
  await resumed;
  expect(await started.sizes()).toEqual([
    { id: "pros", size: 1 },
    { id: "waiting", size: 1 },
  ]);
});

test("windows end by the clock, without any message", async () => {
  await store.config.put(AUDIENCE, "pros", BUYERS);
  await start();
  sent += 1;
  await store.log.append({
    sourceId: "src",
    receivedAtMs: clock.now(),
    body: Buffer.from('{"batch":[{"type":"track","event":"Order","userId":"ann","messageId":"one"}]}'),
    itemCount: 1,
    skipped: [],
    madeIds: [],
    keys: [{ index: 0, messageId: "one", userId: "ann", type: "track", event: "Order" }],
  });
  await clock.advance(59_999);
  expect(await told()).toEqual(["ann:true"]);
  await clock.advance(1);
  expect(await told()).toEqual(["ann:true", "ann:false"]);
});

test("its own messages are counted by no audience", async () => {
  await makePros();
  const echo = audience("echo", { kind: "trait", trait: "pros", is: "exists" });
  await store.config.put(AUDIENCE, "echo", echo.document);
  const started = await start();
  await identify("ann", "pro");
  expect(await started.stats("echo")).toMatchObject({ size: 0 });
  expect(await started.profile("ann")).toMatchObject({ traits: { plan: "pro" } });
});

describe("while ingestion is busy", () => {
  /** Appends identify messages of different users, in one request. */
  async function appendMany(count: number, plan: string): Promise<void> {
    const messages = Array.from({ length: count }, (_, index) => {
      sent += 1;
      return { type: "identify", messageId: `m${sent}`, userId: `user-${index}`, traits: { plan } };
    });
    await store.log.append({
      sourceId: "src",
      receivedAtMs: clock.now(),
      body: Buffer.from(JSON.stringify({ batch: messages })),
      itemCount: count,
      skipped: [],
      madeIds: [],
      keys: messages.map(({ messageId, userId, type }, index) => ({ index, messageId, userId, type })),
    });
  }
  /** A step of the engine takes 100 ms. */
  function slowly(engine: AudienceEngine): AudienceEngine {
    const consume = engine.consume.bind(engine);
    engine.consume = async (...args) => {
      clock.elapse(100);
      return consume(...args);
    };
    return engine;
  }

  test("it rests nine times as long as it worked, at most half a second, and says how far it is behind", async () => {
    utilization = 0.9;
    await makePros();
    const started = await start(slowly(new AudienceEngine(profiles)));
    await appendMany(1_000, "pro");
    await clock.advance(0);
    // Resting now: what comes is left in the log.
    await appendMany(5, "free");
    await clock.advance(499);
    expect(await behind()).toBe(1_005);
    await clock.advance(1);
    expect(await behind()).toBe(0);
    expect(await started.stats("pros")).toMatchObject({ size: 995, status: { behind: 0 } });
  });

  test("the log is told how far it need not keep messages only after that is on disk", async () => {
    const happened: string[] = [];
    const opened = store;
    const { settle } = opened.consumers;
    store = {
      ...opened,
      consumers: {
        ...opened.consumers,
        open: (...args) => opened.consumers.open(...args),
        settle: (id, settlement) => {
          if (id === AUDIENCE_SOURCE_ID) happened.push(`told ${settlement.cursor}`);
          return settle.call(opened.consumers, id, settlement);
        },
      },
    };
    const engine = new AudienceEngine(profiles);
    const sync = engine.sync.bind(engine);
    engine.sync = async () => {
      happened.push("synced");
      await sync();
    };
    await start(engine);
    for (let batch = 0; batch < 11; batch++) await appendMany(2_000, "pro");
    // Without an audience, each round is followed by a pause.
    await clock.advance(1_000);
    expect(happened.slice(0, 2)).toEqual(["synced", expect.stringMatching(/^told 2\d{4}$/)]);
    expect(happened.filter((one) => one === "synced")).toHaveLength(happened.length / 2);
  });

  test("it does not rest while the main thread has time", async () => {
    utilization = 0.2;
    await makePros();
    const started = await start(slowly(new AudienceEngine(profiles)));
    await appendMany(1_000, "pro");
    await clock.advance(0);
    await appendMany(5, "free");
    await clock.advance(0);
    expect(await behind()).toBe(0);
    expect(await started.stats("pros")).toMatchObject({ size: 995 });
  });

  test("whoever asks for a user is answered with what was just sent", async () => {
    utilization = 0.9;
    await makePros();
    const started = await start(slowly(new AudienceEngine(profiles)));
    await appendMany(1_000, "pro");
    await clock.advance(0);
    await appendMany(5, "free");
    expect(await started.profile("user-1")).toMatchObject({ traits: { plan: "free" } });
    expect(await started.why("pros", "user-4")).toMatchObject({ member: false });
  });
});

const BUYERS = {
  ...PROS.document,
  condition: { kind: "event", event: "Order", times: { atLeast: 1 }, withinMs: 60_000 } as const,
};

async function order(): Promise<void> {
  sent += 1;
  const key = { index: 0, messageId: `m${sent}`, userId: "ann", type: "track", event: "Order" };
  const { index: _, ...message } = key;
  await store.log.append({
    sourceId: "src",
    receivedAtMs: clock.now(),
    body: Buffer.from(JSON.stringify({ batch: [message] })),
    itemCount: 1,
    skipped: [],
    madeIds: [],
    keys: [key],
  });
}

test("with a backlog a window does not end for a user whose next event is in the log already", async () => {
  await store.config.put(AUDIENCE, "pros", BUYERS);
  await start();
  await order();
  await clock.advance(0);
  await audiences?.close();
  // Not evaluated for two minutes, in which ann was never without an order of the last minute.
  for (let minute = 0; minute < 4; minute++) {
    clock.jump(50_000);
    await order();
  }
  await start();
  await clock.advance(0);
  expect(await told()).toEqual(["ann:true"]);
  await clock.advance(60_000);
  expect(await told()).toEqual(["ann:true", "ann:false"]);
});

test("nor while the engine counts fewer messages than it was given", async () => {
  await store.config.put(AUDIENCE, "pros", BUYERS);
  const engine = new AudienceEngine(profiles);
  const consume = engine.consume.bind(engine);
  engine.consume = (batches, nowMs, after) => consume(batches.slice(0, 1), nowMs, after);
  await order();
  for (let minute = 0; minute < 4; minute++) {
    clock.jump(50_000);
    await order();
  }
  await start(engine);
  await clock.advance(0);
  expect(await told()).toEqual(["ann:true"]);
});

test("a window ends soon after the clock was set forward, though timers do not notice", async () => {
  await store.config.put(AUDIENCE, "pros", BUYERS);
  await start();
  await order();
  await clock.advance(1_000);
  expect(await told()).toEqual(["ann:true"]);
  clock.jump(3_600_000);
  await clock.advance(10_000);
  expect(await told()).toEqual(["ann:true", "ann:false"]);
});

test("with a backlog it is told how late windows end", async () => {
  const lagSeconds = async (): Promise<number> =>
    Number(/^sluice_audiences_lag_seconds ([\d.]+)$/m.exec(await metrics.render())?.[1]);
  const engine = new AudienceEngine(profiles);
  const consume = engine.consume.bind(engine);
  let isHeldUp = false;
  let goOn = (): void => {};
  engine.consume = async (...args) => {
    if (isHeldUp)
      await new Promise<void>((resolve) => {
        goOn = resolve;
      });
    return consume(...args);
  };
  await store.config.put(AUDIENCE, "pros", BUYERS);
  await start(engine);
  await order();
  await clock.advance(7_000);
  expect(await lagSeconds()).toBe(0);
  isHeldUp = true;
  await order();
  await clock.advance(60_000);
  // Nothing of the last 67 seconds is known for certain, so nobody has left.
  expect(await lagSeconds()).toBe(67);
  expect(await told()).toEqual(["ann:true"]);
  isHeldUp = false;
  goOn();
  await clock.advance(0);
  expect(await lagSeconds()).toBe(0);
});

test("a schedule is kept while history is read for another definition", async () => {
  const happened: string[] = [];
  const engine = new AudienceEngine(profiles);
  const readHistory = engine.readHistory.bind(engine);
  engine.readHistory = async (...args) => {
    happened.push("history");
    return readHistory(...args);
  };
  // So large that each is a reading of its own.
  for (let batch = 0; batch < 4; batch++) {
    sent += 1;
    const message = {
      type: "track",
      messageId: `m${sent}`,
      userId: "ann",
      event: "Order",
      properties: { a: "x".repeat(900_000) },
    };
    await store.log.append({
      sourceId: "src",
      receivedAtMs: clock.now(),
      body: Buffer.from(JSON.stringify({ batch: [message] })),
      itemCount: 1,
      skipped: [],
      madeIds: [],
      keys: [{ index: 0, messageId: message.messageId, userId: "ann", type: "track", event: "Order" }],
    });
  }
  appendOwed = (batch) => {
    happened.push("told");
    return store.log.append(batch);
  };
  const sync = { initialDelayMs: 0, everyMs: 60_000 };
  await store.config.put(AUDIENCE, "pros", { ...PROS.document, sync });
  await start(engine);
  await identify("bob", "pro");
  await clock.advance(59_000);
  expect(happened).toEqual([]);
  clock.jump(1_000);
  await store.config.put(AUDIENCE, "buyers", { ...BUYERS, key: "buyers" });
  await clock.advance(0);
  expect(happened.filter((what) => what === "history").length).toBeGreaterThanOrEqual(4);
  expect(happened.slice(0, 2)).toContain("told");
});

test("the engine is told of the suppressions that changed, and of no others", async () => {
  const document = (upTo?: number) => ({ kind: "user", spans: [{ after: -1, upTo }] });
  const suppress = (userId: string, upTo?: number) =>
    store.config.put(SUPPRESSION, idDigest(new Uint8Array(32)).of(userIdentity(userId)), document(upTo));
  await suppress("ann");
  await suppress("bob");
  const engine = new AudienceEngine(profiles);
  const suppressed = vi.spyOn(engine, "suppress");
  const list = vi.spyOn(store.config, "list");
  await makePros();
  const started = await start(engine);
  expect(suppressed.mock.calls.map(([{ ids }]) => ids.length)).toEqual([2]);
  list.mockClear();
  await suppress("ann", 0);
  await suppress("cay");
  for (const userId of ["zoe", "ann", "bob", "cay"]) await identify(userId, "pro");
  await started.counted();
  expect(suppressed.mock.calls.slice(1).reduce((sum, [{ ids }]) => sum + ids.length, 0)).toBe(2);
  expect(list).not.toHaveBeenCalled();
  const { items = [] } = (await started.members("pros", { limit: 10 })) ?? {};
  expect(items.map(({ userId }) => userId).toSorted()).toEqual(["ann", "zoe"]);
});
