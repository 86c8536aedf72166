import { BEFORE_FIRST, memoryProfileStore, StorageUnavailable } from "@sluice/event-log";
import { beforeEach, describe, expect, test } from "vitest";
import { audience, computedTrait, EPOCH_MS, removal } from "../definitions/definitions.js";
import { EngineWorld } from "./engine-world.js";

const PRO = { kind: "trait", trait: "plan", is: "equals", value: "pro" } as const;
const pro = (userId: string) => ({ type: "identify", userId, traits: { plan: "pro" } });
const free = (userId: string) => ({ type: "identify", userId, traits: { plan: "free" } });
const order = (userId: string, price = 1) => ({
  type: "track",
  userId,
  event: "Order",
  properties: { price },
});
const ordered = (atLeast: number, withinMs?: number) =>
  ({
    kind: "event",
    event: "Order",
    times: { atLeast },
    ...(withinMs === undefined ? {} : { withinMs }),
  }) as const;

let world: EngineWorld;
beforeEach(async () => {
  world = new EngineWorld(memoryProfileStore());
  await world.define([]);
});

async function figuresOf(id: string) {
  const found = (await world.engine.stats(world.nowMs)).find((one) => one.id === id);
  if (found === undefined) throw new Error(`no stats of ${id}`);
  return found;
}

describe("entering and leaving", () => {
  test("is told exactly on change, each once, in order", async () => {
    await world.define([audience("pros", PRO)]);
    world.append(pro("ann"), pro("ann"), free("bob"));
    await world.consume();
    world.append(free("ann"), free("ann"), pro("ann"), pro("bob"));
    await world.consume();
    expect(world.told("pros")).toEqual(["ann:true", "ann:false", "ann:true", "bob:true"]);
  });

  test("names the user as an identify message of its own source does, for the audience's destinations", async () => {
    await world.define([audience("pros", PRO, { destinationIds: ["d1", "d2"] })]);
    world.append(pro("ann"));
    await world.consume();
    expect(world.heard[0]).toEqual({
      id: "ann",
      destinationIds: ["d1", "d2"],
      message: {
        type: "identify",
        messageId: "aud-test-1",
        userId: "ann",
        traits: { pros: true },
        timestamp: new Date(EPOCH_MS).toISOString(),
      },
    });
  });

  test("tells track events as well where asked", async () => {
    await world.define([audience("pros", PRO, { trackEvents: true })]);
    world.append(pro("ann"), free("ann"));
    await world.consume();
    expect(world.heard.map(({ message }) => message.event ?? message.traits)).toEqual([
      { pros: true },
      "Audience Entered",
      { pros: false },
      "Audience Exited",
    ]);
    expect(world.heard[1]?.message.properties).toEqual({
      audience_key: "pros",
      audience_id: "pros",
      pros: true,
    });
  });

  test("names an anonymous user by the anonymous id", async () => {
    await world.define([audience("buyers", ordered(1))]);
    world.append({ type: "track", anonymousId: "n1", event: "Order" });
    await world.consume();
    expect(world.heard[0]?.message).toMatchObject({ anonymousId: "n1", traits: { buyers: true } });
    expect(world.heard[0]?.message).not.toHaveProperty("userId");
  });

  test("tells nothing where there are no destinations, and knows the members", async () => {
    await world.define([audience("pros", PRO, { destinationIds: [] })]);
    world.append(pro("ann"));
    await world.consume();
    expect(world.heard).toEqual([]);
    expect((await figuresOf("pros")).size).toBe(1);
  });
});

