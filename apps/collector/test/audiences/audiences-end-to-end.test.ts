import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type CollectorWorld, openCollector, openReceiver } from "./collector-world.js";

const PRO = { kind: "trait", trait: "plan", is: "equals", value: "pro" };

let world: CollectorWorld;
let receiver: Awaited<ReturnType<typeof openReceiver>>;
let other: Awaited<ReturnType<typeof openReceiver>>;
let destinationId: string;
beforeEach(async () => {
  world = await openCollector();
  receiver = await openReceiver();
  other = await openReceiver();
  destinationId = await world.webhook(receiver.url, []);
});
afterEach(async () => {
  await world.close();
  await receiver.close();
  await other.close();
});

const identify = (userId: string, plan: string) => ({ type: "identify", userId, traits: { plan } });

describe("an audience", () => {
  test("tells its destinations who is in it, then who enters and leaves, and no others", async () => {
    await world.webhook(other.url, [world.sourceId]);
    await world.send([identify("ann", "pro"), identify("bob", "free")]);
    await other.until((got) => got.length === 2);
    const created = await world.api("POST", "/audiences", {
      name: "Pro Users",
      condition: PRO,
      destinationIds: [destinationId],
    });
    expect(created.status).toBe(201);
    expect(created.body).toMatchObject({ key: "pro_users", enabled: true });
    await receiver.until((got) => got.length === 1);
    await world.send([identify("bob", "pro")]);
    await receiver.until((got) => got.length === 2);
    await world.send([identify("ann", "free")]);
    await receiver.until((got) => got.length === 3);
    expect(receiver.got.map(({ type, userId, traits }) => [type, userId, traits])).toEqual([
      ["identify", "ann", { pro_users: true }],
      ["identify", "bob", { pro_users: true }],
      ["identify", "ann", { pro_users: false }],
    ]);
    expect(other.got.filter((message) => "pro_users" in (message.traits ?? {}))).toEqual([]);

    const stored = await world.api("GET", `/messages/${receiver.got[0].messageId}`);
    expect(stored.body.outcomes).toMatchObject([{ destinationId, state: "delivered" }]);
    const { body: audience } = await world.api("GET", `/audiences/${created.body.id}`);
    expect(audience).toMatchObject({ size: 1, status: { state: "live" } });
    const { body: members } = await world.api("GET", `/audiences/${created.body.id}/members`);
    expect(members.items).toMatchObject([{ userId: "bob" }]);
    const { body: why } = await world.api("GET", `/audiences/${created.body.id}/why?userId=ann`);
    expect(why).toMatchObject({ member: false, explanation: { holds: false, seen: "free" } });
    const { body: profile } = await world.api("GET", "/profiles/bob");
    expect(profile).toMatchObject({ userId: "bob", traits: { plan: "pro" }, audiences: [{ member: true }] });
  });

  test("tells each user in order, also when the receiver fails in between and the collector is started again", async () => {
    // Three rounds that fail are waited for 1, 2 and 4 s at the most.
    let failures = 3;
    const failing = await openReceiver(() => (failures-- > 0 ? 503 : 200));
    const id = await world.webhook(failing.url, []);
    await world.api("POST", "/audiences", { name: "Pro", condition: PRO, destinationIds: [id] });
    const plans = ["pro", "free", "pro", "free", "pro"];
    await world.send(plans.map((plan) => identify("ann", plan)));
    await failing.until(() => failing.came.length >= 1);
    await world.restart();
    await failing.until((got) => got.length === plans.length);
    expect(failing.got.map((message) => message.traits.pro)).toEqual([true, false, true, false, true]);
    await failing.close();
  });

  test("goes on where it was after a restart", async () => {
    await world.api("POST", "/audiences", { name: "Pro", condition: PRO, destinationIds: [destinationId] });
    await world.send([identify("ann", "pro")]);
    await receiver.until((got) => got.length === 1);
    await world.restart();
    await world.send([identify("bob", "pro"), identify("ann", "free")]);
    await receiver.until((got) => got.length === 3);
    expect(receiver.got.map(({ userId, traits }) => `${userId}:${traits.pro}`).sort()).toEqual([
      "ann:false",
      "ann:true",
      "bob:true",
    ]);
  });

  test("is previewed over history before there is one", async () => {
    const order = (userId: string) => ({ type: "track", userId, event: "Order" });
    await world.send([order("ann"), order("ann"), order("bob")]);
    const { body } = await world.api("POST", "/audiences/preview", {
      condition: { kind: "event", event: "Order", times: { atLeast: 2 }, withinMs: 86_400_000 },
    });
    expect(body).toMatchObject({ size: 1, evaluated: 2, sample: [{ userId: "ann" }] });
  });

  test("is refused where it makes no sense, at the node", async () => {
    const ask = (body: object) => world.api("POST", "/audiences", body);
    const twice = { name: "Pro Users", condition: PRO };
    expect((await ask(twice)).status).toBe(201);
    expect(await ask({ ...twice, name: "pro-users" })).toMatchObject({
      status: 409,
      body: { code: "conflict" },
    });
    expect(await ask({ name: "!!!", condition: PRO })).toMatchObject({ status: 400 });
    expect(
      await ask({ name: "A", condition: { kind: "not", condition: { kind: "trait", trait: "x" } } }),
    ).toMatchObject({
      status: 400,
      body: { code: "invalid_request", issues: [{ path: "condition.condition.is" }] },
    });
    expect(await ask({ name: "B", condition: PRO, destinationIds: ["dst_none"] })).toMatchObject({
      status: 400,
      body: { issues: [{ path: "destinationIds[0]", code: "destination_unknown" }] },
    });
    expect(await ask({ name: "C", condition: { kind: "audience", audienceId: "aud_none" } })).toMatchObject({
      status: 400,
      body: { issues: [{ code: "audience_unknown" }] },
    });
  });

  test("of two that are made at once under one name, one is refused", async () => {
    const made = await Promise.all(
      ["Pro Users", "pro users"].map((name) => world.api("POST", "/audiences", { name, condition: PRO })),
    );
    expect(made.map((answer) => answer.status).sort()).toEqual([201, 409]);
  });

  test("cannot depend on itself, nor be deleted while another depends on it", async () => {
    const { body: first } = await world.api("POST", "/audiences", { name: "First", condition: PRO });
    const { body: second } = await world.api("POST", "/audiences", {
      name: "Second",
      condition: { kind: "audience", audienceId: first.id },
    });
    const circle = await world.api("PATCH", `/audiences/${first.id}`, {
      condition: { kind: "audience", audienceId: second.id },
    });
    expect(circle).toMatchObject({ status: 400, body: { issues: [{ code: "audience_circular" }] } });
    expect(await world.api("DELETE", `/audiences/${first.id}`)).toMatchObject({ status: 409 });
    expect(await world.api("DELETE", `/audiences/${second.id}`)).toMatchObject({ status: 204 });
    expect(await world.api("DELETE", `/audiences/${first.id}`)).toMatchObject({ status: 204 });
    expect(await world.api("GET", `/audiences/${first.id}`)).toMatchObject({ status: 404 });
  });
});

