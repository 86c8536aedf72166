import { rmSync } from "node:fs";
import { systemClock } from "@sluice/resilience";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { memoryProfileStore } from "../../src/memory/profiles.js";
import type { Offset } from "../../src/message/batch.js";
import type { Page, PageRequest } from "../../src/ports/documents.js";
import type { ProfileCommit, ProfileStore } from "../../src/ports/profiles.js";
import { openSqliteProfileStore } from "../../src/sqlite/profiles/profiles.js";
import { temporaryDirectories } from "../temporary-directory.js";
import { type Engines, memoryEngines, openChangingOwners } from "./changing-owners.js";

const temporaryDirectory = temporaryDirectories();

/** A store that is open, on data of its own. */
interface Opened {
  readonly store: ProfileStore;
  /** Closes the store and opens it again on the same data. */
  reopen(): Promise<ProfileStore>;
  close(): Promise<void>;
}

type OpenOn = (directory: string) => Promise<Opened>;

const inMemory: OpenOn = async () => {
  const store = memoryProfileStore();
  return { store, reopen: async () => store, close: () => store.close() };
};

/** Each is compared with the store in memory, in a share of the histories. A new store is a line here. */
const STORES: readonly (readonly [name: string, open: OpenOn, share: number])[] = [
  ["sqlite", inSqlite, 1],
  ["replicated", replicatedOver(memoryEngines), 0.1],
];

async function inSqlite(directory: string): Promise<Opened> {
  let store = openSqliteProfileStore({ directory });
  return {
    store,
    async reopen() {
      await store.close();
      store = openSqliteProfileStore({ directory });
      return store;
    },
    close: () => store.close(),
  };
}

/** Instead of opening the store again, another process becomes its owner. */
function replicatedOver(newEngines: () => Promise<Engines>): OpenOn {
  return async (directory) => {
    const owners = await openChangingOwners(directory, systemClock, await newEngines());
    let term = 1;
    return {
      store: (await owners.next("hand over")).profiles,
      async reopen() {
        term += 1;
        return (await owners.next(term % 2 === 0 ? "take over" : "hand over")).profiles;
      },
      close: () => owners.close(),
    };
  };
}

const NUMBERS = [1, 2, 3, 4];
const IDENTITIES = ["u:ann", "a:ann", "u:é", "u:a\0b", "a:n1"];
const DEFINITIONS = ["aud_1", "aud_2"];

const number = fc.constantFrom(...NUMBERS);
const timeMs = fc.nat({ max: 100 });
const commit: fc.Arbitrary<ProfileCommit> = fc.record(
  {
    cursor: fc.nat({ max: 50 }).map((offset) => offset as Offset),
    profiles: unique(
      fc.record(
        { number, firstSeenMs: timeMs, lastSeenMs: timeMs, body: fc.json(), dueMs: timeMs },
        { requiredKeys: ["number", "firstSeenMs", "lastSeenMs", "body"] },
      ),
      (one) => one.number,
    ),
    seen: unique(fc.tuple(number, timeMs, timeMs), ([profile]) => profile),
    removedProfiles: fc.subarray(NUMBERS, { maxLength: 2 }),
    identities: unique(
      fc.tuple(fc.constantFrom(...IDENTITIES), fc.option(number, { nil: undefined })),
      ([identity]) => identity,
    ),
    members: unique(
      fc.tuple(fc.constantFrom(...DEFINITIONS), number, fc.option(timeMs, { nil: undefined })),
      ([definition, profile]) => `${definition} ${profile}`,
    ),
    held: unique(
      fc.tuple(fc.constantFrom(...DEFINITIONS), number, fc.boolean()),
      ([definition, profile]) => `${definition} ${profile}`,
    ),
    documents: unique(
      fc.tuple(fc.constantFrom("a", "é"), fc.option(fc.json(), { nil: undefined })),
      ([name]) => name,
    ),
    withdrawn: fc.subarray(NUMBERS, { maxLength: 1 }),
  },
  { requiredKeys: [] },
);

function unique<T>(values: fc.Arbitrary<T>, selector: (value: T) => unknown): fc.Arbitrary<T[]> {
  return fc.uniqueArray(values, { selector, maxLength: 4 });
}

type Step = {
  readonly change: ProfileCommit;
  readonly messages: readonly number[];
  readonly isPublished: boolean;
};
const step: fc.Arbitrary<Step | "restart"> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      change: commit,
      messages: fc.array(number, { maxLength: 2 }),
      isPublished: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.constant("restart" as const) },
);

async function answersOf(steps: readonly (Step | "restart")[], opened: Opened): Promise<unknown[]> {
  let { store } = opened;
  const answers: unknown[] = [];
  let seq = 0;
  try {
    for (const one of steps) {
      if (one === "restart") {
        store = await opened.reopen();
        continue;
      }
      const { change, messages, isPublished } = one;
      const pending = messages.map((profile) => {
        seq += 1;
        return { seq, profile, destinationIds: [`dst_${profile}`], message: `{"n":${seq}}` };
      });
      await store.commit({ ...change, pending, ...(isPublished ? { publishedUpTo: seq - 1 } : {}) });
      answers.push(await everything(store));
    }
    return answers;
  } finally {
    await opened.close();
  }
}

async function everything(store: ProfileStore): Promise<unknown> {
  return {
    cursor: await store.cursor(),
    documents: [...(await store.documents())].sort(),
    resolved: [...(await store.resolve(IDENTITIES))].sort(),
    profiles: [...(await store.load(NUMBERS))].sort((a, b) => a.number - b.number),
    up: await store.scan(-1, { profiles: 3, bytes: 1_000_000 }),
    down: await store.scan(5, { profiles: 2, bytes: 1_000_000, isDescending: true }),
    count: await store.count(),
    due: await store.due(50, 3),
    nextDueMs: await store.nextDueMs(),
    members: await Promise.all(DEFINITIONS.map((id) => pages((page) => store.members(id, page)))),
    held: await Promise.all(DEFINITIONS.map((id) => store.held(id, 10))),
    pending: await store.pending(10),
  };
}

async function pages<T>(read: (page: PageRequest) => Promise<Page<T>>): Promise<T[]> {
  const items: T[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await read({ limit: 2, ...(cursor === undefined ? {} : { cursor }) });
    items.push(...page.items);
    cursor = page.nextCursor;
    if (cursor === undefined) return items;
  }
}

const RUNS = 10 * Number(process.env.SLUICE_DIFFERENTIAL_RUNS ?? 4);
const SEED = Number(process.env.SLUICE_FUZZ_SEED ?? 1);

describe.each(STORES)(
  "the %s profile store gives the answers of the store in memory",
  (_name, open, share) => {
    it("to any history of commits", { timeout: 0 }, async () => {
      const property = fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), async (steps) => {
        const directory = temporaryDirectory();
        expect(await answersOf(steps, await open(directory))).toEqual(
          await answersOf(steps, await inMemory(directory)),
        );
        rmSync(directory, { recursive: true, force: true });
      });
      await fc.assert(property, { numRuns: Math.ceil(RUNS * share), seed: SEED });
    });
  },
);
