import { expect, it, onTestFinished } from "vitest";
import { startTestCollector, type TestCollector } from "../../src/testing.js";

const A = "https://hooks.example/a";
const B = "https://hooks.example/b";

async function start(): Promise<TestCollector> {
  const collector = await startTestCollector();
  onTestFinished(() => collector.close());
  return collector;
}

const send = async (collector: TestCollector, messageId: string): Promise<void> => {
  await collector.send({ type: "track", event: "Ordered", userId: "u1", messageId });
  await collector.advance(1_000);
};
const ask = async (collector: TestCollector, path: string, body?: object) => {
  const answer = await fetch(`${collector.url}/api/v1${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${collector.adminToken}` },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: answer.status, body: (await answer.json()) as { [field: string]: unknown } };
};

it("refuses to send to a destination without active URLs, and says where, why and what to do", async () => {
  const collector = await start();
  const id = await collector.connect({ webhooks: [{ url: A }, { url: B }] });
  collector.webhooks.script(A, 410);
  collector.webhooks.script(B, 410);
  await send(collector, "m1");
  const { items } = (await collector.api("GET", "/deliveries?state=failed")) as { items: { id: string }[] };
  const delivery = items[0]?.id;
  const filter = { destinationId: id };
  const refused = {
    status: 409,
    body: {
      code: "url_disabled",
      message: `url_disabled: Nothing can be sent to Webhooks: all its URLs answered 410 Gone and are disabled (${A}, ${B}). Enable them again on the destination's page, then retry`,
      destinationId: id,
      destination: "Webhooks",
    },
  };
  expect(await ask(collector, `/deliveries/${delivery}/retry`)).toMatchObject(refused);
  expect(await ask(collector, "/replays", { filter })).toMatchObject(refused);
  expect(await ask(collector, "/replays", { filter, dryRun: true })).toMatchObject(refused);
  await collector.advance(60_000);
  expect(collector.webhooks.requests).toHaveLength(2);

  collector.webhooks.script(A, 200);
  await collector.api("PATCH", `/destinations/${id}`, { settings: { webhooks: [{ url: A }, { url: B }] } });
  expect(await ask(collector, "/replays", { filter })).toMatchObject({ status: 201, body: { count: 1 } });
  await collector.advance(1_000);
  expect(await collector.api("GET", "/deliveries?state=delivered")).toMatchObject({
    items: [{ messageId: "m1" }],
  });
});

it("refuses to send to a disabled destination, and leaves it out of an operation on all destinations", async () => {
  const collector = await start();
  const id = await collector.connect({ webhooks: [{ url: A }] });
  await collector.connect({ webhooks: [{ url: B }] });
  collector.webhooks.script(A, 400);
  collector.webhooks.script(B, 400);
  await send(collector, "m1");
  await collector.api("PATCH", `/destinations/${id}`, { enabled: false });
  const { items } = (await collector.api("GET", `/deliveries?destinationId=${id}&state=failed`)) as {
    items: { id: string }[];
  };
  const filter = { destinationId: id };
  const refused = {
    status: 409,
    body: {
      code: "destination_disabled",
      message: "destination_disabled: Nothing can be sent to Webhooks: it is disabled. Enable it, then retry",
      destinationId: id,
      destination: "Webhooks",
    },
  };
  expect(await ask(collector, `/deliveries/${items[0]?.id}/retry`)).toMatchObject(refused);
  expect(await ask(collector, "/operations", { kind: "retry", filter })).toMatchObject(refused);
  expect(await ask(collector, "/replays", { filter })).toMatchObject(refused);
  const all = { filter: {}, dryRun: true };
  expect((await ask(collector, "/operations", { kind: "retry", ...all })).body).toEqual({ total: 1 });
  expect((await ask(collector, "/operations", { kind: "discard", ...all })).body).toEqual({ total: 2 });
});

it("sends if one active URL is left", async () => {
  const collector = await start();
  await collector.connect({ webhooks: [{ url: A }, { url: B }] });
  collector.webhooks.script(A, 410);
  collector.webhooks.script(B, 400);
  await send(collector, "m1");
  const { items } = (await collector.api("GET", "/deliveries?state=failed")) as { items: { id: string }[] };
  collector.webhooks.script(B, 200);
  expect((await ask(collector, `/deliveries/${items[0]?.id}/retry`)).status).toBe(202);
});
