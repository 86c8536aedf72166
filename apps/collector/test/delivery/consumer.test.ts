import { BEFORE_FIRST, type Offset, openMemoryStore, type Store } from "@sluice/event-log";
import { batchOf, type TestMessage } from "@sluice/event-log/testing";
import { type ManualClock, manualClock } from "@sluice/resilience/testing";
import { describe, expect, it } from "vitest";
import { Consumer } from "../../src/delivery/consumer.js";
import { DELIVERY_DEFAULTS } from "../../src/delivery/delivery-stage.js";
import { messageLoader } from "../../src/delivery/reading/message-loader.js";
import { sharedReader } from "../../src/delivery/reading/shared-reader.js";
import { routingOf } from "../../src/delivery/routing/match.js";
import { deliveryEvents, deliveryTally } from "../../src/delivery/settling/delivery-events.js";
import type { Destination, RoundOutcome } from "../../src/destinations/destination.js";
import type { DestinationDocument, SourceDocument } from "../../src/documents/documents.js";
import { deliveryCounts } from "../../src/process/telemetry/delivery-counts.js";
import { liveEvents } from "../../src/process/telemetry/live-events.js";
import { createLogger } from "../../src/process/telemetry/logger.js";
import { createMetrics } from "../../src/process/telemetry/metrics.js";
import { NO_TRANSFORMATIONS } from "../../src/transformations/transformations.js";
import { scriptedDestination } from "../admin/scripted-destination.js";

const ID = "dst_1";
const DOCUMENT: DestinationDocument = {
  ...{ type: "scripted", name: "Shop", enabled: true, createdAt: "2026-01-01T00:00:00.000Z", settings: {} },
  ...{ connections: [{ sourceId: "src_1", since: BEFORE_FIRST }], disabledSpans: [], filters: [] },
};
const SOURCE = {
  name: "Shop",
  kind: "server",
  writeKeys: [],
  blockedEvents: [],
} as unknown as SourceDocument;
const DELIVERED: RoundOutcome = { kind: "delivered", reason: "200" };
const DOWN: RoundOutcome = { kind: "retry", reason: "503", doneUrls: [], failedUrls: [], alive: false };
const MINUTE = 60_000;

/** A call whose answer waits for the test. */
interface HeldCall {
  /** Gives the answer that the store had for it. */
  answer(): void;
  fail(): void;
}

type Calls = "consumers" | "log";

class World {
  readonly clock: ManualClock = manualClock();
  readonly store: Store = openMemoryStore({ clock: this.clock });
  /** What the destinations got: `<name of the destination> <message id>`, and `<name> closed`. */
  readonly got: string[] = [];
  /** Ends the rounds in flight, by the same text. */
  readonly ending = new Map<string, (outcome: RoundOutcome) => void>();
  readonly #tell = createLogger({ write() {} });
  consumer!: Consumer;

  static async open(...messages: readonly TestMessage[]): Promise<World> {
    const world = new World();
    await world.store.consumers.open(ID, BEFORE_FIRST);
    if (messages.length > 0) await world.append(...messages);
    await world.start();
    return world;
  }

