import { EngineWorld } from "@sluice/audiences/testing";
import type { Store } from "@sluice/event-log";
import {
  idDigest,
  memoryProfileStore,
  openMemoryStore,
  openSqliteStore,
  userIdentity,
} from "@sluice/event-log";
import { temporaryDirectories } from "@sluice/event-log/testing";
import type { UncheckedMessage } from "@sluice/protocol";
import { manualClock } from "@sluice/resilience/testing";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type DeletionDocument, STEPS } from "../../src/deletions/deletion.js";
import { type DeletionParts, emptyReceipt, runStep } from "../../src/deletions/run-step.js";
import { openSuppressions } from "../../src/documents/suppressions.js";

/** Few ids, with the same texts for both kinds, so that collisions are common. */
const IDS = ["a", "b", "c", "d"];
const SOURCES = { server: "full", web: "anonymous", kiosk: "none" } as const;

type Action =
  | { readonly do: "send"; readonly source: keyof typeof SOURCES; readonly message: UncheckedMessage }
  | { readonly do: "delete"; readonly userId: string; readonly includeAliases: boolean };

const id = fc.constantFrom(...IDS);
const message: fc.Arbitrary<UncheckedMessage> = fc.oneof(
  fc.record({
    type: fc.constantFrom("track", "identify"),
    userId: id,
    anonymousId: id,
    event: fc.constant("E"),
  }),
  fc.record({ type: fc.constant("track"), anonymousId: id, event: fc.constant("E") }),
  fc.record({ type: fc.constant("track"), userId: id, event: fc.constant("E") }),
  fc.record({ type: fc.constant("alias"), userId: id, previousId: id }),
);
const source = fc.constantFrom<keyof typeof SOURCES>("server", "web", "web", "kiosk");
const action: fc.Arbitrary<Action> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant("send" as const), source, message }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant("delete" as const), userId: id, includeAliases: fc.boolean() }),
  },
);

/** Runs the commands. Fails if a deletion removes too much or too little. */
async function run(actions: readonly Action[], store: Store): Promise<void> {
  const clock = manualClock();
  const digest = idDigest(new Uint8Array(32));
  const world = new EngineWorld(memoryProfileStore(), SOURCES);
  await world.define([]);
  const parts: DeletionParts = {
    store,
    clock,
    digest,
    suppressions: await openSuppressions({ store, clock, digest }),
    onPurged: async () => {},
    catalog: { get: () => undefined },
    profiles: {
      counted: () => world.consume(),
      identitiesOf: (identity, includeAliases) => world.engine.identitiesOf(identity, includeAliases),
      forget: (users) => world.engine.forget(users, world.nowMs),
      compact: async () => {},
    },
  };
  const stored = async (): Promise<UncheckedMessage[]> =>
    (await store.log.find({}, { limit: 1_000 })).items.map((item) => item.message);
  for (const [at, step] of actions.entries()) {
    if (step.do === "send") {
      const sent = { messageId: `m${at}`, ...step.message };
      const { userId, anonymousId, type } = step.message as Record<string, string>;
      await store.log.append({
        sourceId: step.source,
        receivedAtMs: clock.now(),
        body: Buffer.from(JSON.stringify({ batch: [sent] })),
        itemCount: 1,
        skipped: [],
        madeIds: [],
        keys: [
          {
            index: 0,
            messageId: sent.messageId,
            userId: userId ?? anonymousId ?? "",
            ...(userId === undefined ? { isAnonymous: true as const } : {}),
            type: type ?? "",
          },
        ],
      });
      world.appendOf(step.source, sent);
      continue;
    }
    const { userId, includeAliases } = step;
    await world.consume();
    const { aliases } = await parts.profiles.identitiesOf(userIdentity(userId), true);
    // Only an alias from a server source joins users.
    if (!actions.some((one) => one.do === "send" && one.source === "server" && one.message.type === "alias"))
      expect(aliases).toEqual([]);
    const mayGo = new Set([userId, ...(includeAliases ? aliases : [])]);
    const before = await stored();
    let deletion: DeletionDocument = {
      createdAt: "2026-11-21T09:30:00.000Z",
      suppress: false,
      includeAliases,
      status: "running",
      step: "suppress",
      users: [{ identity: userIdentity(userId), identities: [], aliases: [], sourceIds: [] }],
      receipt: emptyReceipt([userIdentity(userId)], digest),
    };
    for (const name of STEPS)
      if (name === "collect" || name === "purge" || name === "forget")
        deletion = { ...deletion, ...(await runStep(name, `d${at}`, deletion, parts)) };
    const after = await stored();
    const kept = new Set(after.map(({ messageId }) => messageId));
    for (const one of before)
      if (typeof one.userId === "string")
        expect([one, kept.has(one.messageId)]).toEqual([one, !mayGo.has(one.userId)]);
    expect((await world.engine.profile(userId))?.identities.userIds ?? []).not.toContain(userId);
  }
}

const numRuns = Number(process.env.SLUICE_PROPERTY_RUNS ?? 150);

const directory = temporaryDirectories();

describe("no deletion removes a message with another user id", () => {
  test("memory", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(action, { maxLength: 30 }), async (actions) => {
        const store = openMemoryStore({ clock: manualClock() });
        await run(actions, store);
        await store.close();
      }),
      { numRuns },
    );
  });

  test("SQLite", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(action, { minLength: 5, maxLength: 30 }), async (actions) => {
        const store = await openSqliteStore({ directory: directory(), clock: manualClock() });
        try {
          await run(actions, store);
        } finally {
          await store.close();
        }
      }),
      { numRuns: Math.ceil(numRuns / 30) },
    );
  });
});
