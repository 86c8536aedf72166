import { memoryProfileStore, type Offset, PROFILE_LIMITS } from "@sluice/event-log";
import type { UncheckedMessage } from "@sluice/protocol";
import { beforeEach, describe, expect, it } from "vitest";
import {
  type IdentityPolicy,
  identificationOf,
  identitiesIn,
  identityPolicyOf,
} from "../../src/profiles/identities.js";
import { decodeProfile, type Profile } from "../../src/profiles/profile.js";
import { refusedJoins } from "../../src/profiles/refused-joins.js";
import { audience, computedTrait, EPOCH_MS, removal } from "../definitions/definitions.js";
import { EngineWorld } from "./engine-world.js";

const identify = (userId: string, anonymousId?: string, traits?: object) => ({
  type: "identify",
  userId,
  ...(anonymousId === undefined ? {} : { anonymousId }),
  ...(traits === undefined ? {} : { traits }),
});
const device = (anonymousId: string, traits?: object) => ({
  type: "identify",
  anonymousId,
  ...(traits === undefined ? {} : { traits }),
});
const alias = (userId: string, previousId: string, anonymousId?: string) => ({
  type: "alias",
  userId,
  previousId,
  ...(anonymousId === undefined ? {} : { anonymousId }),
});
const order = (userId: string, price = 1) => ({
  type: "track",
  userId,
  event: "Order",
  properties: { price },
});
const orderOn = (anonymousId: string, price = 1) => ({
  type: "track",
  anonymousId,
  event: "Order",
  properties: { price },
});

const POLICIES = { full: "full", anonymous: "anonymous", none: "none" } as const;
let store = memoryProfileStore();
let world = new EngineWorld(store, POLICIES);
beforeEach(async () => {
  store = memoryProfileStore();
  world = new EngineWorld(store, POLICIES);
  await world.define([]);
});

async function take(...messages: UncheckedMessage[]): Promise<void> {
  await takeOf("full", ...messages);
}

async function takeOf(policy: IdentityPolicy, ...messages: UncheckedMessage[]): Promise<void> {
  world.appendOf(policy, ...messages);
  await world.consume();
}

async function stored(identity: string): Promise<Profile> {
  const number = (await store.resolve([identity])).get(identity);
  const [record] = number === undefined ? [] : await store.load([number]);
  if (record === undefined) throw new Error(`no profile of ${identity}`);
  return decodeProfile(record);
}

async function ownerOf(identity: string): Promise<string | undefined> {
  return (await store.resolve([identity])).has(identity) ? (await stored(identity)).id : undefined;
}

async function sizeOf(id: string): Promise<number | undefined> {
  return (await world.engine.stats(world.nowMs)).find((one) => one.id === id)?.size;
}

/** As the control API asks about a message of a server. */
function refusalsOf({ type, userId, anonymousId, previousId }: UncheckedMessage) {
  const at = { sourceId: "full", offset: 0 as Offset };
  return world.engine.refusedJoins({ type, userId, anonymousId, previousId }, at);
}