describe("a time window", () => {
  test("ends to the millisecond, by itself", async () => {
    await world.define([audience("recent", ordered(2, 10_000))]);
    world.append(order("ann"));
    await world.advance(4_000);
    await world.consume();
    world.append(order("ann"));
    await world.consume();
    await world.advance(5_999);
    expect(world.told("recent")).toEqual(["ann:true"]);
    await world.advance(1);
    expect(world.told("recent")).toEqual(["ann:true", "ann:false"]);
  });

  test("ends across a restart, as soon as it is noticed", async () => {
    await world.define([audience("recent", ordered(1, 10_000))]);
    world.append(order("ann"));
    await world.consume();
    world.nowMs += 60_000;
    await world.restart();
    await world.advance(0);
    expect(world.told("recent")).toEqual(["ann:true", "ann:false"]);
  });

  test("counts by the event's time, and an event of the future by its receipt", async () => {
    await world.define([audience("recent", ordered(1, 10_000))]);
    const at = (ms: number) => new Date(world.nowMs + ms).toISOString();
    world.append(
      { ...order("late"), timestamp: at(-9_000) },
      { ...order("long ago"), timestamp: at(-10_000) },
      { ...order("ahead"), timestamp: at(3_600_000) },
    );
    await world.consume();
    await world.advance(1_000);
    await world.advance(9_000);
    expect(world.told("recent")).toEqual(["late:true", "ahead:true", "late:false", "ahead:false"]);
  });

  test("looks at nobody whose time has not come", async () => {
    const store = memoryProfileStore();
    const looked: number[] = [];
    world = new EngineWorld({
      ...store,
      load: (numbers) => {
        looked.push(...numbers);
        return store.load(numbers);
      },
    });
    await world.define([audience("recent", ordered(1, 10_000))]);
    for (let user = 0; user < 20; user++) {
      world.append(order(`u${user}`));
      await world.consume();
      await world.advance(100);
    }
    looked.length = 0;
    await world.advance(8_000);
    expect(world.told("recent").filter((told) => told.endsWith("false"))).toEqual(["u0:false"]);
    expect(new Set(looked).size).toBeLessThanOrEqual(1);
  });
});

describe("the first sync", () => {
  test("reads history, evaluates everybody, tells members true and nobody else anything", async () => {
    for (let user = 0; user < 30; user++)
      world.append(order(`u${user}`), ...(user % 3 === 0 ? [order(`u${user}`)] : []));
    await world.consume();
    await world.define([audience("twice", ordered(2))]);
    expect((await figuresOf("twice")).status).toMatchObject({ state: "reading_history", progress: 0 });
    await world.settle();
    expect(world.told("twice")).toEqual(Array.from({ length: 10 }, (_, third) => `u${third * 3}:true`));
    expect(await figuresOf("twice")).toMatchObject({
      size: 10,
      status: { state: "live", progress: 1, evaluated: 30 },
    });
  });

  test("counts no event twice that arrives while history is read, over restarts", async () => {
    for (let count = 0; count < 10; count++) world.append(order("ann"));
    await world.consume();
    await world.define([audience("dozen", { kind: "event", event: "Order", times: { exactly: 12 } })]);
    await world.workOnce();
    await world.restart();
    world.append(order("ann"));
    await world.consume();
    await world.workOnce();
    await world.restart();
    world.append(order("ann"));
    await world.settle();
    expect(world.told("dozen")).toEqual(["ann:true"]);
  });

  test("goes on where it was after a restart, telling nobody twice", async () => {
    for (let user = 0; user < 1_200; user++) world.append(pro(`u${user}`));
    await world.consume();
    await world.define([audience("pros", PRO)]);
    await world.workOnce();
    const progress = (await figuresOf("pros")).status;
    expect(progress).toMatchObject({ state: "evaluating", evaluated: 500 });
    expect(progress.progress).toBeCloseTo(500 / 1_200);
    await world.restart();
    await world.settle();
    expect(world.told("pros")).toHaveLength(1_200);
    expect(new Set(world.told("pros")).size).toBe(1_200);
  });

  test("can be paused and goes on", async () => {
    for (let user = 0; user < 1_200; user++) world.append(pro(`u${user}`));
    await world.consume();
    await world.define([audience("pros", PRO)]);
    await world.workOnce();
    await world.define([audience("pros", PRO, { paused: true })]);
    world.append(free("u3"), pro("new"));
    await world.settle();
    expect(world.told("pros")).toHaveLength(500);
    expect((await figuresOf("pros")).status.state).toBe("paused");
    await world.define([audience("pros", PRO)]);
    await world.settle();
    expect(world.told("pros")).toHaveLength(1_202);
    expect(world.told("pros")).toContain("u3:false");
    expect(world.told("pros")).toContain("new:true");
  });

  test("waits for the audiences that the condition names", async () => {
    for (let user = 0; user < 600; user++) world.append(pro(`u${user}`));
    await world.consume();
    await world.define([
      audience("others", { kind: "not", condition: { kind: "audience", audienceId: "pros" } }),
      audience("pros", PRO),
    ]);
    await world.settle();
    expect(world.told("others")).toEqual([]);
    expect(world.told("pros")).toHaveLength(600);
  });
});

