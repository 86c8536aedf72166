import { createHmac } from "node:crypto";
import { parsePayloads, verify, verifyStandard } from "@sluice/webhooks";
import { describe, expect, it, onTestFinished } from "vitest";
import {
  type ScriptedAnswer,
  type ScriptedRequest,
  startTestCollector,
  type TestCollector,
} from "../../src/testing.js";

const URL_A = "https://a.example/hook";
const URL_B = "https://b.example/hook";

interface World {
  readonly collector: TestCollector;
  readonly id: string;
}

interface WorldOptions {
  /** Null: no batches. */
  readonly maxMessages?: number | null;
  readonly maxAgeMs?: number;
  readonly [setting: string]: unknown;
}

async function world({ maxMessages = 3, maxAgeMs, ...settings }: WorldOptions = {}): Promise<World> {
  const collector = await startTestCollector();
  onTestFinished(() => collector.close());
  const id = await collector.connect({
    webhooks: [{ url: URL_A }],
    batch: maxMessages === null ? null : { maxMessages, ...(maxAgeMs === undefined ? {} : { maxAgeMs }) },
    ...settings,
  });
  return { collector, id };
}

const track = (messageId: string, more: object = {}) => ({
  type: "track",
  event: "Ordered",
  userId: "u1",
  messageId,
  ...more,
});
const send = async ({ collector }: World, ...ids: readonly string[]): Promise<void> => {
  for (const id of ids) await collector.send(track(id));
};
const idsOf = ({ body }: ScriptedRequest): readonly string[] =>
  (JSON.parse(body) as { messages: { messageId: string }[] }).messages.map(({ messageId }) => messageId);
const batches = ({ collector }: World, url = URL_A): (readonly string[])[] =>
  collector.webhooks.requests.filter((request) => request.url === url).map(idsOf);
const shown = async ({ collector }: World, id: string) =>
  (await collector.api("GET", `/messages/${id}`)) as {
    outcomes: {
      state: string;
      reason: string;
      attempts: { attempt: number; status?: number; requestHeaders?: object }[];
      requestBody?: { text: string };
    }[];
  };
/** Refuses requests with these messages. */
const refusing =
  (status: number, ...ids: readonly string[]) =>
  (request: ScriptedRequest): ScriptedAnswer =>
    idsOf(request).some((id) => ids.includes(id)) ? status : 200;

describe("a batch of messages", () => {
  it("has the bodies of single messages, one signature, and an id of its own", async () => {
    const alone = await world({ maxMessages: null, sharedSecret: "s3cret" });
    const one = await world({ sharedSecret: "s3cret" });
    for (const { collector } of [alone, one]) {
      for (const id of ["m1", "m2", "m3"])
        await collector.send(track(id, { timestamp: "2026-01-01T00:00:00.000Z" }));
      await collector.advance(100);
    }
    const { requests } = one.collector.webhooks;
    expect(requests).toHaveLength(1);
    const [request] = requests;
    if (request === undefined) return;
    const bodies = alone.collector.webhooks.requests.map(({ body }) => body);
    expect(request.body).toBe(`{"messages":[${bodies.join(",")}]}`);
    expect(request.headers).toMatchObject({
      "x-signature": createHmac("sha1", "s3cret").update(request.body).digest("hex"),
      "x-message-id": expect.stringMatching(/^batch_[0-9a-f]{32}$/),
      "x-attempt": "1",
    });
    expect(request.headers["webhook-id"]).toBe(request.messageId);
    expect(verify(request.body, request.headers["x-signature"], "s3cret")).toBe(true);
    expect(
      verifyStandard(
        request.body,
        {
          "webhook-id": request.headers["webhook-id"],
          "webhook-timestamp": request.headers["webhook-timestamp"],
          "webhook-signature": request.headers["webhook-signature"],
        },
        "s3cret",
        request.atMs,
      ),
    ).toBe("valid");
    expect(parsePayloads(request.body)?.messages.map(({ type }) => type)).toEqual([
      "track",
      "track",
      "track",
    ]);
  });

  it("is sent when it is full, when its first message has waited, and before it is too large", async () => {
    const one = await world({ maxMessages: 100, maxAgeMs: 5_000 });
    await send(one, "m1", "m2");
    await one.collector.advance(4_000);
    expect(batches(one)).toEqual([]);
    await one.collector.advance(2_000);
    expect(batches(one)).toEqual([["m1", "m2"]]);
    const large = { properties: { text: "x".repeat(31_000) } };
    for (let index = 0; index < 40; index++) await one.collector.send(track(`l${index}`, large));
    await one.collector.advance(10_000);
    const bodies = one.collector.webhooks.requests.map(({ body }) => Buffer.byteLength(body));
    expect(Math.max(...bodies)).toBeLessThanOrEqual(1_048_576);
    expect(batches(one).flat()).toHaveLength(42);
    expect(new Set(batches(one).flat()).size).toBe(42);
  });

  it("has the messages of a user one by one if they have an order", async () => {
    const one = await world({ order: "user", maxMessages: 10 });
    for (const [id, userId] of [
      ["m1", "u1"],
      ["m2", "u1"],
      ["m3", "u2"],
    ])
      await one.collector.send(track(String(id), { userId }));
    await one.collector.advance(5_000);
    expect(batches(one)).toEqual([["m1", "m3"], ["m2"]]);
  });
});

