import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import type { ScriptedRequest } from "../../src/testing/scripted-webhooks.js";
import { startTestCollector, type TestCollector, type TestCollectorOptions } from "../../src/testing.js";
import { slowWatchers } from "./slow-watchers.js";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const A = "https://hooks.example/a";
const B = "https://hooks.example/b";
const C = "https://hooks.example/c";

let collector: TestCollector;

async function start(options: TestCollectorOptions = {}): Promise<TestCollector> {
  const started = await startTestCollector(slowWatchers(options));
  onTestFinished(() => started.close());
  return started;
}

beforeEach(async () => {
  collector = await start();
});

const track = (messageId: string, userId = "u1") => ({ type: "track", event: "Ordered", userId, messageId });
const many = (count: number) => Array.from({ length: count }, (_, index) => track(`m${index}`, `u${index}`));
const ids = (url: string): string[] =>
  collector.webhooks.requests.filter((request) => request.url === url).map(({ messageId }) => messageId);
const outcomes = async (messageId: string) =>
  (
    (await collector.api("GET", `/messages/${messageId}`)) as {
      outcomes: { state: string; reason: string; attempts: object[] }[];
    }
  ).outcomes;

describe("success: any", () => {
  it("posts to all URLs at once, and retries none once one has accepted the message", async () => {
    await collector.connect({ webhooks: [{ url: A }, { url: B }, { url: C }] });
    collector.webhooks.script(A, 500);
    collector.webhooks.script(B, 200);
    collector.webhooks.script(C, "hang");
    await collector.send(track("m1"));
    await collector.advance(HOUR);
    expect([ids(A), ids(B), ids(C)]).toEqual([["m1"], ["m1"], ["m1"]]);
    const [outcome] = await outcomes("m1");
    expect(outcome).toMatchObject({ state: "delivered", reason: "HTTP 200" });
    // Late responses are still in the trace.
    expect(outcome?.attempts).toHaveLength(3);
    expect(outcome?.attempts).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ url: A, status: 500 }),
        expect.objectContaining({ url: B, status: 200 }),
        expect.objectContaining({ url: C, error: expect.objectContaining({ code: "timeout" }) }),
      ]),
    );
  });

  it("retries all URLs except those that refused permanently", async () => {
    await collector.connect({ webhooks: [{ url: A }, { url: B }] });
    collector.webhooks.script(A, 404);
    collector.webhooks.script(B, ({ attempt }) => (attempt < 3 ? 503 : 200));
    await collector.send(track("m1"));
    await collector.advance(MINUTE);
    expect([ids(A).length, ids(B).length]).toEqual([1, 3]);
    expect(await outcomes("m1")).toMatchObject([{ state: "delivered" }]);
  });

  it("fails when every URL has refused permanently", async () => {
    await collector.connect({ webhooks: [{ url: A }, { url: B }] });
    collector.webhooks.script(A, 404);
    collector.webhooks.script(B, 401);
    await collector.send(track("m1"));
    await collector.advance(MINUTE);
    expect(await outcomes("m1")).toMatchObject([
      { state: "failed", reason: `${A}: HTTP 404; ${B}: HTTP 401` },
    ]);
    expect(collector.webhooks.requests).toHaveLength(2);
  });

  it("is not slowed down by a URL that hangs, which is only probed after a while", async () => {
    await collector.connect({ webhooks: [{ url: A }, { url: B }], concurrency: 5 });
    collector.webhooks.script(A, "hang");
    for (let batch = 0; batch < 20; batch++) {
      await collector.send(
        ...many(5).map((message) => ({ ...message, messageId: `${batch}-${message.messageId}` })),
      );
      await collector.advance(1_000);
    }
    expect(ids(B)).toHaveLength(100);
    // The requests of the first five seconds, and occasional probes.
    expect(ids(A).length).toBeGreaterThanOrEqual(5);
    expect(ids(A).length).toBeLessThan(50);
  });
});

