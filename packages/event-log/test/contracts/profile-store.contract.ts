import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { BEFORE_FIRST, type Offset } from "../../src/message/batch.js";
import type { ProfileStore } from "../../src/ports/profiles.js";

const SEEN = { firstSeenMs: 10, lastSeenMs: 20 };

/** The contract of every profile store. `reopen` closes it and opens it again on the same data. */
export function profileStoreContract(
  name: string,
  open: () => Promise<{
    readonly store: ProfileStore;
    reopen(): Promise<ProfileStore>;
    dispose(): Promise<void>;
  }>,
): void {
  describe(`${name} profile store`, () => {
    let opened: Awaited<ReturnType<typeof open>>;
    let store: ProfileStore;
    beforeEach(async () => {
      opened = await open();
      store = opened.store;
    });
    afterEach(() => opened.dispose());

    test("starts empty, before the first message", async () => {
      expect(await store.cursor()).toBe(BEFORE_FIRST);
      expect(await store.count()).toBe(0);
      expect(await store.documents()).toEqual(new Map());
      expect(await store.nextDueMs()).toBeUndefined();
      expect(await store.pending(10)).toEqual([]);
    });

    test("keeps everything in a commit across a restart", async () => {
      await store.commit({
        cursor: 41 as Offset,
        profiles: [
          { number: 1, firstSeenMs: 3, lastSeenMs: 4, body: '{"id":"u:é"}', dueMs: 500 },
          { number: 2, ...SEEN, body: "{}" },
        ],
        identities: [
          ["u:é", 1],
          ["a:x", 2],
        ],
        members: [["aud", 1, 77]],
        held: [["aud", 2, true]],
        pending: [{ seq: 9, profile: 1, destinationIds: ["d1", "d2"], message: '{"type":"identify"}' }],
        documents: [["numbers", "{}"]],
      });
      store = await opened.reopen();
      expect(await store.cursor()).toBe(41);
      expect(await store.load([1, 2, 3])).toEqual([
        { number: 1, firstSeenMs: 3, lastSeenMs: 4, body: '{"id":"u:é"}' },
        { number: 2, ...SEEN, body: "{}" },
      ]);
      expect(await store.resolve(["u:é", "a:x", "a:é"])).toEqual(
        new Map([
          ["u:é", 1],
          ["a:x", 2],
        ]),
      );
      expect((await store.members("aud", { limit: 5 })).items).toEqual([{ profile: 1, sinceMs: 77 }]);
      expect(await store.held("aud", 5)).toEqual([2]);
      expect(await store.pending(5)).toEqual([
        { seq: 9, profile: 1, destinationIds: ["d1", "d2"], message: '{"type":"identify"}' },
      ]);
      expect(await store.documents()).toEqual(new Map([["numbers", "{}"]]));
      expect(await store.count()).toBe(2);
    });

    test("replaces and removes only the entries in a later commit", async () => {
      await store.commit({
        cursor: 1 as Offset,
        profiles: [1, 2, 3].map((number) => ({
          number,
          ...SEEN,
          body: `{"n":${number}}`,
          dueMs: number * 10,
        })),
        identities: [1, 2, 3].map((number) => [`u:${number}`, number] as const),
        members: [1, 2, 3].map((number) => ["aud", number, number] as const),
        held: [1, 2].map((number) => ["aud", number, true] as const),
        documents: [
          ["a", "1"],
          ["b", "2"],
        ],
      });
      await store.commit({
        profiles: [{ number: 2, ...SEEN, body: '{"n":"two"}' }],
        removedProfiles: [1],
        identities: [
          ["u:1", undefined],
          ["u:3", 2],
        ],
        members: [
          ["aud", 1, undefined],
          ["aud", 2, 99],
        ],
        held: [["aud", 1, false]],
        documents: [
          ["a", undefined],
          ["b", "3"],
        ],
      });
      expect(await store.cursor()).toBe(1);
      const { records } = await store.scan(0, { profiles: 10, bytes: 1_000 });
      expect(records.map((profile) => profile.body)).toEqual(['{"n":"two"}', '{"n":3}']);
      expect(await store.resolve(["u:1", "u:2", "u:3"])).toEqual(
        new Map([
          ["u:2", 2],
          ["u:3", 2],
        ]),
      );
      expect((await store.members("aud", { limit: 9 })).items).toEqual([
        { profile: 2, sinceMs: 99 },
        { profile: 3, sinceMs: 3 },
      ]);
      expect(await store.held("aud", 9)).toEqual([2]);
      expect(await store.documents()).toEqual(new Map([["b", "3"]]));
      // Without a time, a profile is no longer due.
      expect(await store.due(1_000, 10)).toEqual([3]);
    });

    test("extends the times when profiles were seen, and changes nothing else", async () => {
      await store.commit({
        profiles: [1, 2, 3].map((number) => ({ number, ...SEEN, body: `{"n":${number}}`, dueMs: 5 })),
      });
      await store.commit({
        seen: [
          [1, 15, 99],
          [2, 4, 4],
          [9, 1, 1],
        ],
        profiles: [{ number: 3, firstSeenMs: 1, lastSeenMs: 21, body: "{}" }],
      });
      expect(await store.load([1, 2, 3, 9])).toEqual([
        { number: 1, firstSeenMs: 10, lastSeenMs: 99, body: '{"n":1}' },
        { number: 2, firstSeenMs: 4, lastSeenMs: 20, body: '{"n":2}' },
        { number: 3, firstSeenMs: 1, lastSeenMs: 21, body: "{}" },
      ]);
      expect(await store.due(5, 9)).toEqual([1, 2]);
    });

    test("returns due profiles, earliest first, until a commit changes them", async () => {
      await store.commit({
        profiles: [
          { number: 1, ...SEEN, body: "{}", dueMs: 30 },
          { number: 2, ...SEEN, body: "{}", dueMs: 10 },
          { number: 3, ...SEEN, body: "{}", dueMs: 20 },
          { number: 4, ...SEEN, body: "{}" },
        ],
      });
      expect(await store.nextDueMs()).toBe(10);
      expect(await store.due(9, 10)).toEqual([]);
      expect(await store.due(30, 2)).toEqual([2, 3]);
      expect(await store.due(30, 10)).toEqual([2, 3, 1]);
      await store.commit({ profiles: [{ number: 2, ...SEEN, body: "{}", dueMs: 40 }] });
      expect(await store.due(30, 10)).toEqual([3, 1]);
      expect(await store.nextDueMs()).toBe(20);
    });

    test("accepts a commit without changes, to sync earlier ones", async () => {
      await store.commit({ isSynced: true });
      expect(await store.cursor()).toBe(BEFORE_FIRST);
      await store.commit({ cursor: 7 as Offset });
      await store.commit({ isSynced: true });
      store = await opened.reopen();
      expect(await store.cursor()).toBe(7);
    });

    test("pages through members and profiles in order", async () => {
      const numbers = Array.from({ length: 7 }, (_, index) => index + 1);
      await store.commit({
        profiles: numbers.map((number) => ({ number, ...SEEN, body: `${number}` })),
        members: numbers.map((number) => ["aud", number, 0] as const),
      });
      const seen: number[] = [];
      for (let cursor: string | undefined, first = true; first || cursor !== undefined; first = false) {
        const page = await store.members("aud", { limit: 3, ...(cursor === undefined ? {} : { cursor }) });
        expect(page.items.length).toBeLessThanOrEqual(3);
        seen.push(...page.items.map((member) => member.profile));
        cursor = page.nextCursor;
      }
      expect(seen).toEqual(numbers);
      const scanned = async (after: number, profiles: number, bytes: number) => {
        const { records, isEnd } = await store.scan(after, { profiles, bytes });
        return { numbers: records.map((profile) => profile.number), isEnd };
      };
      expect(await scanned(2, 3, 1_000)).toEqual({ numbers: [3, 4, 5], isEnd: false });
      // At least one, and none after so many bytes; a body has one here.
      expect(await scanned(2, 3, 1)).toEqual({ numbers: [3], isEnd: false });
      expect(await scanned(2, 3, 2)).toEqual({ numbers: [3, 4], isEnd: false });
      expect(await scanned(4, 3, 1_000)).toEqual({ numbers: [5, 6, 7], isEnd: true });
      expect(await scanned(7, 3, 1_000)).toEqual({ numbers: [], isEnd: true });
      const newest = async (before: number, profiles: number, bytes = 1_000) => {
        const max = { profiles, bytes, isDescending: true };
        const { records, isEnd } = await store.scan(before, max);
        return { numbers: records.map((profile) => profile.number), isEnd };
      };
      expect(await newest(Number.MAX_SAFE_INTEGER, 2)).toEqual({ numbers: [7, 6], isEnd: false });
      expect(await newest(6, 2, 1)).toEqual({ numbers: [5], isEnd: false });
      expect((await newest(2, 9)).isEnd).toBe(true);
      expect((await store.members("other", { limit: 3 })).items).toEqual([]);
    });

    test("distinguishes ids that are equal in UTF-8", async () => {
      const ids = ["u:\ud800", "u:\ud801", "u:\ufffd", 'u:"\\ud800"'];
      await store.commit({ identities: ids.map((identity, number) => [identity, number]) });
      store = await opened.reopen();
      expect(await store.resolve(ids)).toEqual(new Map(ids.map((identity, number) => [identity, number])));
      await store.commit({ identities: [["u:\ud800", undefined]] });
      expect([...(await store.resolve(ids)).keys()]).toEqual(ids.slice(1));
    });

    test("refuses a cursor that it did not issue, and continues", async () => {
      await expect(store.members("aud", { limit: 1, cursor: "nonsense" })).rejects.toMatchObject({
        code: "invalid_request",
      });
      expect((await store.members("aud", { limit: 1 })).items).toEqual([]);
    });

    test("removes a definition's members and held profiles", async () => {
      await store.commit({
        members: [
          ["one", 1, 0],
          ["two", 1, 0],
        ],
        held: [
          ["one", 1, true],
          ["two", 1, true],
        ],
      });
      await store.commit({ removedDefinitions: ["one"] });
      expect((await store.members("one", { limit: 9 })).items).toEqual([]);
      expect(await store.held("one", 9)).toEqual([]);
      expect((await store.members("two", { limit: 9 })).items).toHaveLength(1);
      expect(await store.held("two", 9)).toEqual([1]);
    });

    test("keeps pending messages in order until they are published or withdrawn", async () => {
      const message = (seq: number, profile: number) => ({
        seq,
        profile,
        destinationIds: [],
        message: `${seq}`,
      });
      await store.commit({ pending: [message(3, 1), message(4, 2), message(5, 1), message(6, 3)] });
      expect((await store.pending(2)).map((one) => one.seq)).toEqual([3, 4]);
      await store.commit({ publishedUpTo: 3, pending: [message(7, 2)] });
      expect((await store.pending(9)).map((one) => one.seq)).toEqual([4, 5, 6, 7]);
      await store.commit({ withdrawn: [2] });
      expect((await store.pending(9)).map((one) => one.seq)).toEqual([5, 6]);
    });
  });
}
