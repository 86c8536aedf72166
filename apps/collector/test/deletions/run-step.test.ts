import type { Identity } from "@sluice/event-log";
import { idDigest, idOf, isUserIdentity, openMemoryStore } from "@sluice/event-log";
import { purgedIdentities } from "@sluice/event-log/testing";
import { manualClock } from "@sluice/resilience/testing";
import { expect, it, test } from "vitest";
import { deliveryNow } from "../../src/deletions/delete-messages.js";
import type { DeletionDocument } from "../../src/deletions/deletion.js";
import { type DeletionParts, emptyReceipt, runStep } from "../../src/deletions/run-step.js";
import { openSuppressions } from "../../src/documents/suppressions.js";

const JUST_ASKED = { identity: "u:u1" as const, identities: [], aliases: [], sourceIds: [] };
const digest = idDigest(new Uint8Array(32));
const noFigures = { profile: false, audienceMemberships: 0 };

const deletion = (users: DeletionDocument["users"], suppress = false): DeletionDocument => ({
  createdAt: "2026-11-21T09:30:00.000Z",
  suppress,
  status: "running",
  step: "suppress",
  ...(users === undefined ? {} : { users }),
  receipt: emptyReceipt(["u:u1"], digest),
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
      for (const identity of purgedIdentities(of)) if (isUserIdentity(identity)) onPurge(idOf(identity));
      return memory.purge(of);
    },
  };
  const suppressions = await openSuppressions({ store: memory, clock, digest });
  const parts: DeletionParts = {
    store,
    clock,
    suppressions,
    onPurged: async () => {},
    digest,
    catalog: { get: () => undefined },
    profiles: {
      counted: async () => {},
      identitiesOf: async (identity) => ({ identities: [identity], aliases: [], ...noFigures }),
      forget: async (users) => users.map(() => noFigures),
      compact: async () => {},
      ...profiles,
    },
  };
  return { parts, suppressions };
}

test("forgets a message that audiences read just before it was purged, under all of the user's ids", async () => {
  const known = new Set<string>(["u:u1"]);
  const { parts } = await open(
    {
      forget: async (users) =>
        users.map(({ identity }) => ({ profile: known.delete(identity), audienceMemberships: 0 })),
    },
    (userId) => known.add(`u:${userId}`),
  );
  const made = await runStep(
    "forget",
    "d1",
    deletion([{ identity: "u:u1", identities: ["u:u1", "u:old"], aliases: [], sourceIds: [] }]),
    parts,
  );
  expect([...known]).toEqual([]);
  expect(made?.receipt?.users[0]).toMatchObject({ profile: true });
});

/** Audiences that find out that `u1` was `old` only when they have caught up. */
function lagging() {
  let isCounted = false;
  return {
    counted: async () => {
      isCounted = true;
    },
    identitiesOf: async (identity: Identity) => ({
      identities: isCounted ? [identity, "a:old" as const] : [identity],
      aliases: [],
      ...noFigures,
    }),
  };
}

test("finds a user's other ids although audiences lag behind", async () => {
  const { parts } = await open(lagging());
  expect(await runStep("collect", "d1", deletion([JUST_ASKED]), parts)).toMatchObject({
    kind: "done",
    users: [{ ...JUST_ASKED, identities: ["u:u1", "a:old"] }],
    receipt: { users: [{ anonymousIds: 1 }] },
  });
});

test("suppresses a user before audiences have caught up, and the other ids afterwards", async () => {
  const profiles = lagging();
  const seen: boolean[] = [];
  const opened = await open({
    ...profiles,
    counted: async () => {
      seen.push(opened.suppressions.isSuppressed("u:u1"), opened.suppressions.isSuppressed("a:old"));
      await profiles.counted();
    },
  });
  await runStep("suppress", "d1", deletion([JUST_ASKED], true), opened.parts);
  expect(seen).toEqual([true, false]);
  expect(opened.suppressions.isSuppressed("a:old")).toBe(true);
});

it.each<[string, boolean, Parameters<typeof deliveryNow>[2], ReturnType<typeof deliveryNow>]>([
  ["was not read yet", true, undefined, { destinationId: "d", state: "pending", attempts: 0 }],
  [
    "waits for its first attempt",
    true,
    { state: "pending", reason: "replay", rounds: 0 },
    { destinationId: "d", state: "pending", attempts: 0 },
  ],
  [
    "waits for a retry",
    true,
    { state: "pending", reason: "HTTP 503", rounds: 2 },
    { destinationId: "d", state: "pending", attempts: 2, error: "HTTP 503" },
  ],
  [
    "was delivered",
    true,
    { state: "delivered", reason: "HTTP 200", rounds: 3 },
    { destinationId: "d", state: "sent", attempts: 3 },
  ],
  [
    "was delivered, and its destination deleted",
    false,
    { state: "delivered", reason: "HTTP 200", rounds: 1 },
    { destinationId: "d", state: "sent", attempts: 1 },
  ],
  [
    "was given up",
    true,
    { state: "failed", reason: "HTTP 401", rounds: 1 },
    { destinationId: "d", state: "failed", attempts: 1, error: "HTTP 401" },
  ],
  [
    "was skipped, because the destination was disabled",
    true,
    { state: "skipped", reason: "the destination is disabled", rounds: 0 },
    { destinationId: "d", state: "failed", attempts: 0, error: "the destination is disabled" },
  ],
  [
    "was filtered",
    true,
    { state: "filtered", reason: "rule 1", rounds: 0 },
    { destinationId: "d", state: "not_sent", attempts: 0, error: "rule 1" },
  ],
  [
    "lost its destination",
    false,
    { state: "pending", reason: "HTTP 503", rounds: 2 },
    { destinationId: "d", state: "not_sent", attempts: 2, error: "the destination was deleted before" },
  ],
])("a delete message that %s", (_what, exists, outcome, delivery) => {
  expect(deliveryNow("d", exists, outcome)).toEqual(delivery);
});
