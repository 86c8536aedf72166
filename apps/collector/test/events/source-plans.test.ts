import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type CollectorWorld, openCollector } from "../audiences/collector-world.js";

let world: CollectorWorld;
beforeAll(async () => {
  world = await openCollector();
});
afterAll(() => world.close());

const PLAN = {
  track: { Paid: { type: "object", properties: { total: { type: "number" } }, required: ["total"] } },
  page: { Home: {} },
};
const paid = (messageId: string, properties: object) => ({
  type: "track",
  userId: "u1",
  event: "Paid",
  messageId,
  properties,
});

async function newSource(mode?: string): Promise<{ id: string; writeKey: string }> {
  const { body } = await world.api("POST", "/sources", { name: "Shop" });
  if (mode !== undefined) await world.api("PUT", `/sources/${body.id}/plan`, { plan: PLAN, mode });
  return { id: body.id, writeKey: body.writeKeys[0].key };
}

/** The names of a source, when everything has been counted. */
// biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape
async function eventsOf(sourceId: string): Promise<any> {
  for (;;) {
    const { body } = await world.api("GET", `/sources/${sourceId}/events`);
    if (body.behind === 0) return body;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

async function violationsMetric(sourceId: string, mode: string): Promise<number> {
  const metrics = await world.metrics();
  const line = metrics
    .split("\n")
    .find((text) => text.startsWith(`sluice_plan_violations_total{source="${sourceId}",mode="${mode}"}`));
  return Number(line?.split(" ").at(-1) ?? 0);
}

describe("a source's plan", () => {
  it("is stored, shown, replaced and removed", async () => {
    const { id } = await newSource();
    expect((await world.api("GET", `/sources/${id}/plan`)).status).toBe(404);
    const { body } = await world.api("PUT", `/sources/${id}/plan`, { plan: PLAN });
    expect(body).toMatchObject({ mode: "report", plan: PLAN, version: 1 });
    expect((await world.api("PUT", `/sources/${id}/plan`, { plan: PLAN, mode: "refuse" })).body.version).toBe(
      2,
    );
    // The mode stays if it is not given.
    expect((await world.api("PUT", `/sources/${id}/plan`, { plan: {} })).body.mode).toBe("refuse");
    expect((await world.api("DELETE", `/sources/${id}/plan`)).status).toBe(204);
    expect((await world.api("DELETE", `/sources/${id}/plan`)).status).toBe(404);
  });

  it("is refused with every mistake that it has", async () => {
    const { id } = await newSource();
    const plan = { track: { A: { if: {} }, B: { properties: { x: { type: "float" } } } } };
    const { status, body } = await world.api("PUT", `/sources/${id}/plan`, { plan });
    expect(status).toBe(400);
    expect(body.message).toContain("plan/track/A/if: `if` is not supported");
    expect(body.issues.map((issue: { path: string }) => issue.path)).toEqual([
      "plan/track/A/if",
      "plan/track/B/properties/x/type",
    ]);
  });

  it("goes with its source", async () => {
    const { id } = await newSource("report");
    await world.api("DELETE", `/sources/${id}`);
    expect(await world.collector.store.config.get("source_plan", id)).toBeUndefined();
  });
});

describe("refuse", () => {
  it("refuses the messages that violate the plan, and stores the others", async () => {
    const { id, writeKey } = await newSource("refuse");
    const answer = await world.send(
      [paid("r1", { total: "5" }), paid("r2", { total: 5 }), { type: "track", userId: "u1", event: "Other" }],
      writeKey,
    );
    expect(answer).toEqual({
      success: true,
      accepted: 2,
      rejected: [
        {
          index: 0,
          messageId: "r1",
          code: "plan_violation",
          message: "`properties.total` must be a number, and is a string",
        },
      ],
    });
    const { body: rejected } = await world.api("GET", `/rejected-messages?sourceId=${id}`);
    expect(rejected.items[0].issues[0]).toMatchObject({ code: "plan_violation", path: "properties.total" });
    const { items } = await eventsOf(id);
    expect(items).toMatchObject([
      { name: "Other", count: 1, isPlanned: false, violations: 0 },
      {
        name: "Paid",
        count: 1,
        isPlanned: true,
        violations: 1,
        lastViolation: { path: "properties.total" },
      },
    ]);
    expect(await violationsMetric(id, "refuse")).toBe(1);
  });

  it("is in force for the first request after it was answered", async () => {
    const { id, writeKey } = await newSource();
    expect((await world.send([paid("f1", {})], writeKey)).accepted).toBe(1);
    await world.api("PUT", `/sources/${id}/plan`, { plan: PLAN, mode: "refuse" });
    expect((await world.send([paid("f2", {})], writeKey)).accepted).toBe(0);
    await world.api("DELETE", `/sources/${id}/plan`);
    expect((await world.send([paid("f3", {})], writeKey)).accepted).toBe(1);
  });

  it("answers a single message with its violations", async () => {
    const { writeKey } = await newSource("refuse");
    const response = await fetch(`${world.collector.url}/v1/track`, {
      method: "POST",
      headers: { authorization: `Basic ${btoa(`${writeKey}:`)}` },
      body: JSON.stringify({ userId: "u", event: "Paid" }),
    });
    expect([response.status, ((await response.json()) as { message: string }).message]).toEqual([
      400,
      expect.stringContaining("must have the property `total`"),
    ]);
  });
});

describe("report", () => {
  it("stores the messages that violate the plan, counts them and shows why", async () => {
    const { id, writeKey } = await newSource("report");
    expect((await world.send([paid("p1", {}), paid("p2", { total: 1 })], writeKey)).accepted).toBe(2);
    const { items } = await eventsOf(id);
    expect(items).toMatchObject([
      {
        name: "Paid",
        count: 2,
        violations: 1,
        lastViolation: {
          path: "properties",
          message: "`properties` must have the property `total`",
        },
      },
    ]);
    const { body } = await world.api("GET", `/messages/p1?sourceId=${id}`);
    expect(body.issues).toMatchObject([{ code: "plan_violation", path: "properties" }]);
    const { body: list } = await world.api("GET", `/messages?sourceId=${id}`);
    expect(list.items.map((item: { violations?: unknown[] }) => item.violations?.length)).toEqual([
      undefined,
      1,
    ]);
    expect(await violationsMetric(id, "report")).toBe(1);
  });
});

describe("the event catalog", () => {
  it("has kinds, names, counts, types and an example, and survives a restart", async () => {
    const { id, writeKey } = await newSource();
    await world.send(
      [
        { type: "track", userId: "u1", event: "Seen", messageId: "c1", properties: { a: 1, b: "x" } },
        { type: "track", userId: "u1", event: "Seen", messageId: "c2", properties: { a: 1.5 } },
        { type: "page", userId: "u1", name: "Home", messageId: "c3" },
        { type: "identify", userId: "u1", messageId: "c4", traits: { email: "a@b.c" } },
      ],
      writeKey,
    );
    const expected = [
      { type: "identify", count: 1, properties: [{ name: "email", types: ["string"], seen: 1 }] },
      { type: "page", name: "Home", count: 1, properties: [] },
      {
        type: "track",
        name: "Seen",
        count: 2,
        properties: [
          { name: "a", types: ["integer", "number"], seen: 2 },
          { name: "b", types: ["string"], seen: 1 },
        ],
        example: { messageId: "c2", data: { a: 1.5 } },
      },
    ];
    expect((await eventsOf(id)).items).toMatchObject(expected);
    await world.restart();
    expect((await eventsOf(id)).items).toMatchObject(expected);
  });

  it("shows no example of a user who was deleted", async () => {
    const { id, writeKey } = await newSource();
    await world.send(
      [{ type: "track", userId: "gone", event: "Seen", messageId: "d1", properties: { secret: "x" } }],
      writeKey,
    );
    expect((await eventsOf(id)).items[0].example).toMatchObject({ data: { secret: "x" } });
    await world.collector.store.purge({ userId: "gone" });
    const [entry] = (await eventsOf(id)).items;
    expect(entry.count).toBe(1);
    expect(entry.example).toBeUndefined();
  });

  it("keeps 1,000 names, counts the messages with others, and always has room for those of the plan", async () => {
    const { id, writeKey } = await newSource("report");
    for (let first = 0; first < 3_000; first += 500)
      await world.send(
        Array.from({ length: 500 }, (_, i) => ({
          type: "track",
          userId: "u",
          event: `Made up ${first + i}`,
          messageId: `h${first + i}`,
        })),
        writeKey,
      );
    await world.send([paid("h-paid", { total: 1 })], writeKey);
    const { names, notKept } = await eventsOf(id);
    expect(names).toBe(1_001);
    expect(notKept).toBe(2_000);
    const { body } = await world.api("GET", `/sources/${id}/events?limit=500`);
    const { body: next } = await world.api(
      "GET",
      `/sources/${id}/events?limit=500&cursor=${encodeURIComponent(body.nextCursor)}`,
    );
    expect([body.items.length, next.items.length]).toEqual([500, 500]);
    expect(
      next.items.some(({ name }: { name: string }) =>
        body.items.some((item: { name: string }) => item.name === name),
      ),
    ).toBe(false);
  });

  it("is emptied with the log", async () => {
    const { id, writeKey } = await newSource();
    await world.send([{ type: "track", userId: "u", event: "Before", messageId: "e1" }], writeKey);
    expect((await eventsOf(id)).items).toHaveLength(1);
    await world.api("POST", "/reset");
    expect((await eventsOf(id)).items).toEqual([]);
  });
});