describe("the response to a batch", () => {
  it("delivers all of it, and shows it at each message", async () => {
    const one = await world({ sharedSecret: "s3cret" });
    await send(one, "m1", "m2", "m3");
    await one.collector.advance(200);
    const { outcomes } = await shown(one, "m2");
    expect(outcomes).toMatchObject([
      {
        state: "delivered",
        reason: "HTTP 200",
        attempts: [{ attempt: 1, status: 200, requestHeaders: { "X-Message-Id": "batch_…" } }],
        requestBody: { text: expect.stringMatching(/^\{"messages":\[\{.*"messageId":"m2".*\}\]\}$/) },
      },
    ]);
  });

  it.each([503, 429, "hang", "reset"] as const)("repeats all of it under its id after %s", async (answer) => {
    const one = await world({ sharedSecret: "s3cret" });
    one.collector.webhooks.script(URL_A, ({ attempt }) => (attempt < 3 ? answer : 200));
    await send(one, "m1", "m2", "m3");
    await one.collector.advance(30_000);
    one.collector.webhooks.script(URL_A, 200);
    await send(one, "m4");
    await one.collector.advance(30_000);
    expect(batches(one)).toEqual([...Array.from({ length: 3 }, () => ["m1", "m2", "m3"]), ["m4"]]);
    const { requests } = one.collector.webhooks;
    expect(requests.map(({ attempt }) => attempt)).toEqual([1, 2, 3, 1]);
    expect(new Set(requests.slice(0, 3).map(({ headers }) => headers["webhook-id"])).size).toBe(1);
    expect(requests[3]?.messageId).not.toBe(requests[0]?.messageId);
    const { outcomes } = await shown(one, "m1");
    expect(outcomes).toMatchObject([
      { state: "delivered", attempts: [{ attempt: 1 }, { attempt: 2 }, { attempt: 3 }] },
    ]);
  });

  it("shows at once that it fails, and counts on in the retry queue", async () => {
    const one = await world();
    one.collector.webhooks.script(URL_A, 503);
    await send(one, "m1", "m2", "m3");
    await one.collector.advance(3_000);
    expect(await one.collector.api("GET", `/destinations/${one.id}/status`)).toMatchObject({
      health: "failing",
    });
    await one.collector.advance(10 * 60_000);
    const { outcomes } = await shown(one, "m1");
    expect(outcomes).toMatchObject([{ state: "pending", reason: "HTTP 503" }]);
    const numbers = outcomes[0]?.attempts.map(({ attempt }) => attempt) ?? [];
    expect(numbers.length).toBeGreaterThan(6);
    expect(numbers).toEqual(numbers.map((_, index) => index + 1));
    one.collector.webhooks.script(URL_A, 200);
    await one.collector.advance(60 * 60_000);
    expect(await shown(one, "m1")).toMatchObject({ outcomes: [{ state: "delivered" }] });
  });

  it.each([400, 413, 422])(
    "sends halves after %i, until only what is refused alone fails",
    async (status) => {
      const one = await world({ maxMessages: 8 });
      one.collector.webhooks.script(URL_A, refusing(status, "m3"));
      await send(one, "m1", "m2", "m3", "m4", "m5", "m6", "m7", "m8");
      await one.collector.advance(2_000);
      expect(batches(one).slice(0, 3)).toEqual([
        ["m1", "m2", "m3", "m4", "m5", "m6", "m7", "m8"],
        ["m1", "m2", "m3", "m4"],
        ["m1", "m2"],
      ]);
      for (const id of ["m1", "m2", "m4", "m5", "m6", "m7", "m8"])
        expect(await shown(one, id)).toMatchObject({ outcomes: [{ state: "delivered" }] });
      expect(await shown(one, "m3")).toMatchObject({
        outcomes: [
          {
            state: "failed",
            reason: `HTTP ${status}`,
            attempts: [1, 2, 3, 4].map((attempt) => ({ attempt, status })),
          },
        ],
      });
    },
  );

  it("learns from a 413 how large a batch may be", async () => {
    const one = await world({ maxMessages: 4 });
    one.collector.webhooks.script(URL_A, ({ body }) => (body.length > 400 ? 413 : 200));
    await send(one, "m1", "m2", "m3", "m4");
    await one.collector.advance(2_000);
    await send(one, "m5", "m6", "m7", "m8");
    await one.collector.advance(2_000);
    expect(batches(one)).toEqual([
      ["m1", "m2", "m3", "m4"],
      ["m1", "m2"],
      ["m3", "m4"],
      ["m5", "m6"],
      ["m7", "m8"],
    ]);
  });

  it("fails all of it if the receiver denies access, and disables a URL that is gone", async () => {
    const one = await world();
    one.collector.webhooks.script(URL_A, 401);
    await send(one, "m1", "m2", "m3");
    await one.collector.advance(2_000);
    expect(batches(one)).toHaveLength(1);
    expect(await shown(one, "m3")).toMatchObject({ outcomes: [{ state: "failed", reason: "HTTP 401" }] });
    one.collector.webhooks.script(URL_A, 410);
    await send(one, "m4", "m5", "m6");
    await one.collector.advance(2_000);
    await send(one, "m7");
    await one.collector.advance(5_000);
    expect(batches(one)).toHaveLength(2);
    expect(await one.collector.api("GET", `/destinations/${one.id}/status`)).toMatchObject({
      health: "url_disabled",
    });
    expect(await shown(one, "m7")).toMatchObject({ outcomes: [{ state: "failed" }] });
  });
});