describe("editing", () => {
  test("another condition tells only what changed by it", async () => {
    await world.define([audience("group", PRO)]);
    world.append(pro("ann"), { type: "identify", userId: "bob", traits: { plan: "basic" } }, free("cy"));
    await world.consume();
    await world.define([
      audience("group", { kind: "trait", trait: "plan", is: "in", value: ["pro", "basic"] }),
    ]);
    await world.settle();
    expect(world.told("group")).toEqual(["ann:true", "bob:true"]);
    await world.define([audience("group", { kind: "trait", trait: "plan", is: "equals", value: "basic" })]);
    await world.settle();
    expect(world.told("group")).toEqual(["ann:true", "bob:true", "ann:false"]);
  });

  test("a destination that is added is told of the members; the others hear nothing again", async () => {
    await world.define([audience("pros", PRO, { destinationIds: ["old"] })]);
    world.append(pro("ann"), free("bob"));
    await world.consume();
    await world.define([audience("pros", PRO, { destinationIds: ["old", "new"] })]);
    world.append(pro("bob"));
    await world.settle();
    expect(world.heard.map(({ id, destinationIds }) => [id, destinationIds])).toEqual([
      ["ann", ["old"]],
      ["bob", ["old", "new"]],
      ["ann", ["new"]],
    ]);
  });

  test("disabled, nothing is told; enabled again, what is different by then", async () => {
    await world.define([audience("pros", PRO)]);
    world.append(pro("ann"), pro("bob"));
    await world.consume();
    await world.define([audience("pros", PRO, { enabled: false })]);
    world.append(free("ann"), free("bob"), pro("bob"), pro("cy"));
    await world.settle();
    expect(world.told("pros")).toEqual(["ann:true", "bob:true"]);
    expect(await figuresOf("pros")).toMatchObject({ size: 2, status: { state: "disabled" } });
    await world.define([audience("pros", PRO)]);
    await world.settle();
    expect(world.told("pros")).toEqual(["ann:true", "bob:true", "ann:false", "cy:true"]);
  });

  test("deleted, it tells nothing and its members are forgotten", async () => {
    await world.define([audience("pros", PRO)]);
    world.append(pro("ann"));
    await world.consume();
    await world.define([]);
    world.append(free("ann"));
    await world.settle();
    expect(world.told("pros")).toEqual(["ann:true"]);
    expect(await world.engine.members("pros", { limit: 10 })).toBeUndefined();
    expect((await world.engine.profile("ann"))?.audiences).toEqual([]);
  });
});

describe("a slower schedule", () => {
  test("holds the first sending back, then tells what is different at each interval", async () => {
    const sync = { initialDelayMs: 60_000, everyMs: 10_000 };
    await world.define([audience("pros", PRO, { sync })]);
    world.append(pro("ann"), pro("bob"), free("bob"));
    await world.consume();
    await world.advance(59_999);
    expect(world.told("pros")).toEqual([]);
    await world.advance(1);
    expect(world.told("pros")).toEqual(["ann:true"]);
    world.append(free("ann"), pro("cy"), free("cy"));
    await world.consume();
    await world.advance(9_999);
    expect(world.told("pros")).toEqual(["ann:true"]);
    await world.restart();
    await world.advance(1);
    expect(world.told("pros")).toEqual(["ann:true", "ann:false"]);
  });

  test("keeps to its times although nothing was to be told at some of them", async () => {
    await world.define([audience("pros", PRO, { sync: { initialDelayMs: 0, everyMs: 10_000 } })]);
    await world.advance(34_000);
    world.append(pro("ann"));
    await world.consume();
    await world.advance(5_999);
    expect(world.told("pros")).toEqual([]);
    await world.advance(1);
    expect(world.told("pros")).toEqual(["ann:true"]);
  });
});

