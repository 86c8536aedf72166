import { manualClock } from "@sluice/resilience/testing";
import { expect, test } from "vitest";
import type { DeletionDocument } from "../../src/deletions/deletion.js";
import { type DeletionParts, emptyReceipt, makeStep } from "../../src/deletions/make-step.js";
import { openMemoryStore } from "../../src/store/memory/open-memory-store.js";
import { openSuppressions } from "../../src/store/suppressions.js";

const deletion = (users: DeletionDocument["users"], suppress = false): DeletionDocument => ({
  createdAt: "2026-11-21T09:30:00.000Z",
  suppress,
  status: "running",
  step: "suppress",
  ...(users === undefined ? {} : { users }),
  receipt: emptyReceipt(["u1"]),
});

async function open(
  profiles: Partial<DeletionParts["profiles"]>,
  onPurge: (userId: string) => void = () => {},
) {
  const clock = manualClock();
  const memory = openMemoryStore({ clock });
  const store = {
    log: memory.log,
    config: memory.config,
    consumers: memory.consumers,
    compact: () => memory.compact(),
    purge: (of: Parameters<typeof memory.purge>[0]) => {
      if ("userId" in of) onPurge(of.userId);
      return memory.purge(of);
    },
  };
  const suppressions = await openSuppressions({ store: memory, clock });
  const parts: DeletionParts = {
    store,
    clock,
    suppressions,
    builtInSourceIds: [],
    profiles: {
      counted: async () => {},
      identitiesOf: async (userId) => ({ ids: [userId], shared: [] }),
      forget: async (ids) => ids.map(() => ({ profile: false, audienceMemberships: 0 })),
      compact: async () => {},
      ...profiles,
    },
  };
  return { parts, suppressions };
}

test("what audiences read of a message just before it is purged is forgotten too, under all of the user's ids", async () => {
  const known = new Set(["u1"]);
  const { parts } = await open(
    {
      forget: async (ids) => ids.map((id) => ({ profile: known.delete(id), audienceMemberships: 0 })),
    },
    (userId) => known.add(userId),
  );
  const made = await makeStep(
    "forget",
    "d1",
    deletion([{ userId: "u1", ids: ["u1", "old"], sourceIds: [] }]),
    parts,
  );
  expect([...known]).toEqual([]);
  expect(made?.receipt?.users[0]).toMatchObject({ profile: true });
});

/** Audiences that learn by what they had not counted that `u1` was `old`. */
function lagging() {
  let isCounted = false;
  return {
    counted: async () => {
      isCounted = true;
    },
    identitiesOf: async (userId: string) => ({ ids: isCounted ? [userId, "old"] : [userId], shared: [] }),
  };
}

test("a user's other ids are known though audiences lag", async () => {
  const { parts } = await open(lagging());
  const made = await makeStep("collect", "d1", deletion([{ userId: "u1", ids: [], sourceIds: [] }]), parts);
  expect(made?.users).toEqual([{ userId: "u1", ids: ["u1", "old"], sourceIds: [] }]);
});

test("a user is suppressed before audiences have caught up, and under the other ids afterwards", async () => {
  const profiles = lagging();
  const seen: boolean[] = [];
  const opened = await open({
    ...profiles,
    counted: async () => {
      seen.push(opened.suppressions.isSuppressed("u1"), opened.suppressions.isSuppressed("old"));
      await profiles.counted();
    },
  });
  await makeStep("suppress", "d1", deletion([{ userId: "u1", ids: [], sourceIds: [] }], true), opened.parts);
  expect(seen).toEqual([true, false]);
  expect(opened.suppressions.isSuppressed("old")).toBe(true);
});
