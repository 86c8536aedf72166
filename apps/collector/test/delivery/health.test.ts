import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import {
  type Health,
  type HealthFacts,
  judgeHealth,
  judgeUrl,
} from "../../src/delivery/health/judge-health.js";
import { lastOf, lastTriedBefore, Tried } from "../../src/delivery/health/last-tried.js";
import { summarizeHealth } from "../../src/delivery/health/summarize-health.js";
import { startTestCollector, type TestCollector } from "../../src/testing.js";

const A = "https://hooks.example/a";
const B = "https://hooks.example/b";

async function start(options: Parameters<typeof startTestCollector>[0] = {}): Promise<TestCollector> {
  const collector = await startTestCollector(options);
  onTestFinished(() => collector.close());
  return collector;
}

const status = async (collector: TestCollector, id: string) =>
  (await collector.api("GET", `/destinations/${id}/status`)) as Record<string, unknown>;
const send = async (collector: TestCollector, messageId: string): Promise<void> => {
  await collector.send({ type: "track", event: "Ordered", userId: "u1", messageId });
  await collector.advance(1_000);
};

it.each([401, 302])(
  "a destination that always answers %d is failing until it delivers, even after a restart",
  async (refusal) => {
    const dataDirectory = await mkdtemp(join(tmpdir(), "sluice-health-"));
    onTestFinished(() => rm(dataDirectory, { recursive: true, force: true }));
    const first = await start({ dataDirectory });
    const id = await first.connect({ webhooks: [{ url: A }] });
    expect(await status(first, id)).toMatchObject({ state: "delivering", health: "idle" });
    first.webhooks.script(A, refusal);
    await send(first, "m1");
    const since = (await status(first, id)).failingSince;
    await send(first, "m2");
    const failing = {
      state: "delivering",
      health: "failing",
      failingSince: since,
      lastError: expect.stringContaining(String(refusal)),
    };
    expect(since).toEqual(expect.any(String));
    const before = await status(first, id);
    expect(before).toMatchObject(failing);
    await first.close();

    const second = await start({ dataDirectory, store: first.store, clock: first.clock });
    expect(await status(second, id)).toEqual(before);
    second.webhooks.script(A, refusal);
    await send(second, "m3");
    expect(await status(second, id)).toMatchObject(failing);
    second.webhooks.script(A, 200);
    await send(second, "m4");
    const good = await status(second, id);
    expect(good).toMatchObject({ health: "good" });
    expect(good).not.toHaveProperty("failingSince");
    expect(good).not.toHaveProperty("lastError");
  },
);

it("names a URL that answered 410", async () => {
  const collector = await start();
  const id = await collector.connect({ webhooks: [{ url: A }] });
  collector.webhooks.script(A, 410);
  await send(collector, "m1");
  expect(await status(collector, id)).toMatchObject({ health: "url_disabled", disabledUrls: [A] });
});

it("a destination with one URL that answered 410 is partly disabled while it delivers to the others, and failing if those fail too", async () => {
  const collector = await start();
  const id = await collector.connect({ webhooks: [{ url: A }, { url: B }] });
  collector.webhooks.script(A, 410);
  await send(collector, "m1");
  const partly = await status(collector, id);
  expect(partly).toMatchObject({ health: "partly_disabled", disabledUrls: [A] });
  expect(partly).not.toHaveProperty("lastError");
  collector.webhooks.script(B, 401);
  await send(collector, "m2");
  expect(await status(collector, id)).toMatchObject({
    health: "failing",
    disabledUrls: [A],
    lastError: expect.stringContaining("401"),
  });
  collector.webhooks.script(B, 410);
  await send(collector, "m3");
  expect(await status(collector, id)).toMatchObject({ health: "url_disabled", disabledUrls: [A, B] });
});

const delivery = (state: "delivered" | "failed" | "pending" | "filtered", atMs: number, rounds = 1) => ({
  state,
  atMs,
  rounds,
  reason: `${state} ${atMs}`,
});

it.each([
  ["nothing", [], { kind: "nothing" }],
  ["a message that was never tried", [delivery("pending", 1, 0)], { kind: "nothing" }],
  ["a filtered message", [delivery("filtered", 1)], { kind: "nothing" }],
  [
    "failures, in any order",
    [delivery("failed", 3), delivery("pending", 2), delivery("delivered", 1)],
    { kind: "failed", sinceMs: 2, newest: delivery("failed", 3) },
  ],
  ["a recovery", [delivery("failed", 1), delivery("delivered", 2)], { kind: "delivered" }],
  ["both at one time", [delivery("failed", 2), delivery("delivered", 2)], { kind: "delivered" }],
])("determines the last result from %s", (_what, deliveries, last) => {
  expect(lastOf(deliveries)).toEqual(last);
});

