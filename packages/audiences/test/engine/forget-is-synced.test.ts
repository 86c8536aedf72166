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