describe("success: each", () => {
  it("retries every URL until it has accepted the message, but not afterwards", async () => {
    await collector.connect({ success: "each", webhooks: [{ url: A }, { url: B }, { url: C }] });
    collector.webhooks.script(A, 200);
    collector.webhooks.script(B, ({ attempt }) => (attempt < 2 ? 500 : 200));
    collector.webhooks.script(C, ({ attempt }) => (attempt < 4 ? "reset" : 204));
    await collector.send(track("m1"));
    await collector.advance(HOUR);
    expect([ids(A).length, ids(B).length, ids(C).length]).toEqual([1, 2, 4]);
    expect(await outcomes("m1")).toMatchObject([{ state: "delivered" }]);
  });

  it("gives each URL its own backoff, which survives a restart", async () => {
    const dataDirectory = await mkdtemp(join(tmpdir(), "sluice-each-"));
    onTestFinished(() => rm(dataDirectory, { recursive: true, force: true }));
    collector = await start({ dataDirectory });
    await collector.connect({ success: "each", webhooks: [{ url: A }, { url: B }, { url: C }] });
    collector.webhooks.script(A, 503);
    collector.webhooks.script(B, ({ attempt }) => (attempt < 3 ? { status: 503, retryAfter: "1800" } : 200));
    await collector.send(track("m1"));
    await collector.advance(10 * MINUTE);
    const attemptsAt = (url: string) =>
      collector.webhooks.requests.filter((request) => request.url === url).map(({ attempt }) => attempt);
    // B asked for a delay of half an hour. Other URLs do not wait for it, and it is not tried earlier.
    const early = attemptsAt(A).length;
    expect(early).toBeGreaterThan(4);
    expect([attemptsAt(B), attemptsAt(C)]).toEqual([[1], [1]]);
    const { clock, store, webhooks } = collector;
    const before = webhooks.requests;
    await collector.close();
    collector = await start({ clock, store, dataDirectory });
    collector.webhooks.script(A, ({ atMs }) => (atMs - (before[0]?.atMs ?? 0) < 2 * HOUR ? 503 : 200));
    collector.webhooks.script(B, ({ attempt }) => (attempt < 3 ? { status: 503, retryAfter: "1800" } : 200));
    await collector.advance(5 * HOUR);
    expect([attemptsAt(B), attemptsAt(C)]).toEqual([[2, 3], []]);
    // The count continues without a gap.
    const later = attemptsAt(A);
    expect(later).toEqual(later.map((_, index) => early + 1 + index));
    expect(await outcomes("m1")).toMatchObject([{ state: "delivered" }]);
  });

  it("makes the last attempt at each between 3 h 45 and 4 h, and names the URLs that failed", async () => {
    await collector.connect({ success: "each", webhooks: [{ url: A }, { url: B }, { url: C }] });
    collector.webhooks.script(A, 503);
    collector.webhooks.script(B, "hang");
    await collector.send(track("m1"));
    await collector.advance(6 * HOUR);
    for (const url of [A, B]) {
      const times = collector.webhooks.requests.filter((request) => request.url === url);
      const lastMs = (times.at(-1)?.atMs ?? 0) - (times[0]?.atMs ?? 0);
      expect(lastMs).toBeGreaterThanOrEqual(3.75 * HOUR - 5_000);
      expect(lastMs).toBeLessThan(4 * HOUR);
    }
    const [outcome] = await outcomes("m1");
    expect(outcome?.state).toBe("failed");
    expect(outcome?.reason).toMatch(/^(gave up after 4 h of retries|failed in an earlier round at)/);
    expect(ids(C)).toEqual(["m1"]);
  });

  it("is not slowed down by a URL that hangs, which does not make the destination count as dead", async () => {
    await collector.connect({
      success: "each",
      webhooks: [{ url: A }, { url: B }],
      concurrency: 5,
    });
    collector.webhooks.script(A, "hang");
    for (let batch = 0; batch < 60; batch++) {
      await collector.send(
        ...many(5).map((message) => ({ ...message, messageId: `${batch}-${message.messageId}` })),
      );
      await collector.advance(1_000);
    }
    expect(new Set(ids(B)).size).toBe(300);
    expect(ids(B)).toHaveLength(300);
    expect(ids(A).length).toBeLessThan(100);
    collector.webhooks.script(A, 200);
    await collector.advance(HOUR);
    expect(new Set(ids(A)).size).toBe(300);
    expect(await outcomes("0-m0")).toMatchObject([{ state: "delivered" }]);
    expect(ids(B)).toHaveLength(300);
  });

  it("fails when one refused permanently, after the others have accepted it, even after a restart", async () => {
    await collector.connect({ success: "each", webhooks: [{ url: A }, { url: B }] });
    collector.webhooks.script(A, 400);
    collector.webhooks.script(B, ({ attempt }) => (attempt < 2 ? 500 : 200));
    await collector.send(track("m1"));
    await collector.advance(MINUTE);
    expect([ids(A).length, ids(B).length]).toEqual([1, 2]);
    expect(await outcomes("m1")).toMatchObject([
      { state: "failed", reason: `failed in an earlier round at ${A}` },
    ]);
  });
});