  /** Makes the consumer from what is stored. */
  async start(): Promise<void> {
    const { store, clock } = this;
    const state = await store.consumers.open(ID, BEFORE_FIRST);
    const tally = deliveryTally(createMetrics(), deliveryCounts());
    this.consumer = new Consumer(
      {
        ...{
          destinationId: ID,
          store,
          clock,
          policy: DELIVERY_DEFAULTS,
          transformations: NO_TRANSFORMATIONS,
        },
        ...{ reader: sharedReader(store.log), loader: messageLoader(store.log, clock) },
        ...{ events: deliveryEvents(this.#tell, tally, liveEvents()), onGone() {}, onRangeEnded() {} },
      },
      state,
      routingOf(ID, DOCUMENT, scriptedDestination().type, { get: () => SOURCE }),
    );
  }

  async append(...messages: readonly TestMessage[]): Promise<void> {
    await this.store.log.append(batchOf(messages, { receivedAtMs: this.clock.now() }));
  }

  /** A destination whose rounds end with `outcome`; without one, when the test ends them. */
  destination(name: string, outcome?: RoundOutcome, order: "none" | "user" = "none"): Destination {
    return {
      flow: { concurrency: 10, order },
      deliver: ({ messageId }) =>
        new Promise((resolve) => {
          this.got.push(`${name} ${messageId}`);
          this.ending.set(`${name} ${messageId}`, resolve);
          if (outcome !== undefined) setImmediate(resolve, outcome);
        }),
      close: async () => void this.got.push(`${name} closed`),
    };
  }

  /** Holds the answer of the next call of a method of the store. Resolves when that call is made. */
  hold<Port extends Calls>(port: Port, method: keyof Store[Port] & string): Promise<HeldCall> {
    const called = Promise.withResolvers<HeldCall>();
    const target = this.store[port] as unknown as Record<string, (...args: unknown[]) => unknown>;
    const real = target[method] as (...args: unknown[]) => unknown;
    target[method] = async (...args) => {
      target[method] = real;
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const answer = await real.apply(target, args);
      called.resolve({ answer: resolve, fail: () => reject(new Error("the store failed")) });
      await promise;
      return answer;
    };
    return called.promise;
  }

  /** The states of a message's delivery. */
  async states(offset: number): Promise<readonly string[]> {
    return (await this.store.consumers.outcomesOf(offset as Offset, ID)).map(({ state }) => state);
  }

  /** Lets time pass, and what is due happen. */
  async pass(ms = 0): Promise<void> {
    for (let passed = 0; passed <= ms; passed += 1_000) {
      for (let turn = 0; turn < 12; turn++) await new Promise((resolve) => setImmediate(resolve));
      await this.clock.advance(passed < ms ? 1_000 : 100);
      for (let turn = 0; turn < 12; turn++) await new Promise((resolve) => setImmediate(resolve));
    }
  }
}

/** A world with one message, which failed once and is due, and whose lease, or what follows it, is held. */
async function retrying(port: Calls, method: "lease" | "read"): Promise<{ world: World; held: HeldCall }> {
  const world = await World.open({ messageId: "m0" });
  const { consumer } = world;
  consumer.use(world.destination("A", DOWN));
  await world.pass();
  consumer.use(undefined);
  expect(await world.states(0)).toEqual(["pending"]);
  world.got.length = 0;
  // The loader forgets what it has read.
  await world.pass(MINUTE);
  const held = world.hold(port, method as never);
  consumer.use(world.destination("B", DELIVERED));
  return { world, held: await held };
}

describe.each([
  ["a lease", "consumers", "lease"],
  ["the message of a retry", "log", "read"],
] as const)("%s whose answer comes late", (_, port, method) => {
  it("is delivered once, through the destination of that time", async () => {
    const { world, held } = await retrying(port, method);
    world.consumer.use(world.destination("C", DELIVERED));
    world.consumer.wake();
    held.answer();
    await world.pass(MINUTE);
    expect(world.got.filter((line) => line.endsWith("m0"))).toEqual(["C m0"]);
    expect(await world.states(0)).toEqual(["delivered"]);
  });

  it("waits while the consumer is paused, and is delivered once it goes on", async () => {
    const { world, held } = await retrying(port, method);
    world.consumer.use(undefined);
    held.answer();
    await world.pass(MINUTE);
    expect([world.got, await world.states(0)]).toEqual([["B closed"], ["pending"]]);
    world.consumer.use(world.destination("C", DELIVERED));
    await world.pass(MINUTE);
    expect([world.got.slice(1), await world.states(0)]).toEqual([["C m0"], ["delivered"]]);
  });

  it("starts nothing after the consumer was closed, and the store keeps it", async () => {
    const { world, held } = await retrying(port, method);
    const closed = world.consumer.close(0);
    held.answer();
    await closed;
    await world.pass(MINUTE);
    expect([world.got, await world.states(0)]).toEqual([["B closed"], ["pending"]]);
  });

  it("is asked again if the store failed, and delivered once", async () => {
    const { world, held } = await retrying(port, method);
    held.fail();
    // The store has leased it, and nobody knows.
    await world.pass(6 * MINUTE);
    expect([world.got, await world.states(0)]).toEqual([["B m0"], ["delivered"]]);
  });

  it("is asked again for what was put meanwhile", async () => {
    const { world, held } = await retrying(port, method);
    await world.append({ messageId: "m1" });
    const retry = { rounds: 0, firstAttemptAtMs: 0, dueAtMs: 0, reason: "", doneUrls: [], replay: true };
    await world.store.consumers.requeue(ID, [{ offset: 1 as Offset, ...retry }]);
    world.consumer.requeued();
    held.answer();
    await world.pass(MINUTE);
    expect(world.got.toSorted()).toEqual(["B m0", "B m1"]);
  });
});

describe("a discard", () => {
  const discard = ({ consumer }: World, stored: Parameters<Consumer["discard"]>[0][number]["stored"]) =>
    consumer.discard([{ stored, isPending: true }], "by hand");

  it("is not undone by a lease whose answer comes late, and counts once", async () => {
    const { world, held } = await retrying("consumers", "lease");
    const [stored] = (await world.store.log.find({ messageId: "m0" }, { limit: 1 })).items;
    if (stored === undefined) throw new Error("m0 is gone");
    expect([discard(world, stored), discard(world, stored)]).toEqual([[0], []]);
    held.answer();
    await world.pass(MINUTE);
    expect([world.got, await world.states(0), world.consumer.status.retries]).toEqual([[], ["discarded"], 0]);
  });

  it("leaves out a message that is being loaded, and those of a closed consumer", async () => {
    const { world, held } = await retrying("log", "read");
    const [stored] = (await world.store.log.find({ messageId: "m0" }, { limit: 1 })).items;
    if (stored === undefined) throw new Error("m0 is gone");
    expect(discard(world, stored)).toEqual([]);
    held.answer();
    await world.pass(MINUTE);
    expect(await world.states(0)).toEqual(["delivered"]);
    await world.consumer.close(0);
    expect(discard(world, stored)).toEqual([]);
  });
});

describe("closing", () => {
  it("a second time ends nothing twice, and waits for what is being stored", async () => {
    const world = await World.open({ messageId: "m0" });
    const settling = world.hold("consumers", "settle");
    world.consumer.use(world.destination("A", DELIVERED));
    await world.pass();
    const held = await settling;
    const ended: string[] = [];
    const closed = [1, 2].map((call) => world.consumer.close(0).then(() => ended.push(`${call}`)));
    await world.pass();
    expect(ended).toEqual([]);
    held.answer();
    await Promise.all(closed);
    expect([world.got, await world.states(0)]).toEqual([["A m0", "A closed"], ["delivered"]]);
  });

  it("leaves no trace of a round that ends after it, which is repeated by the next one", async () => {
    const world = await World.open({ messageId: "m0" });
    world.consumer.use(world.destination("A"));
    await world.pass();
    await world.consumer.close(0);
    world.ending.get("A m0")?.(DELIVERED);
    await world.pass(MINUTE);
    expect(await world.states(0)).toEqual([]);
    expect((await world.store.consumers.open(ID, BEFORE_FIRST)).cursor).toBe(BEFORE_FIRST);
  });

  it("takes no destination any more", async () => {
    const world = await World.open({ messageId: "m0" });
    await world.consumer.close(0);
    world.consumer.use(world.destination("A", DELIVERED));
    world.consumer.notify();
    world.consumer.wake();
    await world.pass(MINUTE);
    expect(world.got).toEqual([]);
  });
});

describe("catching up with a source", () => {
  it("twice at the same time delivers each message once", async () => {
    const ids = Array.from({ length: 300 }, (_, index) => `m${index}`);
    const world = await World.open(...ids.map((messageId) => ({ messageId })));
    const { store } = world;
    const passed = store.log.head();
    await store.consumers.settle(ID, { cursor: passed, outcomes: [], retries: [], attempts: [] });
    await world.start();
    const { consumer } = world;
    consumer.use(world.destination("A", DELIVERED));
    consumer.catchUp("src_1", BEFORE_FIRST, passed);
    // Halfway, it has looked at messages that it has not queued yet.
    for (let turn = 0; turn < 150; turn++) await new Promise((resolve) => setImmediate(resolve));
    consumer.catchUp("src_1", BEFORE_FIRST, passed);
    await world.pass(MINUTE);
    expect(world.got.toSorted()).toEqual(ids.map((messageId) => `A ${messageId}`).toSorted());
  });

  it("that ends after the consumer was closed starts nothing", async () => {
    const world = await World.open({ messageId: "m0" });
    const { consumer, store } = world;
    const reading = world.hold("log", "read");
    consumer.catchUp("src_1", BEFORE_FIRST, store.log.head());
    const held = await reading;
    consumer.use(world.destination("A", DELIVERED));
    await consumer.close(0);
    held.answer();
    await world.pass(MINUTE);
    expect(world.got).toEqual(["A closed"]);
  });
});

describe("with user order, visitors with an empty user id", () => {
  it("do not wait for each other, and each keeps the order", async () => {
    const of = (messageId: string, anonymousId: string) => ({ messageId, userId: "", anonymousId });
    const world = await World.open(of("a0", "a"), of("a1", "a"), of("b0", "b"));
    const { consumer } = world;
    consumer.setOrder("user");
    consumer.use(world.destination("A", undefined, "user"));
    await world.pass();
    expect(world.got).toEqual(["A a0", "A b0"]);
    world.ending.get("A a0")?.(DELIVERED);
    await world.pass();
    expect(world.got.slice(2)).toEqual(["A a1"]);
  });
});
