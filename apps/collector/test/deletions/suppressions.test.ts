import { createHmac } from "node:crypto";
import {
  idDigest,
  type MemoryStore,
  openMemoryStore,
  SUPPRESSION,
  type SuppressionDocument,
} from "@sluice/event-log";
import { manualClock } from "@sluice/resilience/testing";
import { beforeEach, describe, expect, test } from "vitest";
import { openSuppressions } from "../../src/documents/suppressions.js";

const KEY = new Uint8Array(32).fill(7);
const clock = manualClock();
let store: MemoryStore;
beforeEach(() => {
  store = openMemoryStore({ clock });
});
const open = (key = KEY) => openSuppressions({ store, clock, digest: idDigest(key) });

test("digests are HMAC-SHA-256", () => {
  const digest = idDigest(KEY);
  for (const identity of ["u:ann", "a:\u00e9\u65e5\u672c", `u:${"x".repeat(5_000)}`] as const)
    expect(digest.of(identity)).toBe(createHmac("sha256", KEY).update(identity).digest("hex"));
});

test("suppressions from another key are counted, and can be lifted by their digest", async () => {
  await (await open()).suppress("u:ann", []);
  const other = await open(new Uint8Array(32).fill(8));
  expect(other.isSuppressed("u:ann")).toBe(false);
  expect(other.unrecognized()).toBe(1);
  const [one] = other.list();
  expect(await other.lift({ idHmac: one?.idHmac ?? "" })).toBe(true);
  expect(other.unrecognized()).toBe(0);
});

test("an id that was suppressed as joined and then on its own stays suppressed when the other is lifted", async () => {
  const suppressions = await open();
  await suppressions.suppress("u:new", ["u:old", "a:phone"]);
  await suppressions.suppress("u:old", []);
  expect(await suppressions.lift("u:new")).toBe(true);
  expect(suppressions.isSuppressed("a:phone")).toBe(false);
  expect(suppressions.isSuppressed("u:old")).toBe(true);
});

describe("a change to suppressions", () => {
  test("does not read other suppressions", async () => {
    await (await open()).suppress("u:ann", ["a:phone"]);
    let read = 0;
    const list = async () =>
      (await store.config.list<SuppressionDocument>(SUPPRESSION)).map((document) => ({
        ...document,
        value: new Proxy(document.value, {
          get: (value, name) => {
            read += 1;
            return Reflect.get(value, name);
          },
        }),
      }));
    const config = new Proxy(store.config, {
      get: (target, name) => (name === "list" ? list : Reflect.get(target, name)),
    });
    const suppressions = await openSuppressions({
      store: { log: store.log, config },
      clock,
      digest: idDigest(KEY),
    });
    read = 0;
    await suppressions.suppress("u:bob", ["a:tablet"]);
    expect(read).toBe(0);
    expect(suppressions.isSuppressed("a:tablet")).toBe(true);
    expect(suppressions.isSuppressed("a:phone")).toBe(true);
  });

  test("writes all ids of a user atomically", async () => {
    const suppressions = await open();
    const isHeld: boolean[] = [];
    store.config.watch(async () => {
      const documents = await store.config.list(SUPPRESSION);
      isHeld.push(documents.length === 3);
    });
    await suppressions.suppress("u:ann", ["a:phone", "a:laptop"]);
    expect(isHeld).toEqual([true, true, true]);
    store.breakDown("the disk is full");
    await expect(suppressions.lift("u:ann")).rejects.toThrow("the disk is full");
    store.repair();
    expect(await suppressions.lift("u:ann")).toBe(true);
    expect(suppressions.list()).toEqual([]);
  });
});

describe("a second change while the first is under way", () => {
  test("of a suppression that is read at the start is not overwritten by what was read before", async () => {
    await (await open()).suppress("u:ann", []);
    const read = Promise.withResolvers<void>();
    const config = new Proxy(store.config, {
      get: (target, name) =>
        name === "list"
          ? async (kind: string) => {
              const found = await target.list(kind);
              await read.promise;
              return found;
            }
          : Reflect.get(target, name),
    });
    const other = await open();
    const opening = openSuppressions({
      store: { log: store.log, config },
      clock,
      digest: idDigest(KEY),
    });
    await clock.advance(0);
    await other.lift("u:ann");
    read.resolve();
    const suppressions = await opening;
    expect(suppressions.isSuppressed("u:ann")).toBe(false);
    expect(suppressions.list()).toEqual([]);
  });

  test("of an id begins with what the first has stored", async () => {
    const suppressions = await open();
    await Promise.all([suppressions.suppress("u:ann", []), suppressions.lift("u:ann")]);
    expect(suppressions.isSuppressed("u:ann")).toBe(false);
    await Promise.all([suppressions.suppress("u:ann", []), suppressions.suppress("u:ann", [])]);
    const [document] = await store.config.list<SuppressionDocument>(SUPPRESSION);
    expect(document?.value.spans).toHaveLength(2);
    expect(document?.version).toBe(3);
  });
});
