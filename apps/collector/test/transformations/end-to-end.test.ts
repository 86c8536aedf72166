import { expect, it, onTestFinished } from "vitest";
import { openCollector, openReceiver } from "../audiences/collector-world.js";

async function world(code: string, more: { readonly settings?: object; readonly secrets?: object } = {}) {
  const receiver = await openReceiver();
  onTestFinished(() => receiver.close());
  const collector = await openCollector();
  onTestFinished(() => collector.close());
  const { api, sourceId } = collector;
  const { secrets, settings } = more;
  const made = await api("POST", "/transformations", { name: "Shape", code, ...(secrets && { secrets }) });
  expect(made.status, JSON.stringify(made.body)).toBe(201);
  const transformationId = made.body.id as string;
  const created = await api("POST", "/destinations", {
    type: "webhooks",
    name: "Hook",
    sourceIds: [sourceId],
    settings: { webhooks: [{ url: receiver.url }], ...settings },
    transformationId,
  });
  expect(created.status, JSON.stringify(created.body)).toBe(201);
  const save = async (change: object) => {
    const { status, body } = await api("PATCH", `/transformations/${transformationId}`, change);
    expect(status, JSON.stringify(body)).toBe(200);
  };
  return { ...collector, receiver, transformationId, destinationId: created.body.id as string, save };
}

const track = (messageId: string, properties: object = {}) => ({
  type: "track",
  event: "Ordered",
  userId: "ada@example.com",
  messageId,
  properties,
});

it("changes messages with a secret, drops some, and says which version did it", async () => {
  const one = await world(
    `import type { Context, Message } from "@sluice/transformations";
     export default function transform(message: Message, { secrets, sha256 }: Context) {
       if (message.properties?.test) return null;
       message.userId = sha256(message.userId as string, secrets.PEPPER);
       return message;
     }`,
    { secrets: { PEPPER: "s3cret" } },
  );
  await one.send([track("m1", { test: true }), track("m2", { id: 1 })]);
  await one.receiver.until((got) => got.length === 1);
  expect(one.receiver.got[0]).toMatchObject({ messageId: "m2", properties: { id: 1 } });
  expect(one.receiver.got[0].userId).toMatch(/^[0-9a-f]{64}$/);
  const dropped = await one.api("GET", "/wait?messageId=m1&state=filtered&timeoutMs=60000");
  expect(dropped.body.outcomes[0]).toMatchObject({
    state: "filtered",
    reason: "transformed: Shape, version 1 dropped it",
  });
  const shown = await one.api("GET", "/wait?messageId=m2&state=delivered&timeoutMs=60000");
  expect(shown.status).toBe(200);
  const { body } = await one.api("GET", "/messages/m2");
  expect(body.outcomes[0].attempts[0]).toMatchObject({ transformation: "Shape, version 1" });
  // Made again for the page, as it was sent.
  expect(JSON.parse(body.outcomes[0].requestBody.text)).toEqual(one.receiver.got[0]);
  expect(JSON.stringify(body)).not.toContain("s3cret");
});

it("fails messages with the line, and sends them once the code is mended and they are retried", async () => {
  const one = await world(`export default (message) => {
    if (message.properties.n === 1) {
      throw new Error("no name for " + message.userId);
    }
    return message;
  }`);
  await one.send([track("m1", { n: 1 }), track("m2", { n: 2 })]);
  await one.receiver.until((got) => got.length === 1);
  await one.api("GET", "/wait?messageId=m1&state=failed&timeoutMs=60000");
  const failed = await one.api("GET", "/messages/m1");
  expect(failed.body.outcomes[0]).toMatchObject({
    state: "failed",
    reason: "transform_failed: Shape, version 1: line 3, Error",
  });
  const [attempt] = failed.body.outcomes[0].attempts;
  expect(attempt).toMatchObject({ url: `transformation:${one.transformationId}` });
  expect(attempt.error.message).toContain("no name for ada@example.com");
  const groups = await one.api("GET", `/delivery-groups?destinationId=${one.destinationId}`);
  expect(groups.body.items).toMatchObject([{ cause: "transform_failed", count: 1 }]);

  await one.save({ code: "export default (message) => message" });
  const retried = await one.api("POST", "/operations", {
    kind: "retry",
    filter: { destinationId: one.destinationId, cause: "transform_failed" },
  });
  expect(retried.status, JSON.stringify(retried.body)).toBeLessThan(300);
  await one.receiver.until((got) => got.some(({ messageId }) => messageId === "m1"));
});

it("keeps what one message became together in a batch", async () => {
  const one = await world(
    `export default (message) => message.properties.parts.map((part) => ({ ...message, properties: { part } }))`,
    { settings: { batch: { maxMessages: 3, maxAgeMs: 100 } } },
  );
  await one.send([
    track("m1", { parts: [1, 2] }),
    track("m2", { parts: [3, 4] }),
    track("m3", { parts: [5, 6, 7, 8] }),
  ]);
  await one.receiver.until((got) => got.flatMap(({ messages }) => messages).length === 8);
  const ids = one.receiver.got.map(({ messages }) =>
    messages.map(({ messageId }: { messageId: string }) => messageId),
  );
  expect(ids).toEqual([
    ["m1.1", "m1.2"],
    ["m2.1", "m2.2"],
    ["m3.1", "m3.2", "m3.3", "m3.4"],
  ]);
  const { status } = await one.api("GET", "/wait?messageId=m3&state=delivered&timeoutMs=60000");
  expect(status).toBe(200);
});

it("does not hold up a destination whose code is well behaved", async () => {
  const loops = await world("export default function (message) { for (;;) {} }");
  const { api, sourceId, send, receiver } = loops;
  const good = await api("POST", "/transformations", {
    name: "Good",
    code: "export default (message) => ({ ...message, event: message.event + '!' })",
  });
  const created = await api("POST", "/destinations", {
    type: "webhooks",
    name: "Good",
    sourceIds: [sourceId],
    settings: { webhooks: [{ url: receiver.url }] },
    transformationId: good.body.id,
  });
  expect(created.status).toBe(201);
  await send(Array.from({ length: 20 }, (_, at) => track(`m${at}`)));
  await receiver.until((got) => got.length === 20);
  expect(receiver.got.every(({ event }) => event === "Ordered!")).toBe(true);
  const { body } = await api("GET", "/wait?messageId=m0&state=failed&timeoutMs=60000");
  expect(body.outcomes.find(({ state }: { state: string }) => state === "failed").reason).toMatch(
    /^transform_failed: Shape, version 1: (line \d+, )?timeout$/,
  );
});