describe("who a message belongs to", () => {
  test("what was done anonymously becomes the user's when they are identified", async () => {
    await world.define([audience("buyers", ordered(2))]);
    world.append({ type: "track", anonymousId: "n1", event: "Order" }, order("ann"));
    await world.consume();
    expect(world.told("buyers")).toEqual([]);
    world.append({ type: "identify", userId: "ann", anonymousId: "n1" });
    await world.consume();
    expect(world.told("buyers")).toEqual(["ann:true"]);
    expect(await world.engine.profile("n1")).toMatchObject({
      userId: "ann",
      identities: { userIds: ["ann"], anonymousIds: ["n1"] },
    });
  });

  test("alias brings two users together; later messages under the old id are the new one's", async () => {
    await world.define([audience("buyers", ordered(3))]);
    world.append(order("old"), order("new"));
    await world.consume();
    world.append({ type: "alias", userId: "new", previousId: "old" });
    world.append(order("old"));
    await world.consume();
    expect(world.told("buyers")).toEqual(["new:true"]);
  });

  test("a second user of a device does not get what the first did", async () => {
    await world.define([audience("buyers", ordered(1))]);
    world.append({ ...order("ann"), anonymousId: "shared" });
    world.append({ type: "identify", userId: "bob", anonymousId: "shared" });
    await world.consume();
    expect(world.told("buyers")).toEqual(["ann:true"]);
    expect((await world.engine.profile("bob"))?.identities.anonymousIds).toEqual([]);
  });

  test("a user and an anonymous one of the same id are two", async () => {
    world.append(
      { type: "identify", userId: "x", traits: { a: 1 } },
      { type: "track", anonymousId: "x", event: "E" },
    );
    await world.consume();
    expect((await world.engine.profile("x"))?.identities).toEqual({ userIds: ["x"], anonymousIds: [] });
  });

  test("names that a prototype has are traits like others", async () => {
    await world.define([
      audience("odd", { kind: "trait", trait: "__proto__", is: "exists" }),
      audience("odder", { kind: "trait", trait: "constructor.name", is: "exists" }),
    ]);
    world.append(JSON.parse('{"type":"identify","userId":"ann","traits":{"__proto__":1}}'));
    await world.consume();
    expect(world.told("odd")).toEqual(["ann:true"]);
    expect(world.told("odder")).toEqual([]);
  });
});

describe("computed traits", () => {
  test("are told on change, and audiences can look at them", async () => {
    await world.define([
      computedTrait("spent", "sum"),
      audience("big", { kind: "trait", trait: "spent", is: "greater", value: 100 }),
    ]);
    world.append(order("ann", 60), order("ann", 0), order("ann", 50));
    await world.consume();
    expect(world.told("spent")).toEqual(["ann:60", "ann:110"]);
    expect(world.told("big")).toEqual(["ann:true"]);
  });

  test("take numbers that travel as text", async () => {
    await world.define([computedTrait("spent", "sum")]);
    world.append(
      { ...order("ann"), properties: { price: "19.50" } },
      { ...order("ann"), properties: { price: "a lot" } },
    );
    await world.consume();
    expect(world.told("spent")).toEqual(["ann:19.5"]);
  });

  test("say that there is nothing when the window has passed", async () => {
    await world.define([
      computedTrait("n", "count", { withinMs: 5_000 }),
      computedTrait("top", "most_frequent", { withinMs: 5_000 }),
      computedTrait("all", "unique_list", { withinMs: 5_000 }),
    ]);
    world.append(order("ann", 7));
    await world.consume();
    await world.advance(5_000);
    expect(world.told("n")).toEqual(["ann:1", "ann:0"]);
    expect(world.told("top")).toEqual(["ann:7", "ann:null"]);
    expect(world.told("all")).toEqual(["ann:[7]", "ann:[]"]);
  });

  test("tell in their status of how many users something is left out, and when not any more", async () => {
    const prices = computedTrait("prices", "unique_list");
    await world.define([prices]);
    const leftOut = async () => (await figuresOf("prices")).status.leftOut;
    const large = (userId: string) => ({ ...order(userId), properties: { price: "x".repeat(5_000) } });
    world.append(order("ann", 1), { ...order("bob"), properties: { price: "x".repeat(4_000) } });
    await world.consume();
    expect(await leftOut()).toBeUndefined();
    expect(world.status.leftOut).toBe(0);

    world.append(large("ann"), large("ann"), large("bob"), large("carl"));
    await world.consume();
    expect(await leftOut()).toEqual({ users: 3, events: 4 });
    expect(world.status.leftOut).toBe(4);
    expect(world.told("prices")).toHaveLength(2);
    await world.restart();
    expect(await leftOut()).toEqual({ users: 3, events: 4 });

    world.append({ type: "alias", userId: "ann", previousId: "bob" });
    await world.consume();
    expect(await leftOut()).toEqual({ users: 2, events: 4 });
    await world.engine.forget([removal("ann")], world.nowMs);
    expect(await leftOut()).toEqual({ users: 1, events: 1 });

    // Another definition is another value; history is read for it.
    await world.define([computedTrait("prices", "count")]);
    await world.settle();
    expect(await leftOut()).toBeUndefined();
  });

  test("begin with history", async () => {
    world.append(order("ann", 2), order("ann", 3), order("bob", 1));
    await world.consume();
    await world.define([computedTrait("average_price", "average")]);
    await world.settle();
    expect(world.told("average_price")).toEqual(["ann:2.5", "bob:1"]);
  });
});

