import {
  type EventLog,
  idDigest,
  memoryProfileStore,
  openMemoryStore,
  type ProfileStore,
  StorageUnavailable,
  type Store,
  SUPPRESSION,
  type SuppressionDocument,
  userIdentity,
} from "@sluice/event-log";
import { type ManualClock, manualClock } from "@sluice/resilience/testing";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { AUDIENCE } from "../../src/definitions/definitions.js";
import { AudienceEngine } from "../../src/engine/engine.js";
import type { Audiences } from "../../src/engine/runner/audiences.js";
import type { FollowedPartition } from "../../src/engine/runner/partition-logs.js";
import { startAudiences } from "../../src/engine/runner/start-audiences.js";
import { AUDIENCE_SOURCE_ID } from "../../src/profiles/outbox-message.js";
import { audience, EPOCH_MS } from "../definitions/definitions.js";
import { FakeLogger, FakeMetrics } from "../telemetry.js";

const PARTITIONS = 4;
const WINDOW_MS = 60_000;
const DIGEST_KEY = new Uint8Array(32);
const ORDERED = audience("buyers", {
  kind: "event",
  event: "Order",
  times: { atLeast: 2 },
  withinMs: WINDOW_MS,
});

/** Audiences of partition 0 over four logs in memory. */
class World {
  readonly clock: ManualClock = manualClock({ startMs: EPOCH_MS });
  readonly stores: readonly Store[] = Array.from({ length: PARTITIONS }, () =>
    openMemoryStore({ clock: this.clock }),
  );
  readonly profiles: ProfileStore = memoryProfileStore();
  readonly metrics = new FakeMetrics();
  /** Partitions whose copy is being replaced. */
  readonly away = new Set<number>();
  /** Partitions whose copy lacks entries that their log has. */
  readonly late = new Set<number>();
  /** What reading a partition does, instead of only reading. */
  readonly reading = new Map<number, EventLog["read"]>();
  audiences: Audiences | undefined;
  #changes = 0;
  #sent = 0;

  get own(): Store {
    return this.stores[0] as Store;
  }

  get started(): Audiences {
    if (this.audiences === undefined) throw new Error("not started");
    return this.audiences;
  }

  #followed(partition: number): FollowedPartition {
    const { log, config } = this.stores[partition] as Store;
    const world = this;
    return {
      partition,
      log: {
        read: (...args) => (world.reading.get(partition) ?? log.read.bind(log))(...args),
        head: () => log.head(),
        onAppend: (listener) => log.onAppend(listener),
        find: (...args) => log.find(...args),
        get: (offset) => log.get(offset),
      },
      isReadable: () => !world.away.has(partition),
      isCurrent: () => !world.late.has(partition),
      caughtUp: async () => {},
      get documentChanges() {
        return String(world.#changes);
      },
      suppressions: () => config.list<SuppressionDocument>(SUPPRESSION),
    };
  }

  /** Another process takes over: what the engine stored is all that is left. */
  async start(ending?: AbortSignal): Promise<void> {
    await this.audiences?.close();
    this.audiences = await startAudiences({
      ...(ending === undefined ? {} : { ending }),
      store: this.own,
      followed: [1, 2, 3].map((partition) => this.#followed(partition)),
      engine: new AudienceEngine(this.profiles),
      clock: this.clock,
      logger: new FakeLogger(),
      metrics: this.metrics,
      digestKey: DIGEST_KEY,
      utilization: () => 0,
    });
  }

  async send(
    partition: number,
    message: { readonly type: string; readonly userId: string; readonly [field: string]: unknown },
  ): Promise<void> {
    this.#sent += 1;
    const messageId = `m${this.#sent}`;
    await this.stores[partition]?.log.append({
      sourceId: `src${partition}`,
      receivedAtMs: this.clock.now(),
      body: Buffer.from(JSON.stringify({ batch: [{ messageId, ...message }] })),
      itemCount: 1,
      skipped: [],
      madeIds: [],
      keys: [{ index: 0, messageId, userId: message.userId, type: "track" }],
    });
  }

  order(partition: number, userId: string): Promise<void> {
    return this.send(partition, { type: "track", event: "Order", userId });
  }

  async suppress(partition: number, userId: string, spans: SuppressionDocument["spans"]): Promise<void> {
    const digest = idDigest(DIGEST_KEY).of(userIdentity(userId));
    const since = "2026-01-01T00:00:00.000Z";
    const document: SuppressionDocument = { of: digest, kind: "user", since, spans };
    await this.stores[partition]?.config.put(SUPPRESSION, digest, document);
    this.#changes += 1;
  }

  /** Lets the loop do what it can at this time. */
  async rest(): Promise<void> {
    await this.started.counted();
    await this.clock.advance(0);
  }

  /** Time passes for the loop, in steps after which it looks again. */
  async wait(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= 10_000) {
      await this.clock.advance(Math.min(left, 10_000));
      await this.rest();
    }
  }

