import { memoryProfileStore, type ProfileCommit, type ProfileStore } from "@sluice/event-log";
import { beforeEach, describe, expect, it } from "vitest";
import { BoundedMap } from "../../src/profiles/bounded-map.js";
import type { ProfileCache } from "../../src/profiles/fetched-profiles.js";
import { encodeProfile, newProfile, type Profile } from "../../src/profiles/profile.js";
import { UnitOfWork } from "../../src/profiles/unit-of-work.js";

const ANN = 1;
const BOB = 2;

let inner: ProfileStore;
let cache: ProfileCache;
let commits: ProfileCommit[];

/** Answers in a later turn, as a file does. */
async function later<Result>(answer: Promise<Result>): Promise<Result> {
  await new Promise((resolve) => setImmediate(resolve));
  return answer;
}

function newUnit(): UnitOfWork {
  const store: ProfileStore = {
    ...inner,
    resolve: (identities) => later(inner.resolve(identities)),
    load: (numbers) => later(inner.load(numbers)),
    commit: (change) => {
      commits.push(change);
      return later(inner.commit(change));
    },
  };
  const numbers = { nonce: "test", nextProfile: 3, nextSeq: 1, nextAspect: 1 };
  return new UnitOfWork(store, cache, numbers, 100);
}

async function fetched(): Promise<{ unit: UnitOfWork; ann: Profile; bob: Profile }> {
  const unit = newUnit();
  await unit.fetch(["u:ann", "u:bob"]);
  const [ann, bob] = [unit.get(ANN), unit.get(BOB)];
  if (ann === undefined || bob === undefined) throw new Error("they are not fetched");
  return { unit, ann, bob };
}

/** What the next unit sees. */
async function storedNow(number: number): Promise<{ firstSeenMs: number; lastSeenMs: number } | undefined> {
  const [record] = await inner.load([number]);
  return record && { firstSeenMs: record.firstSeenMs, lastSeenMs: record.lastSeenMs };
}

beforeEach(async () => {
  inner = memoryProfileStore();
  commits = [];
  cache = {
    profiles: new BoundedMap({ entries: 100, bytes: 1e6 }),
    identities: new BoundedMap({ entries: 100, bytes: 1e6 }),
  };
  const record = (number: number, id: string) => {
    const body = encodeProfile(newProfile(number, id, 50));
    return { number, firstSeenMs: 50, lastSeenMs: 50, body };
  };
  await inner.commit({
    profiles: [record(ANN, "u:ann"), record(BOB, "u:bob")],
    identities: [
      ["u:ann", ANN],
      ["u:bob", BOB],
      ["u:", BOB],
    ],
  });
});