it("looks for the last result before a moment, by the clock that dated it", async () => {
  const asked: unknown[] = [];
  const failed = { ...delivery("failed", 3), offset: 7 };
  const consumers = {
    list: async (filter: { state: string }) => {
      asked.push(filter);
      return { items: filter.state === "failed" ? [failed] : [] };
    },
    attemptsOf: async () => [{ error: { message: "refused" } }, {}],
  };
  const store = { consumers } as unknown as Parameters<typeof lastTriedBefore>[0];
  expect(await lastTriedBefore(store, "dst", { ended: 10, pending: 20 })).toEqual({
    kind: "failed",
    sinceMs: 3,
    error: "refused",
    inARow: 1,
  });
  expect(asked).toEqual([
    { consumerId: "dst", state: "delivered", toMs: 10 },
    { consumerId: "dst", state: "failed", toMs: 10 },
    { consumerId: "dst", state: "pending", toMs: 20 },
  ]);
});

it("knows no failure before a moment if none is stored", async () => {
  const consumers = { list: async () => ({ items: [] }), attemptsOf: async () => [] };
  const store = { consumers } as unknown as Parameters<typeof lastTriedBefore>[0];
  expect(await lastTriedBefore(store, "dst", { ended: 10, pending: 20 })).toEqual({ kind: "nothing" });
});

it("counts the rounds of the last minute, and keeps the last error", () => {
  const tried = new Tried();
  const at = (monotonicMs: number) => ({ atMs: 1_000 + monotonicMs, monotonicMs });
  expect(tried.facts(0)).toStrictEqual({ last: { kind: "nothing" }, recent: { rounds: 0, failed: 0 } });
  tried.ended("refused", at(500));
  tried.ended("timeout", at(900));
  expect(tried.last).toEqual({ kind: "failed", sinceMs: 1_500, error: "timeout", inARow: 2 });
  tried.ended(undefined, at(59_999));
  expect(tried.last).toEqual({ kind: "delivered" });
  expect(tried.facts(59_999)).toStrictEqual({
    last: { kind: "delivered" },
    recent: { rounds: 3, failed: 2 },
    lastError: "timeout",
  });
  expect(tried.facts(60_000).recent).toEqual({ rounds: 1, failed: 0 });
  // The second of a minute ago is used again.
  tried.ended("refused", at(60_000));
  expect(tried.facts(60_000)).toMatchObject({
    last: { kind: "failed", sinceMs: 61_000, inARow: 1 },
    recent: { rounds: 2, failed: 1 },
  });
});

const fine: HealthFacts = {
  isEnabled: true,
  cannotOpen: false,
  isBackingOff: false,
  tried: { last: { kind: "delivered" }, recent: { rounds: 1, failed: 0 } },
  urls: [],
  waiting: 0,
  oldestUnreadMs: undefined,
  nowMs: 1_000_000,
};
const refused = { kind: "failed", sinceMs: 5, error: "refused", inARow: 1 } as const;
const failed: HealthFacts["tried"] = {
  last: refused,
  recent: { rounds: 1, failed: 1 },
  lastError: "refused",
};
const none: HealthFacts["tried"] = { last: { kind: "nothing" }, recent: { rounds: 0, failed: 0 } };
const shared = (rounds: number, failures: number, last: HealthFacts["tried"]["last"]) => ({
  tried: { last, recent: { rounds, failed: failures }, lastError: "refused" },
});
const url = (name: string, tried: HealthFacts["tried"]): HealthFacts["urls"][number] => ({
  url: name,
  state: { kind: "called", tried },
});
const gone = (name: string): HealthFacts["urls"][number] => ({
  url: name,
  state: { kind: "disabled", sinceMs: 7 },
});

