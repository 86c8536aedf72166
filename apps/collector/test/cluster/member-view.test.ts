import { expect, test } from "vitest";
import type { Member } from "../../src/cluster/membership/member.js";
import { memberView } from "../../src/cluster/state/cluster-health.js";

const HEARTBEAT_MS = 2_000;

function member(role: Member["role"], silentMs: number): Member {
  return {
    ...{ node: "c", instance: "c1", address: "http://c", version: "1", startedAtMs: 0, revision: 1, role },
    ...{ isReady: true, applied: 1, behindEntries: 0, behindMs: 0, isDrained: false },
    ...{ silentMs, missedBeats: Math.floor(silentMs / HEARTBEAT_MS) },
    isAlive: silentMs <= 4 * HEARTBEAT_MS,
  };
}

type Holder = NonNullable<Parameters<typeof memberView>[1]>;
const lease = (instance: string, phase: Holder["phase"]): Holder => ({ instance, phase });

test.each([
  ["an owner", member("leading", 500), lease("c1", "leading"), "owner", true],
  ["an owner that says so late", member("starting", 500), lease("c1", "leading"), "owner", true],
  ["a follower", member("following", 500), lease("a1", "leading"), "follower", true],
  ["a follower while there is no owner", member("following", 500), undefined, "follower", true],
  ["one that hands over", member("ending", 500), lease("c1", "ending"), "ending", true],
  ["one that has handed over", member("leading", 20), lease("a1", "starting"), "follower", true],
  ["a killed owner before the takeover", member("leading", 2_500), lease("c1", "leading"), "owner", true],
  ["a killed owner after it", member("leading", 3_000), lease("a1", "leading"), "follower", false],
  ["a killed owner of the same name", member("following", 10), lease("c0", "leading"), "follower", true],
  ["a killed follower", member("following", 5_900), lease("a1", "leading"), "follower", true],
  ["a killed follower later", member("following", 6_000), lease("a1", "leading"), "follower", false],
] as const)("a process is shown by what the lease says: %s", (_, facts, owner, role, isAlive) => {
  expect(memberView(facts, owner)).toMatchObject({ role, isAlive, heardMsAgo: facts.silentMs });
});
