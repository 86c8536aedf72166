import { DOCUMENT_KINDS } from "@sluice/event-log";
import { manualClock } from "@sluice/resilience/testing";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SharedRounds } from "../../src/delivery/shared-rounds.js";
import type { DestinationDocument } from "../../src/documents/documents.js";
import { advanceClock } from "../../src/testing/advance-clock.js";
import { scriptedWebhooks } from "../../src/testing/scripted-webhooks.js";
import { closeDeliveries, type DeliveryFixture, openDelivery } from "./delivery-fixture.js";

closeDeliveries();

/** A partition's consumer: starts what it has while there is room. */
function consumer(shared: SharedRounds, started: number[], name: number, concurrency: number) {
  let waiting = 0;
  let underWay = 0;
  const pump = (): void => {
    while (waiting > 0 && share.hasRoom(concurrency)) {
      waiting -= 1;
      underWay += 1;
      started.push(name);
      share.enter();
    }
  };
  const share = shared.join("dst_1", pump);
  return {
    get waiting() {
      return waiting;
    },
    get underWay() {
      return underWay;
    },
    add(count: number) {
      waiting += count;
      pump();
    },
    end() {
      if (underWay === 0) return;
      underWay -= 1;
      share.leave();
      pump();
    },
    close() {
      waiting = 0;
      share.close();
    },
  };
}

describe("rounds of several partitions", () => {
  it("take turns when they want more than the concurrency", () => {
    const started: number[] = [];
    const shared = new SharedRounds();
    const [one, two] = [consumer(shared, started, 1, 2), consumer(shared, started, 2, 2)];
    one.add(10);
    two.add(10);
    expect(started).toEqual([1, 1]);
    for (let round = 0; round < 4; round++) {
      one.end();
      two.end();
    }
    expect(started.slice(2)).toEqual([1, 2, 1, 2, 1, 2, 1]);
  });

  it("leave room to others when they have nothing to start", () => {
    const started: number[] = [];
    const shared = new SharedRounds();
    const [idle, busy] = [consumer(shared, started, 1, 3), consumer(shared, started, 2, 3)];
    idle.add(0);
    busy.add(5);
    expect(busy.underWay).toBe(3);
  });

  it("never are more than the concurrency, and none waits while there is room", () => {
    const step = fc.record({
      who: fc.nat(2),
      what: fc.constantFrom("add", "add", "end", "end", "end"),
    });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 4 }), fc.array(step), (concurrency, steps) => {
        const shared = new SharedRounds();
        const all = [0, 1, 2].map((name) => consumer(shared, [], name, concurrency));
        for (const { who, what } of steps) {
          if (what === "add") all[who]?.add(2);
          else all[who]?.end();
          const underWay = all.reduce((sum, one) => sum + one.underWay, 0);
          const waiting = all.reduce((sum, one) => sum + one.waiting, 0);
          expect(underWay).toBeLessThanOrEqual(concurrency);
          if (waiting > 0) expect(underWay).toBe(concurrency);
        }
      }),
    );
  });

  it("count until they end when their partition is handed over, and are forgotten then", () => {
    const started: number[] = [];
    const shared = new SharedRounds();
    const [gone, left] = [consumer(shared, started, 1, 1), consumer(shared, started, 2, 1)];
    gone.add(1);
    left.add(1);
    gone.close();
    expect(started).toEqual([1]);
    gone.end();
    expect(started).toEqual([1, 2]);
    left.close();
    expect(shared.size).toBe(1);
    left.end();
    expect(shared.size).toBe(0);
  });
});

const A = "https://hooks.example/a";
const resolve = async () => [{ address: "198.41.0.4", family: 4 }];

/** Delivers two partitions in one process, with a destination that takes 2 messages at once, each in a second. */
async function twoPartitions() {
  const clock = manualClock({ random: Math.random });
  const { openEndpoint, ...webhooks } = scriptedWebhooks(clock);
  webhooks.script(A, { status: 200, latencyMs: 1_000 });
  const rounds = new SharedRounds();
  const open = () => openDelivery({ clock, openEndpoint, resolve, rounds });
  const [one, two] = [await open(), await open()];
  const id = await one.create({ settings: { webhooks: [{ url: A }], concurrency: 2 } });
  const kind = DOCUMENT_KINDS.destination;
  const document = await one.store.config.get<DestinationDocument>(kind, id);
  if (document === undefined) throw new Error("There is no destination");
  await two.store.config.put(kind, id, document.value);
  const append = (fixture: DeliveryFixture, name: string) =>
    fixture.append(Array.from({ length: 6 }, (_, index) => ({ messageId: `${name}${index}` })));
  return { one, two, append, webhooks, advance: (ms: number) => advanceClock(clock, ms) };
}

describe("a destination of two partitions that one process owns", () => {
  it("gets no more messages at once than its concurrency, from both in turn", async () => {
    const { one, two, append, webhooks, advance } = await twoPartitions();
    await append(one, "a");
    await append(two, "b");
    await advance(500);
    expect(webhooks.requests).toHaveLength(2);
    await advance(2_000);
    const ids = webhooks.requests.map(({ messageId }) => messageId);
    expect(ids).toHaveLength(6);
    expect(ids.filter((id) => id.startsWith("b")).length).toBeGreaterThanOrEqual(2);
    await advance(10_000);
    expect(webhooks.requests).toHaveLength(12);
  });

  it("gets the messages of one partition with all of its concurrency", async () => {
    const { two, append, webhooks, advance } = await twoPartitions();
    await append(two, "b");
    await advance(500);
    expect(webhooks.requests).toHaveLength(2);
    await advance(2_000);
    expect(webhooks.requests).toHaveLength(6);
  });

  it("gets the rest of one partition when the other one is handed over", async () => {
    const { one, two, append, webhooks, advance } = await twoPartitions();
    await append(one, "a");
    await advance(500);
    await append(two, "b");
    await one.delivery.close(0);
    await advance(20_000);
    const ids = webhooks.requests.map(({ messageId }) => messageId);
    expect(ids.filter((id) => id.startsWith("b"))).toHaveLength(6);
  });
});
