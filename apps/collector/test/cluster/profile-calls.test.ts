import { manualClock } from "@sluice/resilience/testing";
import { describe, expect, test } from "vitest";
import { profileCalls } from "../../src/cluster/audiences/profile-calls.js";
import {
  type AskedAudiences,
  PROFILES_PATH,
  type ProfileQuestion,
  profileRoute,
} from "../../src/cluster/audiences/profile-routes.js";
import type { Front } from "../../src/cluster/front/front.js";
import type { AskedAnswer, AskedRequest, OwnerConnection } from "../../src/cluster/front/owner-connection.js";
import type { HttpRequest } from "../../src/http/routing/route.js";

const LOST: AskedAnswer = { kind: "lost", reason: "ECONNRESET" };
const answered = (answer: unknown, status = 200): AskedAnswer => ({
  ...{ kind: "answered", status, headers: {} },
  body: Buffer.from(JSON.stringify({ answer })),
});

/** The calls of partition 2's owner, over connections that answer what the test says, one after another. */
function callsOver(answers: (AskedAnswer | "no owner")[], stop = new AbortController()) {
  const clock = manualClock();
  const asked: { readonly partition: number; readonly question: ProfileQuestion }[] = [];
  const connection = {
    address: "http://owner",
    async ask({ path, body }: AskedRequest) {
      expect(path).toBe(PROFILES_PATH);
      asked.push(JSON.parse(Buffer.from(body ?? []).toString()));
      return (answers.shift() ?? LOST) as AskedAnswer;
    },
  } as unknown as OwnerConnection;
  const front = {
    target() {
      if (answers[0] !== "no owner") return { kind: "owner", connection };
      answers.shift();
      return { kind: "none" };
    },
    async change(ms: number) {
      await clock.advance(ms);
    },
  } as unknown as Front;
  const control = { profileDocuments: async () => new Map([["cursor:2", "41"]]) };
  const calls = profileCalls({ front: () => front, token: "t", clock, control }, 2, stop.signal);
  return { calls, asked };
}

describe("what a partition asks of the profiles", () => {
  test("is asked again while there is no owner, and of the next one if it is lost", async () => {
    const { calls, asked } = callsOver(["no owner", LOST, answered(undefined, 503), answered([])]);
    await calls.refusedJoins({ message: { type: "alias", userId: "u" }, sourceId: "s", offset: 7 as never });
    expect(asked).toHaveLength(3);
    expect(asked[2]).toEqual({
      partition: 2,
      question: {
        ask: "refusedJoins",
        message: { message: { type: "alias", userId: "u" }, sourceId: "s", offset: 7 },
      },
    });
  });

  test("fails with what was wrong after eight seconds, or at once when it was refused", async () => {
    await expect(callsOver([]).calls.compact()).rejects.toThrow("ECONNRESET");
    const refused = callsOver([answered("why", 500), answered(undefined)]);
    await expect(refused.calls.counted()).rejects.toThrow(/partition 0 answered 500.*why/);
    expect(refused.asked).toHaveLength(1);
  });

  test("ends when the partition is handed over", async () => {
    const stop = new AbortController();
    stop.abort(new Error("handed over"));
    await expect(callsOver([answered({})], stop).calls.counted()).rejects.toThrow("handed over");
  });

  test("forgets many users in several calls, and tells how far the partition is counted", async () => {
    const users = Array.from({ length: 120 }, (_, index) => ({
      ...{ identity: `u:${index}` as const, identities: [`u:${index}` as const] },
    }));
    const found = (count: number) =>
      answered(Array.from({ length: count }, () => ({ profile: true, audienceMemberships: 0 })));
    const { calls, asked } = callsOver([found(50), found(50), found(20)]);
    expect(await calls.forget(users)).toHaveLength(120);
    expect(asked).toHaveLength(3);
    expect(await calls.position()).toBe(41);
  });
});

/** Answers a question as the owner of partition 0, whose audiences note what they are asked. */
function answering(own: Partial<AskedAudiences>) {
  const route = profileRoute({ audiences: () => own as AskedAudiences, clock: manualClock() });
  return async (question: ProfileQuestion, partition = 2) => {
    const request = {
      vouch() {},
      readBody: async () => Buffer.from(JSON.stringify({ partition, question })),
    } as unknown as HttpRequest;
    return route.methods.POST?.(request);
  };
}

describe("the owner of partition 0", () => {
  test("forgets after it has what the partition has", async () => {
    const asked: string[] = [];
    const ask = answering({
      async follow(partition) {
        asked.push(`follow ${partition}`);
      },
      async forget(users) {
        asked.push(`forget ${users.length}`);
        return [];
      },
    });
    expect(await ask({ ask: "forget", users: [{ identity: "u:1", identities: [] }] })).toMatchObject({
      body: { answer: [] },
    });
    expect(asked).toEqual(["follow 2", "forget 1"]);
  });

  test("forgets nobody while it cannot read the partition", async () => {
    const ask = answering({
      follow: () => Promise.reject(new Error("partition 2 cannot be read now")),
      forget: () => Promise.reject(new Error("forgot")),
    });
    await expect(ask({ ask: "forget", users: [] })).rejects.toThrow("cannot be read now");
  });

  test("compacts once for all who ask meanwhile, and again for those who ask later", async () => {
    const begun: PromiseWithResolvers<void>[] = [];
    const ask = answering({
      compact() {
        const run = Promise.withResolvers<void>();
        begun.push(run);
        return run.promise;
      },
    });
    const all = [ask({ ask: "compact" }, 1)];
    await new Promise((resolve) => setImmediate(resolve));
    all.push(ask({ ask: "compact" }, 2), ask({ ask: "compact" }, 3));
    await new Promise((resolve) => setImmediate(resolve));
    expect(begun).toHaveLength(1);
    begun[0]?.resolve();
    await all[0];
    await new Promise((resolve) => setImmediate(resolve));
    expect(begun).toHaveLength(2);
    begun[1]?.resolve();
    await Promise.all(all);
    expect(begun).toHaveLength(2);
  });
});