it.each<[string, Partial<HealthFacts>, Health]>([
  ["delivers", {}, { health: "good", reason: "The last delivery succeeded" }],
  ["was never tried", { tried: none }, { health: "idle", reason: "It has no delivery yet" }],
  [
    "is disabled, whatever else holds",
    { isEnabled: false, isBackingOff: true, tried: failed, urls: [gone("a")] },
    { health: "disabled", reason: "It is disabled, so new messages are skipped" },
  ],
  [
    "is disabled with a backlog",
    { isEnabled: false, waiting: 1_500 },
    {
      health: "disabled",
      reason: "It is disabled, so new messages are skipped, and 1,500 earlier messages stay in the backlog",
    },
  ],
  [
    "is disabled with one message left",
    { isEnabled: false, waiting: 1 },
    {
      health: "disabled",
      reason: "It is disabled, so new messages are skipped, and 1 earlier message stays in the backlog",
    },
  ],
  [
    "is enabled, but its only URL is disabled",
    { urls: [gone("a")], isBackingOff: true, tried: failed },
    { health: "url_disabled", reason: "Its URL answered 410 Gone, so nothing is sent", sinceMs: 7 },
  ],
  [
    "has only disabled URLs",
    { urls: [gone("a"), gone("b")] },
    { health: "url_disabled", reason: "All 2 URLs answered 410 Gone, so nothing is sent", sinceMs: 7 },
  ],
  [
    "has one disabled URL of two",
    { urls: [url("a", fine.tried), gone("b")] },
    { health: "partly_disabled", reason: "1 of 2 URLs answered 410 Gone and gets nothing: b", sinceMs: 7 },
  ],
  [
    "has two disabled URLs of three",
    { urls: [url("a", fine.tried), gone("b"), gone("c")] },
    {
      health: "partly_disabled",
      reason: "2 of 3 URLs answered 410 Gone and get nothing: b, c",
      sinceMs: 7,
    },
  ],
  [
    "has one disabled URL, and the other fails",
    { tried: failed, urls: [url("a", failed), gone("b")] },
    { health: "failing", reason: "refused", sinceMs: 5 },
  ],
  [
    "has an open breaker",
    { isBackingOff: true, tried: failed, urls: [url("a", failed), gone("b")], waiting: 50_000 },
    { health: "backing_off", reason: "The last attempts failed: refused", sinceMs: 5 },
  ],
  [
    "failed before this process started, and cannot be opened",
    { cannotOpen: true, tried: { ...none, last: refused } },
    { health: "failing", reason: "It cannot be opened: refused", sinceMs: 5 },
  ],
  [
    "cannot be opened",
    { cannotOpen: true, tried: failed },
    { health: "failing", reason: "It cannot be opened: refused", sinceMs: 5 },
  ],
  ["failed last", { tried: failed }, { health: "failing", reason: "refused", sinceMs: 5 }],
  [
    "fails at one of two URLs",
    { urls: [url("a", failed), url("b", fine.tried)] },
    { health: "partly_failing", reason: "1 of 2 URLs fails: a: refused", sinceMs: 5 },
  ],
  [
    "fails at one URL and has not tried the other",
    { tried: failed, urls: [url("a", failed), url("b", none)] },
    { health: "failing", reason: "refused", sinceMs: 5 },
  ],
  [
    "cannot be opened, and delivered before",
    { cannotOpen: true, tried: { ...fine.tried, lastError: "an old error" } },
    { health: "failing", reason: "It cannot be opened: an old error" },
  ],
  [
    "cannot be opened, for a reason that is not known",
    { cannotOpen: true },
    { health: "failing", reason: "It cannot be opened: attempts failed" },
  ],
  [
    "fails at two of three URLs",
    { urls: [url("a", failed), url("b", failed), url("c", fine.tried)] },
    { health: "partly_failing", reason: "2 of 3 URLs fail: a: refused", sinceMs: 5 },
  ],
  [
    "fails at one URL, half of the time, while another one is retried",
    {
      urls: [
        url("a", shared(20, 10, { kind: "delivered" }).tried),
        url("b", shared(20, 1, { kind: "delivered" }).tried),
      ],
    },
    {
      health: "partly_failing",
      reason: "1 of 2 URLs fails: a: 10 attempts of 20 failed in the last minute, the latest with: refused",
    },
  ],
  [
    "has one URL that was disabled, nobody knows when",
    { urls: [{ url: "a", state: { kind: "disabled", sinceMs: undefined } }] },
    { health: "url_disabled", reason: "Its URL answered 410 Gone, so nothing is sent" },
  ],
  [
    "failed last, of few attempts",
    shared(9, 3, refused),
    { health: "failing", reason: "refused", sinceMs: 5 },
  ],
  [
    "failed all of many attempts",
    shared(10, 10, refused),
    { health: "failing", reason: "refused", sinceMs: 5 },
  ],
  [
    "failed half of ten attempts, the last one too",
    shared(10, 5, refused),
    {
      health: "failing",
      reason: "5 attempts of 10 failed in the last minute, the latest with: refused",
      sinceMs: 5,
    },
  ],
  [
    "failed one of ten attempts, the last one",
    shared(10, 1, refused),
    {
      health: "retrying",
      reason: "1 attempt of 10 failed in the last minute, the latest with: refused",
      sinceMs: 5,
    },
  ],
  [
    "failed half of many attempts",
    shared(20, 10, { kind: "delivered" }),
    { health: "failing", reason: "10 attempts of 20 failed in the last minute, the latest with: refused" },
  ],
  [
    "failed a twentieth of many attempts",
    shared(2_000, 100, refused),
    {
      health: "retrying",
      reason: "100 attempts of 2,000 failed in the last minute, the latest with: refused",
      sinceMs: 5,
    },
  ],
  [
    "failed fewer than a twentieth of many attempts",
    shared(2_000, 99, refused),
    { health: "good", reason: "The last delivery succeeded" },
  ],
  [
    "failed ten times in a row after a good minute",
    shared(2_000, 10, { ...refused, inARow: 10 }),
    {
      health: "failing",
      reason: "10 attempts of 2,000 failed in the last minute, the latest with: refused",
      sinceMs: 5,
    },
  ],
  [
    "has 9,999 waiting messages",
    { waiting: 9_999 },
    { health: "good", reason: "The last delivery succeeded" },
  ],
  [
    "has 10,000 waiting messages, the oldest from a minute ago",
    { waiting: 10_000, oldestUnreadMs: 940_000 },
    { health: "behind", reason: "10,000 messages wait", sinceMs: 940_000 },
  ],
  ["has 10,000 waiting messages", { waiting: 10_000 }, { health: "behind", reason: "10,000 messages wait" }],
  [
    "has an unread message from a minute ago",
    { waiting: 1, oldestUnreadMs: 940_000 },
    { health: "good", reason: "The last delivery succeeded" },
  ],
  [
    "has an unread message from over a minute ago",
    { waiting: 1, oldestUnreadMs: 700_000 },
    {
      health: "behind",
      reason: "1 message waits, and the oldest unread one is 5 min old",
      sinceMs: 700_000,
    },
  ],
  [
    "was never tried and is not reading",
    { tried: none, waiting: 2, oldestUnreadMs: 0 },
    { health: "behind", reason: "2 messages wait, and the oldest unread one is 16 min old", sinceMs: 0 },
  ],
  [
    "has an unread message from the future, because the clock was set back",
    { waiting: 1, oldestUnreadMs: 9_000_000 },
    { health: "good", reason: "The last delivery succeeded" },
  ],
])("judges a destination that %s", (_what, facts, health) => {
  expect(judgeHealth({ ...fine, ...facts })).toStrictEqual(health);
});