describe("batches to several URLs", () => {
  const both = { webhooks: [{ url: URL_A }, { url: URL_B }] };

  it("are retried only where they were not accepted", async () => {
    const one = await world({ ...both, success: "each" });
    one.collector.webhooks.script(URL_B, ({ attempt }) => (attempt === 1 ? 503 : 200));
    await send(one, "m1", "m2", "m3");
    await one.collector.advance(60_000);
    expect(batches(one, URL_A)).toEqual([["m1", "m2", "m3"]]);
    expect(batches(one, URL_B).slice(1).flat().sort()).toEqual(["m1", "m2", "m3"]);
    expect(await shown(one, "m1")).toMatchObject({ outcomes: [{ state: "delivered" }] });
  });

  it("go in halves only to the URL that refused their data", async () => {
    const one = await world({ ...both, success: "each" });
    one.collector.webhooks.script(URL_B, refusing(413, "m1"));
    await send(one, "m1", "m2", "m3");
    await one.collector.advance(2_000);
    expect(batches(one, URL_A)).toEqual([["m1", "m2", "m3"]]);
    expect(await shown(one, "m1")).toMatchObject({ outcomes: [{ state: "failed" }] });
    expect(await shown(one, "m3")).toMatchObject({ outcomes: [{ state: "delivered" }] });
  });

  it("are not repeated where a URL refused them for good", async () => {
    const one = await world(both);
    one.collector.webhooks.script(URL_A, 404);
    one.collector.webhooks.script(URL_B, ({ attempt }) => (attempt < 3 ? 503 : 200));
    await send(one, "m1", "m2", "m3");
    await one.collector.advance(10 * 60_000);
    expect(batches(one, URL_A)).toHaveLength(1);
    expect(await shown(one, "m1")).toMatchObject({ outcomes: [{ state: "delivered" }] });
  });

  it("are delivered when one of them accepts", async () => {
    const one = await world(both);
    one.collector.webhooks.script(URL_A, "hang");
    await send(one, "m1", "m2", "m3");
    await one.collector.advance(200);
    expect(await shown(one, "m1")).toMatchObject({ outcomes: [{ state: "delivered" }] });
  });
});