describe("a computed trait", () => {
  test("is sent on change, and an audience can look at it", async () => {
    const trait = await world.api("POST", "/computed-traits", {
      name: "Total Spent",
      kind: "sum",
      event: "Order",
      property: "price",
      destinationIds: [destinationId],
    });
    expect(trait).toMatchObject({ status: 201, body: { key: "total_spent" } });
    await world.api("POST", "/audiences", {
      name: "Big",
      condition: { kind: "trait", trait: "total_spent", is: "greater", value: 10 },
      destinationIds: [destinationId],
    });
    await world.send([{ type: "track", userId: "ann", event: "Order", properties: { price: 12 } }]);
    await receiver.until((got) => got.length === 2);
    expect(receiver.got.map((message) => message.traits)).toEqual([{ total_spent: 12 }, { big: true }]);
    expect(
      await world.api("POST", "/computed-traits", { name: "Sum", kind: "sum", event: "Order" }),
    ).toMatchObject({ status: 400, body: { issues: [{ path: "property" }] } });
  });

  test("is previewed over history before there is one, and its values are listed once there is", async () => {
    const order = (userId: string, price: number) => ({
      type: "track",
      userId,
      event: "Order",
      properties: { price },
    });
    await world.send([
      order("ann", 2),
      order("ann", 3),
      order("bob", 4),
      { type: "identify", userId: "cyd" },
    ]);
    const definition = { kind: "sum", event: "Order", property: "price" };
    const { body: preview } = await world.api("POST", "/computed-traits/preview", definition);
    const values = [
      { userId: "ann", value: 5 },
      { userId: "bob", value: 4 },
    ];
    expect(preview).toEqual({ size: 2, evaluated: 3, sample: values, tookMs: expect.any(Number) });
    expect((await world.api("GET", "/computed-traits")).body).toEqual({ items: [] });
    const { body } = await world.api("POST", "/computed-traits", {
      ...definition,
      name: "Spent",
      destinationIds: [destinationId],
    });
    await receiver.until((got) => got.length === 2);
    const { id } = body as { readonly id: string };
    expect((await world.api("GET", `/computed-traits/${id}/values`)).body).toEqual({ items: values });
    const first = (await world.api("GET", `/computed-traits/${id}/values?limit=1`)).body as {
      readonly items: unknown;
      readonly nextCursor: string;
    };
    expect(first.items).toEqual(values.slice(0, 1));
    const rest = await world.api("GET", `/computed-traits/${id}/values?limit=1&cursor=${first.nextCursor}`);
    expect(rest.body).toMatchObject({ items: values.slice(1) });
  });

  test("is not previewed where it makes no sense, nor listed where there is none", async () => {
    for (const [wrong, path] of [
      [{ kind: "sum", event: "Order" }, "property"],
      [{ kind: "count", event: "Order", withinMs: 400 * 86_400_000 * 1_000 }, "withinMs"],
    ] as const)
      expect(await world.api("POST", "/computed-traits/preview", wrong)).toMatchObject({
        status: 400,
        body: { code: "invalid_request", issues: [{ path }] },
      });
    expect(await world.api("POST", "/computed-traits/preview", { kind: "sums", event: "x" })).toMatchObject({
      status: 400,
    });
    expect(await world.api("GET", "/computed-traits/ctr_none/values")).toMatchObject({ status: 404 });
  });
});