describe("explaining", () => {
  test("shows each node with what was seen, also where the answer was clear already", async () => {
    await world.define([
      audience("vip", {
        kind: "or",
        conditions: [
          PRO,
          { kind: "not", condition: ordered(2, 10_000) },
          { kind: "audience", audienceId: "vip2" },
        ],
      }),
      audience("vip2", PRO),
    ]);
    world.append(pro("ann"), order("ann"));
    await world.consume();
    expect(await world.engine.why("vip", "ann", world.nowMs)).toEqual({
      userId: "ann",
      member: true,
      since: "2026-01-01T00:00:00.000Z",
      explanation: {
        kind: "or",
        holds: true,
        conditions: [
          { ...PRO, holds: true, seen: "pro" },
          {
            kind: "not",
            holds: true,
            condition: {
              ...ordered(2, 10_000),
              holds: false,
              seen: 1,
              lastAt: "2026-01-01T00:00:00.000Z",
            },
          },
          { kind: "audience", audienceId: "vip2", holds: true },
        ],
      },
    });
    expect(await world.engine.why("vip", "nobody", world.nowMs)).toBeUndefined();
  });
});

describe("previewing", () => {
  test("counts who would be in, over history that nothing had counted, and changes nothing", async () => {
    for (let user = 0; user < 40; user++)
      world.append(order(`u${user}`), ...(user < 15 ? [order(`u${user}`)] : []));
    await world.consume();
    const { preview, needsHistory, upTo } = await world.engine.previewBegin(
      { kind: "audience", condition: ordered(2) },
      world.nowMs,
    );
    expect(needsHistory).toBe(true);
    for (let cursor = BEFORE_FIRST; cursor < upTo; )
      cursor = await world.engine.previewHistory(preview, world.after(cursor, 3));
    const found = await world.engine.previewScan(preview);
    expect(found).toMatchObject({ size: 15, evaluated: 40 });
    expect(found?.sample.slice(0, 2)).toEqual([{ userId: "u0" }, { userId: "u1" }]);
    expect(await world.engine.stats(world.nowMs)).toEqual([]);
    expect(world.heard).toEqual([]);
  });

  test("uses what is counted already", async () => {
    await world.define([audience("twice", ordered(2))]);
    world.append(order("ann"), order("ann"), order("bob"));
    await world.consume();
    const { preview, needsHistory } = await world.engine.previewBegin(
      { kind: "audience", condition: { kind: "not", condition: ordered(2) } },
      world.nowMs,
    );
    expect(needsHistory).toBe(false);
    expect(await world.engine.previewScan(preview)).toMatchObject({ size: 1, sample: [{ userId: "bob" }] });
  });

  test.each([
    [
      "count",
      { kind: "count" },
      [
        ["ann", 3],
        ["cyd", 1],
        ["bob", 1],
      ],
    ],
    [
      "sum",
      { kind: "sum", property: "price" },
      [
        ["ann", 9],
        ["bob", 5],
      ],
    ],
    [
      "most_frequent",
      { kind: "most_frequent", property: "price" },
      [
        ["ann", 2],
        ["bob", 5],
      ],
    ],
    [
      "unique_list",
      { kind: "unique_list", property: "price" },
      [
        ["ann", [2, 5]],
        ["bob", [5]],
      ],
    ],
    ["last, within a window", { kind: "last", property: "price", withinMs: 1_500 }, [["bob", 5]]],
    ["count of an event that nobody did", { kind: "count", event: "Other" }, []],
  ] as const)(
    "works out a computed trait over history as one that is made does: %s",
    async (_name, fields, expected) => {
      const definition = { event: "Order", ...fields };
      world.append(order("ann", 2), order("ann", 2), order("ann", 5));
      world.append({ type: "track", userId: "cyd", event: "Order" });
      await world.consume();
      world.nowMs += 2_000;
      world.append(order("bob", 5));
      await world.consume();
      const question = { kind: "computed_trait", definition } as const;
      const { preview, needsHistory, upTo } = await world.engine.previewBegin(question, world.nowMs);
      expect(needsHistory).toBe(true);
      for (let cursor = BEFORE_FIRST; cursor < upTo; )
        cursor = await world.engine.previewHistory(preview, world.after(cursor, 2));
      const sample = expected.map(([userId, value]) => ({ userId, value }));
      expect(await world.engine.previewScan(preview)).toEqual({ size: sample.length, evaluated: 3, sample });

      const { kind, ...rest } = definition;
      await world.define([computedTrait("made", kind, rest)]);
      await world.settle();
      expect(await world.engine.values("made", { limit: 10 })).toEqual({ items: sample });
      const again = await world.engine.previewBegin(question, world.nowMs);
      expect(again.needsHistory).toBe(false);
      expect(await world.engine.previewScan(again.preview)).toMatchObject({ size: sample.length, sample });
    },
  );
});