describe("which ids a message joins", () => {
  const ANONYMOUS = [device("n1")];
  const OF_BOB = [identify("bob", "n1")];

  it.each<
    [
      name: string,
      before: readonly UncheckedMessage[],
      policy: IdentityPolicy,
      message: UncheckedMessage,
      owners: Readonly<Record<string, string | undefined>>,
      refused: number,
    ]
  >([
    ["an anonymous id, to its user", ANONYMOUS, "full", identify("ann", "n1"), { "a:n1": "u:ann" }, 0],
    ["an anonymous id that is new", [], "full", identify("ann", "n1"), { "a:n1": "u:ann" }, 0],
    [
      "an anonymous id, by any message",
      ANONYMOUS,
      "full",
      { ...order("ann"), anonymousId: "n1" },
      { "a:n1": "u:ann" },
      0,
    ],
    [
      "an anonymous id, not by an event of a public key",
      ANONYMOUS,
      "anonymous",
      { ...order("ann"), anonymousId: "n1" },
      { "a:n1": "a:n1" },
      0,
    ],
    [
      "an anonymous id, by an identify of a public key",
      ANONYMOUS,
      "anonymous",
      identify("ann", "n1"),
      { "a:n1": "u:ann" },
      0,
    ],
    [
      "no anonymous id of another user",
      OF_BOB,
      "full",
      identify("ann", "n1"),
      { "a:n1": "u:bob", "u:ann": "u:ann" },
      1,
    ],
    [
      "no anonymous id of another user, which an event does not ask for",
      OF_BOB,
      "full",
      { ...order("ann"), anonymousId: "n1" },
      { "a:n1": "u:bob" },
      0,
    ],
    ["none, where the source may join none", ANONYMOUS, "none", identify("ann", "n1"), { "a:n1": "a:n1" }, 1],
    ["one that is joined already", OF_BOB, "full", identify("bob", "n1"), { "a:n1": "u:bob" }, 0],
    [
      "one that is joined already, where the source may join none",
      OF_BOB,
      "none",
      identify("bob", "n1"),
      { "a:n1": "u:bob" },
      0,
    ],
    [
      "one user to another",
      [order("old"), order("ann")],
      "full",
      alias("ann", "old"),
      { "u:old": "u:ann" },
      0,
    ],
    [
      "a user id that is new",
      [order("ann")],
      "full",
      alias("ann", "old"),
      { "u:old": "u:ann", "a:old": "u:ann" },
      0,
    ],
    [
      "an anonymous id, by an alias",
      [orderOn("old")],
      "full",
      alias("ann", "old"),
      { "a:old": "u:ann", "u:old": "u:ann" },
      0,
    ],
    ["a user id to itself", [order("ann")], "full", alias("ann", "ann"), { "u:ann": "u:ann" }, 0],
    [
      "a user id of a public key's alias as an anonymous one",
      [order("ann")],
      "anonymous",
      alias("ann", "old"),
      { "u:old": undefined, "a:old": "u:ann" },
      0,
    ],
    [
      "no other user, where the key is public",
      [order("old"), order("ann")],
      "anonymous",
      alias("ann", "old"),
      { "u:old": "u:old", "a:old": undefined },
      1,
    ],
    [
      "a user id that is joined already",
      [alias("ann", "old")],
      "anonymous",
      alias("ann", "old"),
      { "u:old": "u:ann" },
      0,
    ],
    [
      "no anonymous id of another user, by a public key's alias",
      OF_BOB,
      "anonymous",
      alias("ann", "n1"),
      { "a:n1": "u:bob" },
      1,
    ],
    [
      "none of an alias, where the source may join none",
      [order("ann")],
      "none",
      alias("ann", "old"),
      { "u:old": undefined, "a:old": undefined },
      1,
    ],
    [
      "the previous id, where the anonymous one is another user's",
      OF_BOB,
      "anonymous",
      alias("ann", "n2", "n1"),
      { "a:n1": "u:bob", "a:n2": "u:ann" },
      1,
    ],
    [
      "the previous id, where the anonymous one is another user's and the key is a server's",
      OF_BOB,
      "full",
      alias("ann", "n2", "n1"),
      { "a:n1": "u:bob", "u:n2": "u:ann" },
      1,
    ],
    [
      "the anonymous id, where the previous one is another user",
      OF_BOB,
      "anonymous",
      alias("ann", "bob", "n2"),
      { "u:bob": "u:bob", "a:n2": "u:ann" },
      1,
    ],
  ])("%s", async (_name, before, policy, message, owners, refused) => {
    await take(...before);
    await takeOf(policy, message);
    const found = await Promise.all(Object.keys(owners).map(async (id) => [id, await ownerOf(id)] as const));
    expect(Object.fromEntries(found)).toEqual(owners);
    expect(Object.fromEntries(world.refusedJoins)).toEqual(refused === 0 ? {} : { [policy]: refused });
  });

  it("counts later messages of a joined id for the user, also after a restart", async () => {
    await world.define([audience("buyers", { kind: "event", event: "Order", times: { atLeast: 3 } })]);
    await take(order("old"), alias("ann", "old"), order("old"));
    await world.restart();
    await take(order("old"));
    expect(world.told("buyers")).toEqual(["ann:true"]);
    expect(await store.count()).toBe(1);
  });
});

describe("to which user id an anonymous id is joined", () => {
  it("is the user's own one, unless it was another one", async () => {
    await take(identify("old", "n1"), identify("ann", "n2"), alias("ann", "old"), identify("old", "n3"));
    const { identities, joined } = await stored("u:ann");
    expect(identities.toSorted()).toEqual(["a:n1", "a:n2", "a:n3", "a:old", "u:ann", "u:old"]);
    expect(joined).toEqual(
      new Map([
        ["a:n1", "u:old"],
        ["a:n3", "u:old"],
      ]),
    );
  });

  it("stays the one of an earlier join when users are joined again", async () => {
    await take(identify("first", "n1"), alias("second", "first"), alias("third", "second"));
    expect((await stored("u:third")).joined).toEqual(
      new Map([
        ["a:n1", "u:first"],
        ["a:first", "u:second"],
      ]),
    );
  });
});

