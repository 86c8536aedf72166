import type { Offset } from "@sluice/event-log";
import { manualClock } from "@sluice/resilience/testing";
import { describe, expect, it } from "vitest";
import type { DestinationDelivery } from "../../src/delivery/destination-delivery.js";
import { readingsOf } from "../../src/delivery/readings.js";
import type { DeliveryTally } from "../../src/delivery/settling/delivery-events.js";
import { batchedTally, takeTally } from "../../src/delivery/workers/batched-tally.js";

type Read = Pick<DestinationDelivery, "status" | "consumerStatus">;

const CONSUMER = { isAtEnd: true, passed: 5, taken: 0, retries: 0, state: "delivering" };

function destination(status: () => Promise<unknown>, consumer: object | undefined = {}): Read {
  return { status, consumerStatus: consumer && { ...CONSUMER, ...consumer } } as unknown as Read;
}

const hangs = (): Promise<never> => new Promise(() => {});
const failed = (): Promise<never> => Promise.reject(new Error("no store"));

function reading(...deliveries: readonly (readonly [id: string, delivery: Read])[]) {
  const clock = manualClock();
  const map = new Map(deliveries);
  const read = readingsOf({ head: () => 10 as Offset }, map, clock);
  return {
    ...{ clock, map, read },
    async now() {
      const readings = read();
      await clock.advance(500);
      return Object.fromEntries(await readings);
    },
  };
}

describe("the readings of destinations", () => {
  it.each<[name: string, delivery: Read, expected: object | undefined]>([
    ["one that has read all", destination(hangs), { backlog: 0, retries: 0, isBackingOff: false }],
    ["one in its rounds", destination(hangs, { taken: 3, retries: 2 }), { backlog: 3, retries: 2 }],
    ["one that is behind", destination(hangs, { isAtEnd: false, taken: 1 }), { backlog: 6 }],
    ["one ahead of what is known", destination(hangs, { isAtEnd: false, passed: 12 }), { backlog: 0 }],
    [
      "one whose own messages are counted",
      destination(async () => ({ behind: 2 }), { taken: 9 }),
      { backlog: 2 },
    ],
    [
      "one that backs off",
      destination(failed, { state: "backing_off" }),
      { isBackingOff: true, status: undefined },
    ],
    ["one without a consumer", { status: hangs, consumerStatus: undefined } as unknown as Read, undefined],
  ])("%s", async (_name, delivery, expected) => {
    const { now, clock } = reading(["dst_1", delivery]);
    const { dst_1: found } = await now();
    if (expected === undefined) expect(found).toBeUndefined();
    else expect(found).toMatchObject(expected);
    expect(clock.pending).toBe(0);
  });

  it("have the last status while the store does not answer, until the destination is gone", async () => {
    const answers = [async () => ({ behind: 1 }), failed, hangs];
    const slow = destination(() => (answers.shift() ?? hangs)());
    const { map, now } = reading(["dst_1", slow]);
    for (let i = 0; i < 4; i++) expect((await now()).dst_1?.status).toEqual({ behind: 1 });
    map.delete("dst_1");
    expect(await now()).toEqual({});
    map.set("dst_1", slow);
    expect((await now()).dst_1?.status).toBeUndefined();
  });

  it("are shared by those who ask at the same time, and read again for the next one", async () => {
    let asked = 0;
    const { clock, read } = reading([
      "dst_1",
      destination(async () => {
        asked += 1;
        return undefined;
      }),
    ]);
    const [first, second] = await Promise.all([read(), read()]);
    expect([asked, first === second, clock.pending]).toEqual([1, true, 0]);
    expect(await read()).not.toBe(first);
    expect(asked).toBe(2);
  });
});

describe("what a thread counted", () => {
  it("is sent once for each turn, and counted as it was", async () => {
    const sent: number[] = [];
    const counted: string[] = [];
    const main: DeliveryTally = {
      added: () => counted.push("added"),
      ended: (id, state, seconds) => counted.push(`${id} ${state} ${seconds}`),
      retried: (id) => counted.push(`${id} retried`),
    };
    const tally = batchedTally((batch) => {
      sent.push(batch.length);
      takeTally(main, batch);
    });
    tally.added("dst_1");
    await new Promise(setImmediate);
    expect(sent).toEqual([]);
    tally.ended("dst_1", "delivered", 1);
    tally.retried("dst_2");
    tally.ended("dst_1", "failed", 2);
    tally.ended("dst_1", "delivered", 3);
    tally.retried("dst_2");
    expect(sent).toEqual([]);
    await new Promise(setImmediate);
    expect(sent).toEqual([2]);
    expect(counted.splice(0)).toEqual([
      "dst_1 delivered 1",
      "dst_1 delivered 3",
      "dst_1 failed 2",
      "dst_2 retried",
      "dst_2 retried",
    ]);
    tally.ended("dst_1", "delivered", 4);
    await new Promise(setImmediate);
    expect([sent, counted]).toEqual([[2, 1], ["dst_1 delivered 4"]]);
  });
});