describe("values of a computed trait", () => {
  test("are paged by the profiles' age; who has none is left out", async () => {
    await world.define([computedTrait("spent", "sum"), audience("pros", PRO)]);
    world.append(order("ann", 1), pro("bob"), order("cyd", 3), order("dan", 4));
    await world.consume();
    const first = await world.engine.values("spent", { limit: 2 });
    expect(first?.items).toEqual([
      { userId: "ann", value: 1 },
      { userId: "cyd", value: 3 },
    ]);
    const cursor = first?.nextCursor ?? "";
    expect(await world.engine.values("spent", { limit: 2, cursor })).toEqual({
      items: [{ userId: "dan", value: 4 }],
    });
    expect(await world.engine.values("pros", { limit: 2 })).toBeUndefined();
    expect(await world.engine.values("none", { limit: 2 })).toBeUndefined();
  });

  test("end when the last event left the window", async () => {
    await world.define([computedTrait("recent", "count", { withinMs: 60_000 })]);
    world.append(order("ann"));
    await world.consume();
    expect((await world.engine.values("recent", { limit: 2 }))?.items).toEqual([{ userId: "ann", value: 1 }]);
    await world.advance(60_000);
    expect((await world.engine.values("recent", { limit: 2 }))?.items).toEqual([]);
  });

  test("are looked for in so many profiles at once, and the page says where to go on", async () => {
    await world.define([computedTrait("spent", "sum")]);
    world.append(...Array.from({ length: 2_000 }, (_, user) => pro(`u${user}`)), order("ann", 7));
    await world.consume();
    const first = await world.engine.values("spent", { limit: 5 });
    expect(first?.items).toEqual([]);
    const cursor = first?.nextCursor ?? "";
    expect(await world.engine.values("spent", { limit: 5, cursor })).toEqual({
      items: [{ userId: "ann", value: 7 }],
    });
  });
});

describe("forgetting a user", () => {
  test("takes the profile with its memberships, ids and what is owed; a new one begins empty and is told anew", async () => {
    await world.define([audience("pros", PRO)]);
    world.append({ ...pro("ann"), anonymousId: "n1" }, pro("bob"));
    await world.consume();
    expect(await world.engine.forget([removal("ann"), removal("nobody")], world.nowMs)).toEqual([
      { profile: true, audienceMemberships: 1 },
      { profile: false, audienceMemberships: 0 },
    ]);
    expect(await world.engine.profile("ann")).toBeUndefined();
    expect(await world.engine.profile("n1")).toBeUndefined();
    expect(await figuresOf("pros")).toMatchObject({ size: 1 });
    world.append(pro("ann"));
    await world.consume();
    expect(world.told("pros")).toEqual(["ann:true", "bob:true", "ann:true"]);
    expect(new Set(world.heard.map(({ message }) => message.messageId)).size).toBe(3);
  });
});