describe("success: each, when a URL is removed while a message waits for retries", () => {
  const later = ({ attempt }: ScriptedRequest) => (attempt < 2 ? { status: 503, retryAfter: "1800" } : 200);

  it("keeps the retries of the other URLs", async () => {
    const id = await collector.connect({ success: "each", webhooks: [{ url: A }, { url: B }, { url: C }] });
    collector.webhooks.script(A, 503);
    collector.webhooks.script(B, later);
    await collector.send(track("m1"));
    await collector.advance(1_000);
    await collector.api("PATCH", `/destinations/${id}`, {
      settings: { webhooks: [{ url: B }, { url: C }] },
    });
    await collector.advance(10 * MINUTE);
    expect(await outcomes("m1")).toMatchObject([{ state: "pending" }]);
    await collector.advance(HOUR);
    expect([ids(B).length, ids(C).length]).toEqual([2, 1]);
    expect(await outcomes("m1")).toMatchObject([{ state: "delivered" }]);
  });

  it("keeps them when the URL answered 410 to another message, which fails", async () => {
    await collector.connect({ success: "each", webhooks: [{ url: A }, { url: B }] });
    collector.webhooks.script(A, ({ messageId }) => (messageId === "m1" ? 503 : 410));
    collector.webhooks.script(B, later);
    await collector.send(track("m1"));
    await collector.send(track("m2"));
    await collector.advance(HOUR);
    expect(ids(B).sort()).toEqual(["m1", "m1", "m2", "m2"]);
    expect(await outcomes("m1")).toMatchObject([{ state: "delivered" }]);
    expect(await outcomes("m2")).toMatchObject([{ state: "failed" }]);
  });

  it("is delivered when all remaining URLs have accepted it, and failed when one never did", async () => {
    const id = await collector.connect({ success: "each", webhooks: [{ url: A }, { url: B }, { url: C }] });
    collector.webhooks.script(A, 503);
    collector.webhooks.script(B, ({ messageId }) => (messageId === "m1" ? 200 : 400));
    await collector.send(track("m1"), track("m2"));
    await collector.advance(100);
    await collector.api("PATCH", `/destinations/${id}`, {
      settings: { webhooks: [{ url: B }, { url: C }] },
    });
    await collector.advance(HOUR);
    expect(await outcomes("m1")).toMatchObject([
      { state: "delivered", reason: "all remaining URLs have accepted it" },
    ]);
    expect(await outcomes("m2")).toMatchObject([{ state: "failed", reason: "no URL is left to try" }]);
  });
});

describe("a URL that answers 410", () => {
  it("is not called until the webhooks are saved again, and API responses say so", async () => {
    const id = await collector.connect({ webhooks: [{ url: A }, { url: B }] });
    collector.webhooks.script(A, 410);
    await collector.send(track("m1"));
    await collector.advance(1_000);
    await collector.send(track("m2"));
    await collector.advance(1_000);
    expect([ids(A), ids(B)]).toEqual([["m1"], ["m1", "m2"]]);
    expect(await collector.api("GET", `/destinations/${id}`)).toMatchObject({
      settings: { webhooks: [{ url: A, disabled: { reason: "it answered 410 Gone" } }, { url: B }] },
    });

    collector.webhooks.script(A, 200);
    await collector.api("PATCH", `/destinations/${id}`, { settings: { webhooks: [{ url: A }] } });
    await collector.send(track("m3"));
    await collector.advance(1_000);
    expect(ids(A)).toEqual(["m1", "m3"]);
  });

  it("fails messages if it is the only URL, and they can be replayed", async () => {
    const id = await collector.connect({ webhooks: [{ url: A }] });
    collector.webhooks.script(A, 410);
    await collector.send(track("m1"));
    await collector.advance(1_000);
    await collector.send(track("m2"));
    await collector.advance(1_000);
    expect(await outcomes("m1")).toMatchObject([{ state: "failed", reason: "HTTP 410" }]);
    expect(await outcomes("m2")).toMatchObject([
      { state: "failed", reason: "all URLs are disabled because they answered 410" },
    ]);
    collector.webhooks.script(A, 200);
    await collector.api("PATCH", `/destinations/${id}`, { settings: { webhooks: [{ url: A }] } });
    const replay = { filter: { destinationId: id, state: "failed" } };
    expect(await collector.api("POST", "/replays", { ...replay, dryRun: true })).toMatchObject({ count: 2 });
    expect(await collector.api("POST", "/replays", replay)).toMatchObject({ count: 2 });
    await collector.advance(MINUTE);
    expect(await outcomes("m2")).toMatchObject([{ state: "delivered" }]);
    expect(ids(A).sort()).toEqual(["m1", "m1", "m2"]);
  });
});