describe("what is left of two profiles", () => {
  it("is the user's own traits, and those that only the other one had", async () => {
    await take(device("n1", { plan: "free", city: "Bonn" }), identify("ann", undefined, { plan: "pro" }));
    await take(identify("ann", "n1"));
    expect((await world.engine.profile("ann"))?.traits).toEqual({ plan: "pro", city: "Bonn" });
    expect(await store.count()).toBe(1);
  });

  it.each([
    ["the other one was seen before", 0, 5_000, 5_000, 9_000],
    ["the other one was seen after", 5_000, 0, 0, 9_000],
  ])("is the span of both: %s", async (_name, otherMs, ownMs) => {
    const at = (ms: number) => ({ timestamp: new Date(EPOCH_MS + ms).toISOString() });
    world.nowMs = EPOCH_MS + 9_000;
    await take({ ...orderOn("n1"), ...at(otherMs) }, { ...orderOn("n1"), ...at(otherMs + 1_000) });
    await take({ ...order("ann"), ...at(ownMs) }, { ...order("ann"), ...at(ownMs + 1_000) });
    await take({ ...identify("ann", "n1"), ...at(5_500) });
    const { firstSeenMs, lastSeenMs } = await stored("u:ann");
    expect([firstSeenMs - EPOCH_MS, lastSeenMs - EPOCH_MS]).toEqual([0, 6_000]);
  });

  it.each([
    ["both have some", [orderOn("n1", 2), order("ann", 3)], 5],
    ["only the other one has some", [orderOn("n1", 2), identify("ann")], 2],
    ["only the user has some", [device("n1"), order("ann", 3)], 3],
  ])("is the events of both: %s", async (_name, before, sum) => {
    await world.define([computedTrait("spent", "sum"), computedTrait("orders", "count")]);
    await take(...before, identify("ann", "n1"));
    expect((await world.engine.profile("ann"))?.computedTraits).toEqual({
      spent: sum,
      orders: before.filter(({ type }) => type === "track").length,
    });
  });

  it("is without aggregates that no definition needs any more", async () => {
    await world.define([computedTrait("spent", "sum")]);
    await take(orderOn("n1", 2), order("ann", 3));
    await world.define([]);
    await take(identify("ann", "n1"));
    expect((await stored("u:ann")).aggregates.size).toBe(0);
  });

  it("counts traits and ids that either left out", async () => {
    const many = (prefix: string) =>
      Object.fromEntries(Array.from({ length: PROFILE_LIMITS.traits + 2 }, (_, i) => [`${prefix}${i}`, 1]));
    await take(device("n1", many("a")), identify("ann", undefined, many("b")));
    await take(identify("ann", "n1"));
    const { traits, leftOut } = await stored("u:ann");
    expect(traits.size).toBe(PROFILE_LIMITS.traits);
    // 2 of each, and those for which there was no room together.
    expect(leftOut).toEqual({ traits: 4 + PROFILE_LIMITS.traits, ids: 0 });
  });

  it("takes no more ids than a profile may have, and leaves the others where they are", async () => {
    const room = PROFILE_LIMITS.ids - 2;
    await take(order("old"), identify("old", "n1"), orderOn("late"));
    await take(...Array.from({ length: room }, (_, i) => identify("ann", `d${i}`)));
    expect((await stored("u:ann")).identities.length).toBe(PROFILE_LIMITS.ids - 1);

    // Two ids of the other user do not fit, one does.
    await take(alias("ann", "old"));
    expect(await refusalsOf(alias("ann", "old"))).toEqual([{ field: "previousId", reason: "earlier" }]);
    expect(await ownerOf("u:old")).toBe("u:old");
    expect(await ownerOf("a:n1")).toBe("u:old");
    expect(await ownerOf("a:old")).toBe("u:ann");
    await take(identify("ann", "late"));
    expect(await refusalsOf(identify("ann", "late"))).toEqual([{ field: "anonymousId", reason: "earlier" }]);
    expect(await ownerOf("a:late")).toBe("a:late");
    await take(identify("ann", "fresh"));
    expect(await ownerOf("a:fresh")).toBeUndefined();
    expect(Object.fromEntries(world.refusedJoins)).toEqual({ full: 3 });
    expect((await stored("u:ann")).leftOut).toEqual({ traits: 0, ids: 4 });
  });

  it("counts ids for which the other one had no room", async () => {
    const large = "x".repeat(PROFILE_LIMITS.bytes - 30);
    await take(identify("old", undefined, { large }), identify("old", "an-id-without-room"));
    await take(identify("old", undefined, { large: null }), alias("ann", "old"));
    expect((await stored("u:ann")).leftOut).toEqual({ traits: 0, ids: 1 });
  });
});

