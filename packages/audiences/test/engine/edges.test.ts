import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ProfileStore } from "@sluice/event-log";
import { BEFORE_FIRST, memoryProfileStore, openSqliteProfileStore } from "@sluice/event-log";
import { beforeEach, describe, expect, test } from "vitest";
import { audience, computedTrait, removal } from "../definitions/definitions.js";
import { EngineWorld } from "./engine-world.js";

const PRO = { kind: "trait", trait: "plan", is: "equals", value: "pro" } as const;
const pro = (userId: string) => ({ type: "identify", userId, traits: { plan: "pro" } });
const order = (userId: string, price: unknown = 1) => ({
  type: "track",
  userId,
  event: "Order",
  properties: { price },
});

let store: ProfileStore;
let world: EngineWorld;
beforeEach(async () => {
  store = memoryProfileStore();
  world = new EngineWorld(store);
  await world.define([]);
});

describe("a destination that is taken away", () => {
  test("hears nothing of what was still to be told to it", async () => {
    await world.define([audience("pros", PRO, { destinationIds: ["d1"] })]);
    world.append(pro("ann"));
    await world.settle();
    await world.define([audience("pros", PRO, { destinationIds: ["d1", "d2"], paused: true })]);
    await world.settle();
    await world.define([audience("pros", PRO, { destinationIds: ["d1"] })]);
    await world.settle();
    expect(world.heard.map(({ destinationIds }) => destinationIds)).toEqual([["d1"]]);
  });

  test("and comes back before it was told, is told once", async () => {
    await world.define([audience("pros", PRO, { destinationIds: ["d1"] })]);
    world.append(pro("ann"));
    await world.settle();
    for (const destinationIds of [["d1", "d2"], ["d1"], ["d1", "d2"]])
      await world.define([audience("pros", PRO, { destinationIds, paused: true })]);
    await world.define([audience("pros", PRO, { destinationIds: ["d1", "d2"] })]);
    await world.settle();
    expect(world.heard.map(({ destinationIds }) => destinationIds)).toEqual([["d1"], ["d2"]]);
  });
});

describe("a computed trait that an audience looks at", () => {
  const RICH = { kind: "trait", trait: "spent", is: "greater", value: 10 } as const;
  const spent = computedTrait("spent", "sum", { destinationIds: [] });

  test("deleted, nobody is a member because of it any more", async () => {
    await world.define([spent, audience("rich", RICH)]);
    world.append(order("ann", 20));
    await world.settle();
    await world.define([audience("rich", RICH)]);
    await world.settle();
    expect(world.told("rich")).toEqual(["ann:true", "ann:false"]);
    const why = await world.engine.why("rich", "ann", world.nowMs);
    expect(why).toMatchObject({ member: false, explanation: { holds: false } });
  });

  test("made later, takes the place of a trait of that name", async () => {
    await world.define([audience("rich", RICH)]);
    world.append({ type: "identify", userId: "ann", traits: { spent: 99 } }, order("bob", 20));
    await world.settle();
    await world.define([spent, audience("rich", RICH)]);
    await world.settle();
    expect(world.told("rich")).toEqual(["ann:true", "ann:false", "bob:true"]);
    await world.define([audience("rich", RICH)]);
    await world.settle();
    expect(world.told("rich").slice(3).sort()).toEqual(["ann:true", "bob:false"]);
  });
});

test("what is sent at once is sent at once also after the clock was set back to before it was made", async () => {
  const spent = computedTrait("spent", "sum", { destinationIds: ["d1"] });
  await world.define([spent, audience("pros", PRO)]);
  world.nowMs -= 24 * 60 * 60 * 1_000;
  world.append(pro("ann"), order("ann", 5));
  await world.settle();
  expect(world.told("pros")).toEqual(["ann:true"]);
  expect(world.told("spent")).toEqual(["ann:5"]);
});

test("what was counted for a definition that is gone does not stay in the profile", async () => {
  const prices = (withinMs: number) => computedTrait("prices", "unique_list", { withinMs });
  const bytes = async () => {
    const [record] = (await store.scan(-1, { profiles: 1, bytes: 1 })).records;
    return record?.body.length ?? 0;
  };
  await world.define([prices(1_000_000)]);
  world.append(order("ann", "x".repeat(1_000)));
  await world.settle();
  const once = await bytes();
  for (let edits = 1; edits < 20; edits++) {
    await world.define([prices(1_000_000 + edits)]);
    world.append(order("ann", "y"));
    await world.settle();
  }
  expect(await bytes()).toBeLessThan(once + 2_000);
});