it.each<[minutes: number, age: string]>([
  [119, "119 min"],
  [120, "2 h"],
  [47 * 60 + 59, "47 h"],
  [48 * 60, "2 days"],
])("says how old a message of %i minutes is: %s", (minutes, age) => {
  const { reason } = judgeHealth({ ...fine, waiting: 2, oldestUnreadMs: 0, nowMs: minutes * 60_000 });
  expect(reason).toBe(`2 messages wait, and the oldest unread one is ${age} old`);
});

const GONE = "It answered 410 Gone, so nothing is sent to it";
it.each<[string, HealthFacts["urls"][number], ReturnType<typeof judgeUrl>]>([
  ["was disabled", gone("a"), { health: "url_disabled", reason: GONE, sinceMs: 7 }],
  [
    "was disabled, nobody knows when",
    { url: "a", state: { kind: "disabled", sinceMs: undefined } },
    { health: "url_disabled", reason: GONE },
  ],
  ["failed", url("a", failed), { health: "failing", reason: "refused", sinceMs: 5 }],
  [
    "failed a tenth of many attempts",
    url("a", shared(20, 2, { kind: "delivered" }).tried),
    { health: "retrying", reason: "2 attempts of 20 failed in the last minute, the latest with: refused" },
  ],
  ["delivers", url("a", fine.tried), { health: "good", reason: "The last attempt succeeded" }],
  [
    "was not tried",
    url("a", none),
    { health: "idle", reason: "It has had no attempt since the destination was opened" },
  ],
])("judges a URL that %s", (_what, facts, health) => {
  expect(judgeUrl(facts)).toStrictEqual(health);
});