describe("memberships of two profiles", () => {
  const PRO = { kind: "trait", trait: "plan", is: "equals", value: "pro" } as const;
  const pro = { plan: "pro" };
  const free = { plan: "free" };
  const buyers = (atLeast: number, withinMs?: number) =>
    audience("buyers", {
      kind: "event",
      event: "Order",
      times: { atLeast },
      ...(withinMs === undefined ? {} : { withinMs }),
    });

  it.each([
    ["neither was in", free, {}, [], 0],
    ["only the other one was in, and the user is now", pro, {}, ["anonymous n1:true", "ann:true"], 1],
    ["only the other one was in, and the user is not", pro, free, ["anonymous n1:true", "ann:false"], 0],
    ["both were in", pro, pro, ["anonymous n1:true", "ann:true"], 1],
    ["only the user was in", free, pro, ["ann:true"], 1],
  ])("%s", async (_name, other, own, told, size) => {
    await world.define([audience("pros", PRO)]);
    await take(device("n1", other), identify("ann", undefined, own));
    await take(identify("ann", "n1"));
    expect(world.told("pros")).toEqual(told);
    expect(await sizeOf("pros")).toBe(size);
    const { items } = (await world.engine.members("pros", { limit: 10 })) ?? { items: [] };
    expect(items.map(({ userId }) => userId)).toEqual(size === 1 ? ["ann"] : []);
  });

  it("says that a user is out only if destinations do not know", async () => {
    await world.define([audience("pros", PRO)]);
    await take(identify("ann", undefined, pro), identify("ann", undefined, free));
    await take(device("n1", pro), identify("ann", "n1"));
    expect(world.told("pros")).toEqual(["ann:true", "ann:false", "anonymous n1:true"]);
  });

  it("says nothing of a user who left before", async () => {
    await world.define([audience("pros", PRO)]);
    await take(device("n1", pro), device("n1", free), identify("ann"), identify("ann", "n1"));
    expect(world.told("pros")).toEqual(["anonymous n1:true", "anonymous n1:false"]);
  });

  it("adds the events of both", async () => {
    await world.define([buyers(2)]);
    await take(orderOn("n1"), order("ann"), identify("ann", "n1"));
    expect(world.told("buyers")).toEqual(["ann:true"]);
  });

  it("leaves at the time at which the events of both have left the window", async () => {
    await world.define([buyers(1, 10_000)]);
    await take(order("ann"));
    await world.advance(4_000);
    await take(orderOn("n1"), identify("ann", "n1"));
    await world.advance(9_999);
    expect(world.told("buyers")).toEqual(["ann:true", "anonymous n1:true"]);
    await world.advance(1);
    expect(world.told("buyers").at(-1)).toBe("ann:false");
    expect(await sizeOf("buyers")).toBe(0);
  });

  it("waits for the next sync with what the user has become", async () => {
    await world.define([audience("pros", PRO, { sync: { initialDelayMs: 0, everyMs: 60_000 } })]);
    await take(device("n1", pro));
    await world.advance(60_000);
    await take(identify("ann", "n1"));
    expect(world.told("pros")).toEqual(["anonymous n1:true"]);
    await world.advance(60_000);
    expect(world.told("pros")).toEqual(["anonymous n1:true", "ann:true"]);
    expect(world.status).toMatchObject({ hasWork: false });
    expect(world.status.wakeAtMs).toBeUndefined();
  });

  it("holds nothing for the profile that is gone", async () => {
    await world.define([audience("pros", PRO, { sync: { initialDelayMs: 0, everyMs: 60_000 } })]);
    await world.advance(1);
    await take(device("n1", pro), identify("ann", undefined, free));
    await take(identify("ann", "n1"));
    expect(world.status.wakeAtMs).toBeUndefined();
    await world.advance(120_000);
    expect(world.told("pros")).toEqual([]);
    expect(world.status.hasWork).toBe(false);
  });

  it("keeps what audiences of a deleted definition knew out of it", async () => {
    await world.define([audience("pros", PRO)]);
    await take(device("n1", pro), identify("ann", undefined, free));
    await world.define([]);
    await take(identify("ann", "n1"));
    expect(world.told("pros")).toEqual(["anonymous n1:true"]);
  });
});

