import { memoryProfileStore, type ProfileCommit } from "@sluice/event-log";
import { expect, test } from "vitest";
import { EngineWorld } from "./engine-world.js";

/** A power cut loses commits that are not synced. A deletion that goes on after it does not forget again. */
test("a forgotten user is gone from the disk when forget() resolves", async () => {
  const inner = memoryProfileStore();
  const commits: ProfileCommit[] = [];
  const world = new EngineWorld({
    ...inner,
    commit: (change) => {
      commits.push(change);
      return inner.commit(change);
    },
  });
  await world.define([]);
  world.append({ type: "identify", userId: "ann", traits: { plan: "pro" } });
  await world.consume();
  const identity = "u:ann";
  const [forgotten] = await world.engine.forget([{ identity, identities: [identity] }], world.nowMs);
  expect(forgotten).toMatchObject({ profile: true });
  const removed = commits.findIndex(({ removedProfiles = [] }) => removedProfiles.length > 0);
  expect(removed).toBeGreaterThanOrEqual(0);
  expect(commits.slice(removed).some(({ isSynced }) => isSynced === true)).toBe(true);
});

/** Many small objects take more than twenty times their text in memory: a unit of work has room for few such users. */
const LARGE = Array(60_000).fill([]);

test("users are forgotten all, however large they are", async () => {
  const world = new EngineWorld(memoryProfileStore());
  await world.define([]);
  const users = Array.from({ length: 12 }, (_, number) => `user-${number}`);
  for (const userId of users) {
    world.append({ type: "identify", userId, traits: { large: LARGE } });
    await world.consume();
  }
  const asked = users.map((userId) => `u:${userId}` as const);
  const forgotten = await world.engine.forget(
    asked.map((identity) => ({ identity, identities: [identity] })),
    world.nowMs,
  );
  expect(forgotten.map(({ profile }) => profile)).toEqual(users.map(() => true));
  for (const userId of users) expect(await world.engine.profile(userId)).toBeUndefined();
});