describe("a dead destination", () => {
  it("gets one probe per backoff step, whatever its backlog, and the whole backlog once it recovers", async () => {
    await collector.connect({ webhooks: [{ url: A }], concurrency: 10 });
    collector.webhooks.script(A, "reset");
    await collector.send(...many(500));
    await collector.advance(HOUR);
    // Ten failures in a row open the breaker. Then probes after 1, 2, 4 … 120 s, with jitter down to half.
    expect(ids(A).length).toBeLessThanOrEqual(10 + 10 + 7 + 60);
    const late = collector.webhooks.requests.slice(30).map(({ atMs }) => atMs);
    expect(Math.min(...late.slice(1).map((atMs, index) => atMs - (late[index] ?? 0)))).toBeGreaterThanOrEqual(
      MINUTE,
    );

    collector.webhooks.script(A, 200);
    await collector.advance(16 * MINUTE);
    expect(new Set(ids(A)).size).toBe(500);
    for (const messageId of ["m0", "m250", "m499"]) {
      expect(await outcomes(messageId)).toMatchObject([{ state: "delivered" }]);
    }
  });

  it("still gets each attempted message once more at the end of the retry window", async () => {
    await collector.connect({ webhooks: [{ url: A }], concurrency: 10 });
    collector.webhooks.script(A, 500);
    await collector.send(...many(10));
    await collector.advance(5 * HOUR);
    const byMessage = Map.groupBy(collector.webhooks.requests, ({ messageId }) => messageId);
    for (const requests of byMessage.values()) {
      const span = (requests.at(-1)?.atMs ?? 0) - (requests[0]?.atMs ?? 0);
      expect(span).toBeGreaterThanOrEqual(3.75 * HOUR);
      expect(span).toBeLessThan(4 * HOUR);
    }
    expect(await collector.api("GET", "/deliveries?state=failed")).toMatchObject({
      items: Array.from({ length: 10 }, () => ({ reason: "gave up after 4 h of retries: HTTP 500" })),
    });
  });

  it("is probed at once after a successful test send", async () => {
    const id = await collector.connect({ webhooks: [{ url: A }], concurrency: 10 });
    const waiting = async () =>
      ((await collector.api("GET", `/destinations/${id}/status`)) as { waiting: number }).waiting;
    collector.webhooks.script(A, 500);
    await collector.send(...many(30));
    await collector.advance(HOUR);
    expect(await collector.api("POST", `/destinations/${id}/test`)).toMatchObject({ state: "pending" });
    await collector.advance(100);
    expect(await waiting()).toBe(30);

    collector.webhooks.script(A, 200);
    expect(await collector.api("POST", `/destinations/${id}/test`)).toMatchObject({ state: "delivered" });
    await collector.advance(100);
    expect(await waiting()).toBeLessThan(30);
  });

  it("does not delay another destination", async () => {
    await collector.connect({ webhooks: [{ url: A }] });
    await collector.connect({ webhooks: [{ url: B }] });
    collector.webhooks.script(A, "hang");
    await collector.send(...many(300));
    await collector.advance(0);
    expect(ids(B)).toHaveLength(300);
  });

  it("gets no request until its Retry-After has passed", async () => {
    await collector.connect({ webhooks: [{ url: A }], concurrency: 20 });
    collector.webhooks.script(A, { status: 429, retryAfter: "600" });
    await collector.send(...many(100));
    await collector.advance(1_000);
    const before = ids(A).length;
    await collector.advance(9 * MINUTE);
    expect(ids(A).length).toBe(before);
    collector.webhooks.script(A, 200);
    await collector.advance(4 * MINUTE);
    expect(new Set(ids(A)).size).toBe(100);
  });
});

describe("a burst of messages that fail once", () => {
  it("is retried with few messages at first, and twice as many with each round trip", async () => {
    await collector.connect({ webhooks: [{ url: A }], concurrency: 1_000 });
    collector.webhooks.script(A, ({ attempt }) => (attempt === 1 ? 503 : { status: 200, latencyMs: 1_000 }));
    await collector.send(...many(1_000));
    await collector.advance(10 * MINUTE);
    const again = collector.webhooks.requests.filter(({ attempt }) => attempt === 2);
    expect(again).toHaveLength(1_000);
    const [{ atMs: firstMs = 0 } = {}] = again;
    // The first one is the probe of the circuit breaker.
    const within = (ms: number): number => again.filter(({ atMs }) => atMs < firstMs + ms).length;
    expect(within(1_000)).toBe(1);
    expect(within(4_000)).toBeLessThanOrEqual(16);
    expect(within(60_000)).toBe(1_000);
  });
});

