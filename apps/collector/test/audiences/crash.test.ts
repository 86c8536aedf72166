import { afterEach, beforeEach, expect, test } from "vitest";
import { KilledCollector } from "./killed-collector.js";

let collector: KilledCollector;
beforeEach(async () => {
  collector = await KilledCollector.start();
});
afterEach(() => collector.close());

/** Each test starts several processes, which takes seconds each on a busy machine. */
const RUN_MS = 240_000;

const PRO = { kind: "trait", trait: "plan", is: "equals", value: "pro" };

/** Looks until the audience is so. */
// biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape
async function until(id: string, holds: (audience: any) => boolean): Promise<void> {
  while (!holds(await collector.api("GET", `/audiences/${id}`)));
}

/** What each user was told, in order. */
function byUser(told: Awaited<ReturnType<KilledCollector["told"]>>): Map<string, unknown[]> {
  const users = new Map<string, unknown[]>();
  for (const { userId, traits } of told)
    users.set(userId, [...(users.get(userId) ?? []), ...Object.values(traits ?? {})]);
  return users;
}

test("entering and leaving are told once each, in order, however often the collector is killed", {
  timeout: RUN_MS,
}, async () => {
  const { id } = await collector.api("POST", "/destinations", {
    type: "console",
    sourceIds: [],
  });
  const { id: audienceId } = await collector.api("POST", "/audiences", {
    name: "Pro",
    condition: PRO,
    destinationIds: [id],
  });
  const users = Array.from({ length: 40 }, (_, user) => `user${user}`);
  const rounds = 10;
  let isDone = false;
  const sending = (async () => {
    for (let round = 0; round < rounds; round++)
      await collector.send(
        users.map((userId) => ({
          type: "identify",
          userId,
          messageId: `${userId}-${round}`,
          traits: { plan: round % 2 === 0 ? "pro" : "free" },
        })),
      );
    isDone = true;
  })();
  // Killed while it takes, evaluates and appends: the moments differ from run to run.
  for (let kills = 0; kills < 4 && !isDone; kills++) {
    await new Promise((resolve) => setTimeout(resolve, 20 + 37 * kills));
    await collector.kill();
  }
  await sending;
  await collector.kill();
  // One more who enters: when that is told, all before is.
  await collector.send([{ type: "identify", userId: "last", messageId: "last", traits: { plan: "pro" } }]);
  await until(audienceId, (audience) => audience.size === 1);

  const told = await collector.told();
  const expected = Array.from({ length: rounds }, (_, round) => round % 2 === 0);
  const heard = byUser(told);
  for (const user of users) expect([user, heard.get(user)]).toEqual([user, expected]);
  expect(new Set(told.map((message) => message.messageId)).size).toBe(told.length);
});

test("the first sync goes on after each kill and tells every member once", { timeout: RUN_MS }, async () => {
  const members = 1_500;
  const { id } = await collector.api("POST", "/destinations", { type: "console", sourceIds: [] });
  for (let first = 0; first < members; first += 500)
    await collector.send(
      Array.from({ length: 500 }, (_, at) => ({
        type: "track",
        userId: `user${first + at}`,
        messageId: `order${first + at}`,
        event: "Order",
      })),
    );
  const { id: audienceId } = await collector.api("POST", "/audiences", {
    name: "Buyers",
    condition: { kind: "event", event: "Order", times: { atLeast: 1 } },
    destinationIds: [id],
  });
  for (let kills = 0; kills < 2; kills++) {
    await new Promise((resolve) => setTimeout(resolve, 30 + 40 * kills));
    await collector.kill();
  }
  await until(audienceId, ({ status, size }) => status.state === "live" && size === members);
  // What the last step owes is appended before the next step is made.
  await collector.send([{ type: "track", userId: "last", messageId: "last", event: "Order" }]);
  await until(audienceId, ({ size }) => size === members + 1);

  const heard = byUser(await collector.told());
  const wrong = [...heard].filter(([user, values]) => user !== "last" && values.join() !== "true");
  expect(wrong).toEqual([]);
  expect([...heard.keys()].filter((user) => user !== "last")).toHaveLength(members);
});

test("a deletion that is killed on its way goes on at the next start", { timeout: RUN_MS }, async () => {
  await collector.send(
    Array.from({ length: 500 }, (_, at) => ({
      type: "track",
      userId: "ann",
      messageId: `m${at}`,
      event: "Paid",
    })),
  );
  const { id } = await collector.api("POST", "/deletions", { userIds: ["ann"], suppress: true });
  await collector.kill();
  for (;;) {
    const deletion = await collector.api("GET", `/deletions/${id}`);
    if (deletion.step !== "done") continue;
    expect(deletion).toMatchObject({
      status: "finished",
      receipt: { users: [{ kind: "user", messages: 500 }] },
    });
    break;
  }
  expect((await collector.api("GET", "/messages?userId=ann")).items).toEqual([]);
  expect((await collector.api("GET", "/suppressions")).items).toHaveLength(1);
});