describe("computed traits of two profiles", () => {
  const prices = (enabled: boolean) => computedTrait("prices", "unique_list", { enabled });
  const leftOut = async () => (await world.engine.stats(world.nowMs))[0]?.status.leftOut;

  it("are sent once for the user when the definition is enabled", async () => {
    await world.define([prices(false)]);
    await take(orderOn("n1", 1), order("ann", 2), identify("ann", "n1"));
    expect(world.told("prices")).toEqual([]);
    await world.define([prices(true)]);
    for (let step = 0; step < 9 && (await world.workOnce()); step++);
    expect(world.told("prices")).toEqual(["ann:[1,2]"]);
    expect(world.status.hasWork).toBe(false);
  });

  it("hold nothing where only the profile that is gone had something to send", async () => {
    await world.define([prices(true)]);
    await take(order("ann", 1));
    await world.define([prices(false)]);
    await take(orderOn("n1", 1), identify("ann", "n1"));
    await world.define([prices(true)]);
    expect(world.status.hasWork).toBe(false);
    expect(world.told("prices")).toEqual(["ann:[1]"]);
  });

  it("count what is left out of them once", async () => {
    const tooLarge = (ids: object) => ({
      type: "track",
      event: "Order",
      properties: { price: "x".repeat(5_000) },
      ...ids,
    });
    await world.define([prices(true), audience("pros", { kind: "trait", trait: "plan", is: "exists" })]);
    await take(tooLarge({ anonymousId: "n1" }), tooLarge({ anonymousId: "n1" }), order("ann", 2));
    expect(await leftOut()).toEqual({ users: 1, events: 2 });
    await take(identify("ann", "n1"), tooLarge({ userId: "ann" }));
    expect(await leftOut()).toEqual({ users: 1, events: 3 });
  });
});

describe("a profile that is removed", () => {
  it("takes its ids, its place in the sizes, and what is not published yet with it", async () => {
    const pros = audience("pros", { kind: "trait", trait: "plan", is: "equals", value: "pro" });
    await world.define([pros]);
    world.appendOf("full", identify("ann", "n1", { plan: "pro" }), identify("bob", "n2", { plan: "pro" }));
    await world.engine.consume(world.after(world.status.cursor, 1), world.nowMs);
    expect(await sizeOf("pros")).toBe(2);
    expect(await store.pending(10)).toHaveLength(2);
    const [forgotten] = await world.engine.forget([removal("ann")], world.nowMs);
    expect(forgotten).toEqual({ profile: true, audienceMemberships: 1 });
    expect(await sizeOf("pros")).toBe(1);
    expect((await store.pending(10)).map(({ message }) => JSON.parse(message).userId)).toEqual(["bob"]);
    expect(await ownerOf("u:ann")).toBeUndefined();
    expect(await ownerOf("a:n1")).toBeUndefined();
    expect(await store.count()).toBe(1);
  });
});