describe("a disabled destination", () => {
  it("shows new messages as skipped at once, and queued ones as pending", async () => {
    const id = await collector.connect({ webhooks: [{ url: A }] });
    collector.webhooks.script(A, 503);
    await collector.send(track("queued"));
    await collector.advance(100);
    await collector.api("PATCH", `/destinations/${id}`, { enabled: false });
    await collector.send(track("meanwhile"));
    await collector.advance(MINUTE);
    expect(await outcomes("queued")).toMatchObject([{ state: "pending" }]);
    expect(await outcomes("meanwhile")).toMatchObject([
      { state: "skipped", reason: "the destination was disabled" },
    ]);
    collector.webhooks.script(A, 200);
    await collector.api("PATCH", `/destinations/${id}`, { enabled: true });
    await collector.advance(MINUTE);
    expect(await outcomes("queued")).toMatchObject([{ state: "delivered" }]);
    expect(await outcomes("meanwhile")).toMatchObject([{ state: "skipped" }]);
    expect(new Set(ids(A))).toEqual(new Set(["queued"]));
  });
});

describe("a rate limit", () => {
  it("is kept in every second", async () => {
    await collector.connect({ webhooks: [{ url: A }], rateLimit: 10 });
    await collector.send(...many(100));
    await collector.advance(9_500);
    expect(ids(A).length).toBeGreaterThanOrEqual(95);
    await collector.advance(2_000);
    expect(ids(A)).toHaveLength(100);
    const times = collector.webhooks.requests.map(({ atMs }) => atMs);
    // A burst of ten saved-up permits, and then one per 100 ms.
    for (let index = 20; index < times.length; index++) {
      expect((times[index] ?? 0) - (times[index - 10] ?? 0)).toBeGreaterThanOrEqual(990);
    }
  });
});

describe("order: user", () => {
  const order = (userId: string): string[] => {
    const taken = new Map<string, ScriptedRequest>();
    for (const request of collector.webhooks.requests) {
      if (JSON.parse(request.body).userId === userId) taken.set(request.messageId, request);
    }
    return [...taken.values()].sort((a, b) => a.atMs - b.atMs).map(({ messageId }) => messageId);
  };
  /** The messages in the order in which the webhook accepted them. */
  const takenBy = (fails: (request: ScriptedRequest) => boolean): string[] => {
    const taken: string[] = [];
    collector.webhooks.script(A, (request) => {
      if (fails(request)) return 503;
      taken.push(request.messageId);
      return 200;
    });
    return taken;
  };

  it("delivers a user's messages one at a time, in log order", async () => {
    await collector.connect({ webhooks: [{ url: A }], order: "user" });
    // Earlier messages get slower responses.
    collector.webhooks.script(A, ({ messageId }) => ({
      status: 200,
      latencyMs: 100 - Number(messageId.slice(1)),
    }));
    await collector.send(...Array.from({ length: 20 }, (_, index) => track(`m${index}`)));
    await collector.advance(MINUTE);
    expect(order("u1")).toEqual(Array.from({ length: 20 }, (_, index) => `m${index}`));
  });

  it("delays only the user whose message fails, until it is finished", async () => {
    await collector.connect({ webhooks: [{ url: A }], order: "user" });
    const taken = takenBy(({ messageId, attempt }) => messageId === "a1" && attempt < 5);
    await collector.send(
      track("a1", "a"),
      track("b1", "b"),
      track("a2", "a"),
      track("b2", "b"),
      track("a3", "a"),
    );
    await collector.advance(0);
    expect(taken).toEqual(["b1", "b2"]);
    await collector.send(track("a4", "a"), track("b3", "b"));
    await collector.advance(0);
    expect(taken).toEqual(["b1", "b2", "b3"]);
    await collector.advance(10 * MINUTE);
    expect(taken).toEqual(["b1", "b2", "b3", "a1", "a2", "a3", "a4"]);
  });

  it("continues with the next message after a permanent failure", async () => {
    await collector.connect({ webhooks: [{ url: A }], order: "user" });
    collector.webhooks.script(A, ({ messageId }) => (messageId === "m0" ? 400 : 200));
    await collector.send(track("m0"), track("m1"), track("m2"));
    await collector.advance(0);
    expect(order("u1")).toEqual(["m0", "m1", "m2"]);
  });
});