const member = (name: string, health: Health["health"], sinceMs?: number) => ({
  name,
  health,
  reason: "",
  ...(sinceMs === undefined ? {} : { sinceMs }),
});

it.each<[string, Parameters<typeof summarizeHealth>[0], Health]>([
  ["none", [], { health: "idle", reason: "No destination is connected" }],
  [
    "one that is idle",
    [member("A", "idle")],
    { health: "idle", reason: "The destination has no delivery yet" },
  ],
  [
    "good and idle ones",
    [member("A", "idle"), member("B", "good"), member("C", "disabled")],
    { health: "good", reason: "1 destination delivers, 1 has no delivery yet" },
  ],
  [
    "two that are idle",
    [member("A", "idle"), member("B", "idle")],
    { health: "idle", reason: "All 2 destinations have no delivery yet" },
  ],
  [
    "more good and idle ones",
    ["A", "B", "C", "D", "E"].map((name, at) => member(name, at < 3 ? "good" : "idle")),
    { health: "good", reason: "3 destinations deliver, 2 have no delivery yet" },
  ],
  ["a good one", [member("A", "good")], { health: "good", reason: "1 destination delivers" }],
  [
    "a disabled one",
    [member("A", "disabled")],
    { health: "disabled", reason: "The destination is disabled" },
  ],
  [
    "disabled ones",
    [member("A", "disabled"), member("B", "disabled")],
    { health: "disabled", reason: "All 2 destinations are disabled" },
  ],
  [
    "some with problems, worst first",
    [member("A", "good"), member("B", "behind", 3), member("C", "failing", 4), member("D", "url_disabled")],
    {
      health: "url_disabled",
      reason: "3 of 4 destinations need attention: D (url disabled), C (failing), B (behind)",
      sinceMs: 3,
    },
  ],
  [
    "one with a problem",
    [member("A", "failing", 4)],
    { health: "failing", reason: "1 of 1 destination needs attention: A (failing)", sinceMs: 4 },
  ],
  [
    "many with problems",
    ["A", "B", "C", "D", "E"].map((name) => member(name, "backing_off")),
    {
      health: "backing_off",
      reason: "5 of 5 destinations need attention: A (down), B (down), C (down) and 2 more",
    },
  ],
])("summarizes %s", (_what, members, summary) => {
  expect(summarizeHealth(members)).toEqual(summary);
});

it("shows one health in the status, in the summaries and in the metrics", async () => {
  const collector = await start();
  const id = await collector.connect({ webhooks: [{ url: A }, { url: B }] });
  collector.webhooks.script(A, 401);
  await send(collector, "m1");
  const one = await status(collector, id);
  expect(one).toMatchObject({
    health: "partly_failing",
    reason: expect.stringMatching(/^1 of 2 URLs fails: .*401/),
    since: expect.any(String),
    urls: [
      { url: A, health: "failing", reason: expect.stringContaining("401") },
      { url: B, health: "good", reason: "The last attempt succeeded" },
    ],
  });
  const summary = {
    health: "partly_failing",
    reason: "1 of 1 destination needs attention: Webhooks (partly failing)",
  };
  expect(await collector.api("GET", "/health")).toMatchObject({
    ...summary,
    destinations: [one],
    sources: [summary],
  });
  const metrics = await (await fetch(`${collector.url}/metrics`)).text();
  expect(metrics).toContain(`sluice_destination_health{destination="${id}",health="partly_failing"} 1`);
});

it("is behind while it is slower than what comes in", async () => {
  const collector = await start();
  const id = await collector.connect({ webhooks: [{ url: A }], rateLimit: 1, concurrency: 1 });
  for (let n = 0; n < 200; n++)
    await collector.send({ type: "track", event: "Ordered", userId: `u${n}`, messageId: `m${n}` });
  await collector.advance(70_000);
  expect(await status(collector, id)).toMatchObject({
    health: "behind",
    reason: expect.stringMatching(/messages wait, and the oldest unread one is 1 min old$/),
    oldestUnreadAt: expect.any(String),
  });
});