it("gets the deletion of a user in a batch, behind the messages before it", async () => {
  const one = await world({ maxMessages: 10, maxAgeMs: 1_000 });
  await send(one, "m1");
  await one.collector.advance(2_000);
  await one.collector.api("POST", "/deletions", { userIds: ["u1"] });
  await one.collector.advance(10_000);
  const bodies = one.collector.webhooks.requests.map(({ body }) => JSON.parse(body).messages);
  expect(bodies).toMatchObject([[{ messageId: "m1" }], [{ type: "delete", userId: "u1" }]]);
});

it("replays and retries by hand in batches", async () => {
  const one = await world();
  one.collector.webhooks.script(URL_A, 401);
  await send(one, "m1", "m2", "m3");
  await one.collector.advance(2_000);
  one.collector.webhooks.script(URL_A, 200);
  const filter = { destinationId: one.id, state: "failed" };
  await one.collector.api("POST", "/operations", { kind: "retry", filter });
  await one.collector.advance(10_000);
  expect(batches(one).slice(1).flat().sort()).toEqual(["m1", "m2", "m3"]);
  await one.collector.api("POST", "/operations", {
    kind: "replay",
    filter: { destinationId: one.id, state: "delivered" },
  });
  await one.collector.advance(10_000);
  expect(batches(one).flat()).toHaveLength(9);
  expect(await shown(one, "m1")).toMatchObject({ outcomes: [{ state: "delivered" }] });
});

it("sends a test message at once, as a batch of one", async () => {
  const one = await world({ maxMessages: 100, maxAgeMs: 60_000 });
  expect(await one.collector.api("POST", `/destinations/${one.id}/test`, {})).toMatchObject({
    state: "delivered",
    attempts: [{ status: 200 }],
  });
  expect(JSON.parse(one.collector.webhooks.requests[0]?.body ?? "")).toMatchObject({
    messages: [{ event: "Test Event" }],
  });
});

it("repeats what a stop cut off under the same id", async () => {
  const one = await world({ maxMessages: 100 });
  one.collector.webhooks.script(URL_A, "hang");
  await send(one, "m1", "m2");
  await one.collector.advance(2_000);
  const { store, clock, webhooks } = one.collector;
  await one.collector.close();
  const again = await startTestCollector({ store, clock });
  onTestFinished(() => again.close());
  await again.advance(5_000);
  const [before] = webhooks.requests;
  expect(again.webhooks.requests).toMatchObject([
    { body: before?.body, attempt: 1, messageId: before?.messageId },
  ]);
});
