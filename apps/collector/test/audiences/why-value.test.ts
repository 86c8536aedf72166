import { afterEach, beforeEach, expect, test } from "vitest";
import { type CollectorWorld, openCollector } from "./collector-world.js";

let world: CollectorWorld;
beforeEach(async () => {
  world = await openCollector();
});
afterEach(() => world.close());

const DAY_MS = 24 * 60 * 60 * 1_000;
const NOON_MS = Date.now() - 10 * DAY_MS;
const at = (day: number): string => new Date(NOON_MS + day * DAY_MS).toISOString();
const order = (messageId: string, day: number, price?: unknown, who: object = { userId: "ann" }) => ({
  type: "track",
  messageId,
  ...who,
  event: "Order",
  properties: { price },
  timestamp: at(day),
});

async function make(kind: string, more: object = {}): Promise<string> {
  const { status, body } = await world.api("POST", "/computed-traits", {
    name: `Prices ${kind} ${JSON.stringify(more)}`,
    kind,
    event: "Order",
    property: "price",
    destinationIds: [],
    ...more,
  });
  expect(status).toBe(201);
  return body.id;
}
const why = async (id: string, userId = "ann") =>
  (await world.api("GET", `/computed-traits/${id}/why?userId=${userId}`)).body;
/** What a value is made of, a line a part. */
const madeOf = (answer: { madeOf: { messageId?: string; value: unknown; times?: number }[] }): string[] =>
  answer.madeOf.map(({ messageId, value, times }) => `${messageId} ${value}${times ? ` x${times}` : ""}`);

test("a figure names its events, also those from before the user was known", async () => {
  const sum = await make("sum");
  await world.send([
    order("m-1", 1, 5, { anonymousId: "phone" }),
    order("m-2", 3, "7.5"),
    order("m-3", 2, "many"),
    { type: "identify", userId: "ann", anonymousId: "phone" },
    order("m-4", 4, 100, { userId: "bob" }),
    order("m-5", 4, 1000, { anonymousId: "ann" }),
  ]);
  const answer = await why(sum);
  expect(answer).toMatchObject({ userId: "ann", value: 12.5, events: 2 });
  expect(answer).not.toHaveProperty("windowFrom");
  expect(madeOf(answer)).toEqual(["m-2 7.5", "m-1 5"]);
  expect(answer.madeOf[0]).toMatchObject({ at: at(3), sourceId: world.sourceId });
});

test("a window says where it begins and when the next event leaves it; what is out of it is not named", async () => {
  const average = await make("average", { withinMs: 9 * DAY_MS });
  await world.send([order("m-1", 0, 50), order("m-2", 3, 1), order("m-3", 5, 2)]);
  const answer = await why(average);
  expect(answer).toMatchObject({ value: 1.5, events: 2, changesAt: at(12) });
  expect(Math.abs(Date.parse(answer.windowFrom) - (Date.now() - 9 * DAY_MS))).toBeLessThan(60_000);
  expect(madeOf(answer)).toEqual(["m-3 2", "m-2 1"]);
});

test("first, last and kinds of values name the event that the value comes from", async () => {
  const traits = {
    first: await make("first"),
    lastOfWindow: await make("last", { withinMs: 100 * DAY_MS }),
    list: await make("unique_list"),
    frequent: await make("most_frequent"),
    frequentOfWindow: await make("most_frequent", { withinMs: 100 * DAY_MS }),
  };
  await world.send([
    order("m-1", 1, "a"),
    order("m-2", 2, "b"),
    order("m-3", 3, "a"),
    order("m-4", 4, "x".repeat(5_000)),
  ]);
  expect(await why(traits.first)).toMatchObject({ value: "a", events: 1, leftOut: 1 });
  expect(madeOf(await why(traits.first))).toEqual(["m-1 a"]);
  expect(madeOf(await why(traits.lastOfWindow))).toEqual(["m-3 a"]);
  expect(await why(traits.list)).toMatchObject({ value: ["a", "b"], events: 3, leftOut: 1 });
  expect(madeOf(await why(traits.list))).toEqual(["m-2 b x1", "m-1 a x2"]);
  expect(madeOf(await why(traits.frequent))).toEqual(["m-1 a x2", "m-2 b x1"]);
  expect(madeOf(await why(traits.frequentOfWindow))).toEqual(["m-1 a x2", "m-2 b x1"]);

  const { body } = await world.api("GET", `/computed-traits/${traits.list}`);
  expect(body.status.leftOut).toEqual({ users: 1, events: 1 });
  const metrics = await world.metrics();
  // Of each of the five traits.
  expect(metrics).toMatch(/^sluice_computed_traits_left_out_events 5$/m);
});

test("of many events the newest are named, and how many there are", async () => {
  const count = await make("count", { property: undefined });
  await world.send(Array.from({ length: 30 }, (_, n) => order(`m-${n}`, n / 10)));
  const answer = await why(count);
  expect(answer).toMatchObject({ value: 30, events: 30 });
  expect(madeOf(answer)).toEqual(Array.from({ length: 20 }, (_, n) => `m-${29 - n} 1`));
});

test("who never did the event has no value; who is not known, and a trait that there is not, is not found", async () => {
  const sum = await make("sum");
  await world.send([{ type: "identify", userId: "ann" }]);
  expect(await why(sum)).toEqual({ userId: "ann", events: 0, madeOf: [] });
  for (const path of [`/computed-traits/${sum}/why?userId=nobody`, "/computed-traits/none/why?userId=ann"])
    expect((await world.api("GET", path)).status).toBe(404);
  expect((await world.api("GET", `/computed-traits/${sum}/why`)).status).toBe(400);
});

test("after a deletion nothing is told of the user", async () => {
  const list = await make("unique_list");
  await world.send([order("m-1", 1, "a")]);
  expect(madeOf(await why(list))).toEqual(["m-1 a x1"]);
  const { body: deletion } = await world.api("POST", "/deletions", { userIds: ["ann"] });
  for (let status = ""; status !== "finished"; )
    status = (await world.api("GET", `/deletions/${deletion.id}`)).body.status;
  expect((await world.api("GET", `/computed-traits/${list}/why?userId=ann`)).status).toBe(404);
});