describe.each([
  ["memory", async () => ({ store: memoryProfileStore(), end: async () => {} })],
  [
    "sqlite",
    async () => {
      const directory = mkdtempSync(join(tmpdir(), "sluice-edges-"));
      const opened = openSqliteProfileStore({ directory });
      return {
        store: opened,
        end: async () => {
          await opened.close();
          rmSync(directory, { recursive: true });
        },
      };
    },
  ],
])("ids of odd characters in the %s store", (_name, open) => {
  test.each([
    ["NUL in the middle", "a\0b", "a\0c"],
    ["NUL at the end", "a\0", "a"],
    ["lone surrogates", "a\ud800", "a\ud801"],
    ["a lone surrogate and its replacement", "\udc00", "\ufffd"],
    ["composed and decomposed", "\u00e9", "e\u0301"],
    ["upper and lower case", "Ann", "ann"],
    ["spaces", " ann", "ann"],
    ["long ones", "x".repeat(20_000), `${"x".repeat(20_000)}y`],
  ])("%s", async (_what, one, other) => {
    const opened = await open();
    const edges = new EngineWorld(opened.store);
    try {
      await edges.define([audience("pros", PRO)]);
      edges.append(pro(one), { type: "identify", userId: other, traits: { plan: "free" } });
      await edges.settle();
      await edges.restart();
      edges.append({ type: "identify", userId: one, traits: { seats: 1 } }, pro(other));
      await edges.settle();
      expect(edges.heard.map(({ id }) => id)).toEqual([one, other]);
      expect(await edges.engine.profile(one)).toMatchObject({
        userId: one,
        traits: { plan: "pro", seats: 1 },
      });
      expect(await edges.engine.profile(other)).toMatchObject({ userId: other, traits: { plan: "pro" } });
      const [forgotten] = await edges.engine.forget([removal(one)], edges.nowMs);
      expect(forgotten).toMatchObject({ profile: true, audienceMemberships: 1 });
      expect(await edges.engine.profile(one)).toBeUndefined();
      expect(await edges.engine.profile(other)).toMatchObject({ userId: other });
    } finally {
      await opened.end();
    }
  });
});

describe("times at the edge", () => {
  const TIMES = [
    "-271821-04-20T00:00:00.000Z",
    "+275760-09-13T00:00:00.000Z",
    "0000-01-01T00:00:00Z",
    "0001-01-01T00:00:00+14:00",
    "9999-12-31T23:59:59.999999999Z",
    "2026-01-01T00:00:00.1234567Z",
    "2026-01-01T00:00:00,5Z",
    "2026-01-01T00:00:60Z",
    "2026-02-30T00:00:00Z",
    "1e300",
    "",
    "never",
  ];
  test("stop nothing: every message is counted, and what is shown is a time", async () => {
    const directory = mkdtempSync(join(tmpdir(), "sluice-edges-"));
    const sqlite = openSqliteProfileStore({ directory });
    const edges = new EngineWorld(sqlite);
    try {
      const ordered = { kind: "event", event: "Order", times: { atLeast: 1 } } as const;
      await edges.define([
        audience("ever", ordered),
        audience("lately", { ...ordered, withinMs: 60_000 }),
        computedTrait("first", "first"),
        computedTrait("longest", "last", { withinMs: 10 * 365 * 24 * 60 * 60 * 1_000 }),
      ]);
      let users = 0;
      // Where both are, one of them counts.
      const pairs = [{}, ...TIMES.flatMap((at) => [{ timestamp: at }, { originalTimestamp: at }])];
      for (const times of [...pairs, ...TIMES.map((at) => ({ timestamp: at, originalTimestamp: TIMES[0] }))])
        for (const sentAt of [undefined, ...TIMES]) {
          users += 1;
          edges.append({
            ...order(`user-${users}`),
            ...times,
            ...(sentAt === undefined ? {} : { sentAt }),
          });
        }
      await edges.settle();
      await edges.advance(60_000);
      const [ever] = await edges.engine.stats(edges.nowMs);
      expect(ever).toMatchObject({ id: "ever", size: users });
      for (let user = 1; user <= users; user++) {
        const profile = await edges.engine.profile(`user-${user}`);
        expect(Number.isNaN(Date.parse(profile?.firstSeenAt ?? ""))).toBe(false);
        expect(await edges.engine.why("lately", `user-${user}`, edges.nowMs)).toMatchObject({
          member: false,
        });
        expect(await edges.engine.whyValue("first", `user-${user}`, edges.nowMs)).toMatchObject({
          summary: { value: 1, events: 1 },
        });
      }
    } finally {
      await sqlite.close();
      rmSync(directory, { recursive: true });
    }
  });
});

test("messages that begin elsewhere than where the engine is are not counted", async () => {
  world.append(pro("ann"));
  world.append(pro("bob"));
  const [first, second] = world.batches;
  if (first === undefined || second === undefined) throw new Error("nothing was appended");
  const none = await world.engine.consume([second], world.nowMs, first.first);
  expect(none.status.cursor).toBe(BEFORE_FIRST);
  const both = await world.engine.consume([first, second], world.nowMs, BEFORE_FIRST);
  expect(both.status.cursor).toBe(second.first);
});