describe("the ids of a message", () => {
  it.each<
    [name: string, message: UncheckedMessage, policy: IdentityPolicy | undefined, ids: readonly string[]]
  >([
    ["none", { type: "track" }, undefined, []],
    ["a user", order("ann"), undefined, ["u:ann"]],
    ["an anonymous one", orderOn("n1"), undefined, ["a:n1"]],
    ["an anonymous one beside an empty user id", { ...orderOn("n1"), userId: "" }, undefined, ["a:n1"]],
    [
      "an anonymous one beside a user id that is no text",
      { ...orderOn("n1"), userId: 7 },
      undefined,
      ["a:n1"],
    ],
    ["both", { ...order("ann"), anonymousId: "n1" }, undefined, ["u:ann", "a:n1"]],
    ["both, where only identify may join", { ...order("ann"), anonymousId: "n1" }, "anonymous", ["u:ann"]],
    ["an identify's, where only identify may join", identify("ann", "n1"), "anonymous", ["u:ann", "a:n1"]],
    ["an identify's, where nothing may join", identify("ann", "n1"), "none", ["u:ann", "a:n1"]],
    ["a user and an empty anonymous id", identify("ann", ""), undefined, ["u:ann"]],
    ["a user and an anonymous id that is no text", { ...order("ann"), anonymousId: 7 }, undefined, ["u:ann"]],
    ["an alias's", alias("ann", "old"), undefined, ["u:ann", "u:old", "a:old"]],
    ["all of an alias", alias("ann", "old", "n1"), "anonymous", ["u:ann", "a:n1", "u:old", "a:old"]],
    ["an alias with an empty previous id", alias("ann", ""), undefined, ["u:ann"]],
    ["an alias whose previous id is no text", { ...alias("ann", ""), previousId: 7 }, undefined, ["u:ann"]],
    [
      "an identify's, which has no previous id",
      { ...alias("ann", "old"), type: "identify" },
      "full",
      ["u:ann"],
    ],
    [
      "an alias of an anonymous one",
      { type: "alias", anonymousId: "n1", previousId: "old" },
      "full",
      ["a:n1"],
    ],
  ])("%s", (_name, message, policy, ids) => {
    const identification = identificationOf(message, policy);
    expect(identification === undefined ? [] : identitiesIn(identification)).toEqual(ids);
  });

  it.each([
    [{ kind: "server" }, "full"],
    [{ kind: "web" }, "anonymous"],
    [{ kind: "mobile" }, "anonymous"],
    [{ kind: "server", identity: "none" }, "none"],
    [{ kind: "web", identity: "full" }, "full"],
  ] as const)("a source %j may join: %s", (source, policy) => {
    expect(identityPolicyOf(source)).toBe(policy);
  });
});

describe("refused joins", () => {
  const ANN = { number: 1, isAnonymous: false };
  const BOB = { number: 2, isAnonymous: false };
  const OWNERS = new Map([
    ["u:ann", ANN],
    ["a:n1", ANN],
    ["u:alias", ANN],
    ["u:bob", BOB],
    ["a:n2", BOB],
    ["u:n1", BOB],
    ["a:n3", { number: 3, isAnonymous: true }],
  ]);

  type Row = [name: string, message: UncheckedMessage, policy: IdentityPolicy, refused: readonly string[]];
  it.each<Row>([
    ["nothing asked", identify("ann"), "full", []],
    ["an id that is joined", identify("ann", "n1"), "none", []],
    ["an id that nobody has", identify("ann", "n9"), "full", []],
    ["another user's anonymous id", identify("ann", "n2"), "full", ["anonymousId other"]],
    ["the same, by an event", { ...order("ann"), anonymousId: "n2" }, "full", []],
    ["an id of nobody, for which there was no room", identify("ann", "n3"), "full", ["anonymousId earlier"]],
    ["the same, by a public key", identify("ann", "n3"), "anonymous", ["anonymousId earlier"]],
    ["a source that joins none", identify("ann", "n2"), "none", ["anonymousId source"]],
    ["the same, of an id that nobody has", identify("ann", "n9"), "none", ["anonymousId source"]],
    ["a user without a profile", identify("eve", "n2"), "none", []],
    ["nobody", { type: "identify" }, "none", []],
    ["an alias that is joined", alias("ann", "alias"), "anonymous", []],
    ["an alias to another user", alias("ann", "bob"), "anonymous", ["previousId user"]],
    ["the same, for which there was no room", alias("ann", "bob"), "full", ["previousId earlier"]],
    ["an alias to a user whose anonymous id is joined", alias("ann", "n1"), "anonymous", ["previousId user"]],
    ["an alias to another's device", alias("ann", "n2"), "anonymous", ["previousId other"]],
    ["an alias to nobody's device, without room", alias("ann", "n3"), "full", ["previousId earlier"]],
    ["an alias to nobody", alias("ann", "n9"), "anonymous", []],
    ["an alias, where none may join", alias("ann", "bob"), "none", ["previousId source"]],
    [
      "both ids of an alias",
      alias("ann", "bob", "n2"),
      "anonymous",
      ["anonymousId other", "previousId user"],
    ],
  ])("%s", (_name, message, policy, refused) => {
    const found = refusedJoins(message, policy, (identity) => OWNERS.get(identity));
    expect(found.map(({ field, reason }) => `${field} ${reason}`)).toEqual(refused);
  });
});