test("no message is missed after a batch that ends in refused items, nor when history is read", async () => {
  await world.define([audience("twice", ordered(2))]);
  world.append(order("ann"), null);
  await world.consume();
  world.append(order("ann"), null, null);
  await world.consume();
  world.append(order("bob"), null);
  world.append(order("bob"));
  await world.consume();
  expect(world.told("twice")).toEqual(["ann:true", "bob:true"]);
  await world.define([
    audience("twice", ordered(2)),
    audience("exactly", { ...ordered(2), times: { exactly: 2 } }),
  ]);
  await world.settle();
  expect(world.told("exactly")).toEqual(["ann:true", "bob:true"]);
});

test("knows when users were first and last seen, whatever their messages were needed for, over restarts", async () => {
  const started = world.nowMs;
  const seen = (event: string, ids: object, ageMs = 0) =>
    world.append({
      type: "track",
      event,
      ...ids,
      timestamp: new Date(world.nowMs - ageMs).toISOString(),
    });
  const span = async (userId: string) => {
    const profile = await world.engine.profile(userId);
    return [profile?.firstSeenAt, profile?.lastSeenAt].map((time) => Date.parse(time ?? "") - started);
  };
  // More users than are remembered, so that most are widened in the store alone.
  for (const user of ["u1", "u2", "u3", "u4", "u5"])
    seen("Unasked", { userId: user, anonymousId: `of ${user}` });
  await world.consume();
  await world.advance(10_000);
  for (const user of ["u1", "u2", "u3", "u4", "u5"]) seen("Unasked", { userId: user });
  seen("Unasked", { anonymousId: "of u2" }, 30_000);
  seen("Unasked", { userId: "u3", anonymousId: "of u3" }, 20_000);
  await world.consume();
  await world.restart();
  expect(await span("u1")).toEqual([0, 10_000]);
  expect(await span("u2")).toEqual([-20_000, 10_000]);
  expect(await span("u3")).toEqual([-10_000, 10_000]);
  // Both become one: so do the times.
  world.append({ type: "alias", userId: "u1", previousId: "u2" });
  await world.settle();
  expect(await span("u1")).toEqual([-20_000, 10_000]);
});

test("failures of the store set no request aside that is taken one message at a time", async () => {
  const store = memoryProfileStore();
  let isPoisoned = true;
  let failures = 0;
  world = new EngineWorld({
    ...store,
    commit: (change) => {
      const isCounting = change.profiles !== undefined && change.profiles.length > 0;
      if (isCounting && isPoisoned) return Promise.reject(new Error("a mistake"));
      if (isCounting && failures > 0) {
        failures -= 1;
        return Promise.reject(new StorageUnavailable("the disk is full"));
      }
      return store.commit(change);
    },
  });
  await world.define([audience("pros", PRO)]);
  world.append(pro("ann"), pro("bob"));
  // Twice all together: from then on one by one.
  for (let times = 0; times < 2; times++) await expect(world.consume()).rejects.toThrow("a mistake");
  isPoisoned = false;
  failures = 4;
  for (let times = 0; times < 4; times++) await expect(world.consume()).rejects.toThrow("the disk is full");
  await world.consume();
  expect(world.told("pros")).toEqual(["ann:true", "bob:true"]);
  expect(await world.engine.setAside()).toEqual([]);
});

test("a commit that fails leaves nothing behind: the step is made again", async () => {
  const store = memoryProfileStore();
  let isFailing = false;
  world = new EngineWorld({
    ...store,
    commit: (change) => (isFailing ? Promise.reject(new Error("disk full")) : store.commit(change)),
  });
  await world.define([audience("pros", PRO), audience("twice", ordered(2))]);
  world.append(pro("ann"), order("ann"));
  isFailing = true;
  await expect(world.consume()).rejects.toThrow("disk full");
  isFailing = false;
  world.append(order("ann"));
  await world.consume();
  expect(world.told("pros")).toEqual(["ann:true"]);
  expect(world.told("twice")).toEqual(["ann:true"]);
});