  /** Whether destinations were told that a user entered or left, in order. */
  async told(userId: string): Promise<unknown[]> {
    const { items } = await this.own.log.find({ sourceId: AUDIENCE_SOURCE_ID, userId }, { limit: 100 });
    return items
      .toReversed()
      .map(({ message }) => (message.traits as Readonly<Record<string, unknown>>).buyers);
  }

  async close(): Promise<void> {
    await this.audiences?.close();
    for (const store of this.stores) await store.close();
  }
}

let world: World;

beforeEach(() => {
  world = new World();
});
afterEach(() => world.close());

const makeBuyers = () => world.own.config.put(AUDIENCE, "buyers", ORDERED.document);

describe("audiences over several logs", () => {
  test("count a user's messages of all of them, and go on from each log after a takeover", async () => {
    await makeBuyers();
    await world.start();
    await world.order(1, "ann");
    await world.rest();
    await world.start();
    await world.order(3, "ann");
    await world.rest();
    expect(await world.told("ann")).toEqual([true]);
    expect(await world.profiles.documents()).toEqual(
      expect.objectContaining(
        new Map([
          ["cursor:1", "0"],
          ["cursor:3", "0"],
        ]),
      ),
    );
    expect(world.metrics.read("sluice_audiences_partition_backlog_messages{3}")).toBe(0);
  });

  test("read the past of all of them for an audience that is made later", async () => {
    await world.start();
    await world.order(1, "ann");
    await world.order(2, "ann");
    await world.rest();
    await makeBuyers();
    await world.rest();
    expect(await world.told("ann")).toEqual([true]);
  });

  test("let the messages of one that cannot be read wait, and go on with the others", async () => {
    await makeBuyers();
    await world.start();
    world.away.add(1);
    await world.order(1, "ann");
    for (const partition of [2, 3]) await world.order(partition, "bob");
    await world.rest();
    expect([await world.told("ann"), await world.told("bob")]).toEqual([[], [true]]);
    expect((await world.started.engine()).partitions?.[1]).toEqual({
      ...{ partition: 1, behind: 1, isReadable: false },
    });
    expect(world.metrics.read("sluice_audiences_partition_readable{1}")).toBe(0);
    await world.order(2, "ann");
    world.away.delete(1);
    await world.wait(1_000);
    expect(await world.told("ann")).toEqual([true]);
  });

  test("try again later where reading fails, without stopping the others", async () => {
    await makeBuyers();
    await world.start();
    let tries = 0;
    world.reading.set(2, async () => {
      tries += 1;
      throw new StorageUnavailable("the copy was replaced");
    });
    await world.order(2, "ann");
    for (const partition of [0, 1]) await world.order(partition, "bob");
    await world.clock.advance(0);
    expect(await world.told("bob")).toEqual([true]);
    const before = tries;
    await world.clock.advance(10_000);
    expect(tries - before).toBeLessThanOrEqual(20);
    world.reading.clear();
    await world.order(3, "ann");
    await world.wait(1_000);
    expect(await world.told("ann")).toEqual([true]);
  });

  test.each([
    ["cannot be read", (partition: number) => world.away.add(partition)],
    ["is behind its log", (partition: number) => world.late.add(partition)],
  ])("end no window while one of them %s, since the user may have gone on there", async (_, lose) => {
    await makeBuyers();
    await world.start();
    for (const partition of [0, 3]) await world.order(partition, "ann");
    await world.rest();
    expect(await world.told("ann")).toEqual([true]);
    lose(3);
    await world.wait(WINDOW_MS / 2);
    const isAway = world.away.has(3);
    if (isAway) for (const _again of [1, 2]) await world.order(3, "ann");
    await world.wait((WINDOW_MS * 3) / 4);
    expect(await world.told("ann")).toEqual([true]);
    world.away.clear();
    world.late.clear();
    await world.wait(1_000);
    // The first two have left the window. The other two are in it.
    expect(await world.told("ann")).toEqual(isAway ? [true] : [true, false]);
  });

  test.each([
    [1, 2],
    [2, 1],
  ])("count a backlog in the order of receipt, of partition %s before %s", async (first, second) => {
    await world.start();
    for (const partition of [1, 2]) world.away.add(partition);
    const plan = (value: string) => ({ type: "identify", userId: "ann", traits: { plan: value } });
    await world.send(first, plan("free"));
    await world.clock.advance(5_000);
    await world.send(second, plan("pro"));
    await world.clock.advance(5_000);
    await world.send(first, plan("team"));
    world.away.clear();
    await world.wait(2_000);
    expect(await world.started.profile("ann")).toMatchObject({ traits: { plan: "team" } });
  });

  test("count nothing of a suppressed user, in the spans of each log, and go on when it is lifted", async () => {
    await makeBuyers();
    await world.start();
    await world.suppress(1, "ann", [{ after: -1 as never }]);
    for (let count = 0; count < 3; count++) await world.order(1, "ann");
    await world.rest();
    expect(await world.started.profile("ann")).toBeUndefined();
    // The other partition has not suppressed the user, at the same offsets.
    await world.order(2, "ann");
    await world.rest();
    expect(await world.started.profile("ann")).toBeDefined();
    await world.suppress(1, "ann", [{ after: -1 as never, upTo: 2 as never }]);
    await world.order(1, "ann");
    await world.rest();
    expect(await world.told("ann")).toEqual([true]);
  });

  test.each([
    ["another process takes over", (over: AbortController) => over.abort()],
    ["they are closed", () => world.started.close()],
  ])("refuse a question that waits for messages when %s, instead of answering with less", async (_, end) => {
    const over = new AbortController();
    await world.start(over.signal);
    await world.order(1, "ann");
    await world.rest();
    world.reading.set(2, async () => {
      throw new StorageUnavailable("the copy was replaced");
    });
    await world.order(2, "ann");
    const { started } = world;
    const questions = [
      () => started.profile("ann"),
      () => started.search("bob", { limit: 1 }),
      () => started.counted(),
    ];
    const waiting = Promise.allSettled(questions.map((ask) => ask()));
    await world.clock.advance(0);
    await end(over);
    const refused = questions.map(() => ({
      status: "rejected",
      reason: expect.objectContaining({ code: "storage_unavailable" }),
    }));
    expect(await waiting).toEqual(refused);
    // Those that come later cannot know what the next owner has counted.
    world.reading.clear();
    expect(await Promise.allSettled(questions.map((ask) => ask()))).toEqual(refused);
  });

  test("go on behind messages that retention has dropped unread", async () => {
    await makeBuyers();
    await world.start();
    const { log } = world.stores[1] as Store;
    world.reading.set(1, async (after, max) => log.read(Math.max(after, 1) as typeof after, max));
    for (let count = 0; count < 4; count++) await world.order(1, "ann");
    await world.rest();
    expect(await world.told("ann")).toEqual([true]);
    expect((await world.started.engine()).behind).toBe(0);
  });

  test("follow what a partition has deleted before it is forgotten, and refuse while it cannot be read", async () => {
    await world.start();
    const never = new AbortController().signal;
    world.away.add(2);
    await world.order(2, "ann");
    await expect(world.started.follow(2, never)).rejects.toThrow("partition 2 cannot be read now");
    await world.suppress(2, "ann", [{ after: -1 as never }]);
    world.away.delete(2);
    await world.started.follow(2, never);
    await world.started.forget([{ identity: userIdentity("ann"), identities: [userIdentity("ann")] }]);
    await world.wait(1_000);
    expect(await world.started.profile("ann")).toBeUndefined();
  });
});