describe("the second change of a unit of work", () => {
  it.each<[name: string, change: (unit: UnitOfWork) => Promise<void> | void]>([
    [
      "seen, then changed",
      (unit) => {
        unit.see(ANN, 90);
        unit.see(ANN, 20);
        touchAnn(unit);
      },
    ],
    [
      "changed, then seen",
      (unit) => {
        touchAnn(unit);
        unit.see(ANN, 90);
        unit.see(ANN, 20);
      },
    ],
    [
      "seen twice",
      (unit) => {
        unit.see(ANN, 20);
        unit.see(ANN, 90);
      },
    ],
  ])("%s: its times are those of all its messages", async (_name, change) => {
    const { unit } = await fetched();
    await change(unit);
    await unit.commit();
    expect(await storedNow(ANN)).toEqual({ firstSeenMs: 20, lastSeenMs: 90 });
  });

  it("a profile that was seen before it is fetched keeps the time when it is changed", async () => {
    const unit = newUnit();
    unit.see(ANN, 90);
    await unit.fetch(["u:ann"]);
    touchAnn(unit);
    await unit.commit();
    expect(await storedNow(ANN)).toEqual({ firstSeenMs: 50, lastSeenMs: 90 });
  });

  it("a profile that is removed stays removed, whatever is done with it afterwards", async () => {
    const { unit, ann } = await fetched();
    unit.remove(ann);
    unit.touch(ann);
    unit.see(ANN, 90);
    await unit.fetchNumbers([ANN]);
    expect(unit.get(ANN)).toBeUndefined();
    await unit.commit();
    expect(await storedNow(ANN)).toBeUndefined();
    expect(cache.profiles.get(ANN)).toBeUndefined();
  });

  it.each<[name: string, from: "store" | "cache", number: number | undefined]>([
    ["moved to another profile", "store", BOB],
    ["moved to another profile", "cache", BOB],
    ["taken from all", "store", undefined],
    ["taken from all", "cache", undefined],
  ])("an id that was %s is not what the %s says of it", async (_name, from, number) => {
    if (from === "cache") cache.identities.set("u:ann", ANN, 1);
    const unit = newUnit();
    await unit.resolve(["u:ann"]);
    unit.point("u:ann", number);
    await unit.resolve(["u:ann", "u:bob"]);
    expect(unit.numberOf("u:ann")).toBe(number);
    await unit.commit();
    expect(cache.identities.get("u:ann")).toBe(number);
    expect((await inner.resolve(["u:ann"])).get("u:ann")).toBe(number);
  });

  it("an id that was moved while the store looked for it stays where it was moved to", async () => {
    const unit = newUnit();
    const answer = unit.resolve(["u:ann"]);
    unit.point("u:ann", BOB);
    await answer;
    expect(unit.numberOf("u:ann")).toBe(BOB);
  });

  it("the last of several changes of a member, of what is held, and of a document counts", async () => {
    const { unit, ann } = await fetched();
    unit.setMember("pros", ann, 10);
    unit.setMember("pros", ann, undefined);
    unit.setMember("pros", ann, 30);
    unit.setHeld("pros", ann, true);
    unit.setHeld("pros", ann, false);
    unit.putDocument("one", 1);
    unit.putDocument("one", undefined);
    await unit.commit();
    expect(commits[0]).toMatchObject({
      members: [["pros", ANN, 30]],
      held: [["pros", ANN, false]],
      documents: [["one", undefined]],
    });
  });

  it("a profile that is removed leaves its audiences and what is held for it", async () => {
    const { unit, ann } = await fetched();
    const membership = { isIn: true, sinceMs: 1, published: true, publishedSeq: 1 };
    ann.memberships.set("pros", membership);
    ann.computed.set("orders", { value: 1, leftOut: 0, publishedSeq: 0 });
    unit.setMember("pros", ann, 10);
    unit.setHeld("orders", ann, true);
    unit.remove(ann);
    await unit.commit();
    expect(commits[0]?.members).toEqual([["pros", ANN, undefined]]);
    expect(commits[0]?.held).toEqual(
      expect.arrayContaining([
        ["pros", ANN, false],
        ["orders", ANN, false],
      ]),
    );
  });
});

describe("the empty text", () => {
  it("is an id like any other", async () => {
    const unit = newUnit();
    await unit.fetch(["u:"]);
    expect(unit.find("u:")?.number).toBe(BOB);
    const made = unit.create("a:", 60);
    expect(unit.find("a:")).toBe(made);
    expect(unit.find("u:")?.number).toBe(BOB);
  });

  it("is the name of a document like any other", async () => {
    const unit = newUnit();
    unit.putDocument("", "");
    await unit.commit();
    expect((await inner.documents()).get("")).toBe('""');
  });
});

describe("what was committed", () => {
  it("is what the next unit sees, without the store", async () => {
    const { unit } = await fetched();
    unit.create("u:cleo", 60);
    await unit.commit();
    inner = { ...inner, load: () => Promise.reject(new Error("not from the cache")) };
    const next = newUnit();
    await next.fetch(["u:ann", "u:cleo"]);
    expect(next.find("u:ann")?.id).toBe("u:ann");
    expect(next.find("u:cleo")?.number).toBe(3);
  });

  it("holds no numbers, cursor or definitions that did not change", async () => {
    const { unit } = await fetched();
    await unit.commit();
    expect(commits[0]).not.toHaveProperty("cursor");
    expect(commits[0]).not.toHaveProperty("publishedUpTo");
    expect(commits[0]).toMatchObject({ profiles: [], seen: [], documents: [], removedDefinitions: [] });
  });

  it("of a definition that is put and then removed is its removal", async () => {
    const unit = newUnit();
    const state = { definition: { id: "pros" } } as never;
    unit.putState(state);
    unit.removeDefinition("pros");
    await unit.commit();
    expect(commits[0]).toMatchObject({
      removedDefinitions: ["pros"],
      documents: [["definition:pros", undefined]],
    });
  });
});

function touchAnn(unit: UnitOfWork): void {
  const ann = unit.get(ANN);
  if (ann !== undefined) unit.touch(ann);
}