type Action =
  | { readonly do: "order"; readonly partition: number; readonly userId: string }
  | { readonly do: "lose" | "find"; readonly partition: number }
  | { readonly do: "advance"; readonly ms: number }
  | { readonly do: "take over" };

const partition = fc.nat({ max: PARTITIONS - 1 });
const other = fc.integer({ min: 1, max: PARTITIONS - 1 });
const action: fc.Arbitrary<Action> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant("order" as const),
      partition,
      userId: fc.constantFrom("ann", "bob", "cid"),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constantFrom("lose" as const, "find" as const), partition: other }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("advance" as const),
      ms: fc.constantFrom(1, 999, 20_000, 59_000),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ do: "take over" as const }) },
);

test("has the members that reading everything at the end finds, and told every change once", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(action, { minLength: 1, maxLength: 25, size: "max" }), async (actions) => {
      const own = new World();
      await own.own.config.put(AUDIENCE, "buyers", ORDERED.document);
      await own.start();
      const orders: { readonly userId: string; readonly atMs: number }[] = [];
      for (const step of actions) {
        if (step.do === "order") {
          orders.push({ userId: step.userId, atMs: own.clock.now() });
          await own.order(step.partition, step.userId);
        } else if (step.do === "lose") own.away.add(step.partition);
        else if (step.do === "find") own.away.delete(step.partition);
        else if (step.do === "advance") await own.clock.advance(step.ms);
        else await own.start();
        await own.clock.advance(0);
      }
      own.away.clear();
      await own.wait(2_000);
      const nowMs = own.clock.now();
      for (const userId of ["ann", "bob", "cid"]) {
        const counted = orders.filter((one) => one.userId === userId && nowMs - one.atMs < WINDOW_MS).length;
        const told = await own.told(userId);
        expect(told.at(-1) ?? false, userId).toBe(counted >= 2);
        expect(told, userId).toEqual(told.map((_, index) => index % 2 === 0));
      }
      await own.close();
    }),
    { numRuns: Number(process.env.SLUICE_PROPERTY_RUNS ?? 60) },
  );
}, 120_000);
