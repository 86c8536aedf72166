import { createHmac } from "node:crypto";
import { manualClock } from "@sluice/resilience/testing";
import { describe, expect, it } from "vitest";
import { closeDeliveries, openDelivery } from "./delivery-fixture.js";
import { closeReceivers, type Received, startReceiver } from "./receiver.js";

closeReceivers();
closeDeliveries();

describe("a message delivered to a webhook", () => {
  it("is signed over exactly the bytes that were sent, in the documented order of fields", async () => {
    const receiver = await startReceiver();
    const fixture = await openDelivery();
    // As our SDK sends it.
    const context = { library: { name: "@sluice/node", version: "0.1.0" }, ip: "192.0.2.1" };
    await fixture.create({
      settings: { webhooks: [{ url: receiver.url, headers: { "X-Team": "blue" } }], sharedSecret: "s3cret" },
    });
    await fixture.append([{ messageId: "m1", properties: { name: "Zoë", total: 12.5 }, context }], {
      receivedAtMs: Date.UTC(2026, 0, 2, 3, 4, 5, 6),
    });
    await fixture.until("m1", "delivered");

    const [request] = receiver.received;
    expect(JSON.parse(request?.body ?? "")).toEqual({
      version: 1,
      type: "track",
      userId: "u1",
      event: "Ordered",
      properties: { name: "Zoë", total: 12.5 },
      timestamp: "2026-01-02T03:04:05.006Z",
      messageId: "m1",
      context,
    });
    expect(Object.keys(JSON.parse(request?.body ?? "")).slice(0, 6)).toEqual([
      "version",
      "type",
      "userId",
      "event",
      "properties",
      "timestamp",
    ]);
    expect(request).toMatchObject({
      method: "POST",
      path: "/hook",
      messageId: "m1",
      attempt: 1,
      headers: {
        "user-agent": "Sluice/1.0",
        "content-type": "application/json",
        "x-team": "blue",
        // The recipe for receivers in the interface specification.
        "x-signature": createHmac("sha1", "s3cret")
          .update(JSON.stringify(JSON.parse(request?.body ?? "")))
          .digest("hex"),
      },
    });
    expect(await fixture.deliveries("m1")).toMatchObject([
      { state: "delivered", reason: "HTTP 200", rounds: 1 },
    ]);
  });

  it("has no signature header without a secret", async () => {
    const receiver = await startReceiver();
    const fixture = await openDelivery();
    await fixture.create({ settings: { webhookUrl: receiver.url } });
    await fixture.append([{ messageId: "m1" }]);
    await fixture.until("m1", "delivered");
    expect(receiver.received[0]?.headers).not.toHaveProperty("x-signature");
  });

  it("keeps all digits of an integer that a double cannot represent", async () => {
    const receiver = await startReceiver();
    const fixture = await openDelivery();
    await fixture.create({ settings: { webhookUrl: receiver.url, sharedSecret: "k" } });
    const body =
      '{"batch":[{"type":"track","event":"E","userId":"u1","messageId":"m1","properties":{"id":12345678901234567890}}]}';
    await fixture.store.log.append({
      sourceId: "src_1",
      receivedAtMs: Date.now(),
      body: new TextEncoder().encode(body),
      itemCount: 1,
      skipped: [],
      madeIds: [],
      keys: [{ index: 0, messageId: "m1", userId: "u1", type: "track", event: "E" }],
    });
    await fixture.until("m1", "delivered");
    const [request] = receiver.received;
    expect(request?.body).toContain('"properties":{"id":12345678901234567890}');
    expect(request?.headers["x-signature"]).toBe(
      createHmac("sha1", "k")
        .update(request?.body ?? "")
        .digest("hex"),
    );
  });

  it("is retried under the same id until it is accepted", async () => {
    const clock = manualClock();
    const receiver = await startReceiver();
    const fixture = await openDelivery({ clock });
    const id = await fixture.create({ settings: { webhookUrl: receiver.url } });
    receiver.answer((request: Received) => (request.attempt < 3 ? 500 : 200));
    await fixture.append([{ messageId: "m1" }]);
    await fixture.until("m1", "pending");
    await fixture.toNextAttempt("m1");
    await fixture.until("m1", "pending", { nth: 2 });
    await fixture.toNextAttempt("m1");
    await fixture.until("m1", "delivered");
    expect(receiver.received.map(({ messageId, attempt }) => [messageId, attempt])).toEqual([
      ["m1", 1],
      ["m1", 2],
      ["m1", 3],
    ]);
    expect(await fixture.attempts(id, "m1")).toMatchObject([
      { attempt: 1, status: 500, error: { code: "http_500" }, address: "127.0.0.1" },
      { attempt: 2, status: 500 },
      { attempt: 3, status: 200 },
    ]);
  });

  it("continues after a restart with the same round and due time", async () => {
    const clock = manualClock();
    const receiver = await startReceiver();
    const fixture = await openDelivery({ clock });
    await fixture.create({ settings: { webhookUrl: receiver.url } });
    receiver.answer(503);
    await fixture.append([{ messageId: "m1" }]);
    await fixture.until("m1", "pending");
    const [before] = await fixture.deliveries("m1");
    await fixture.restart();
    expect(await fixture.deliveries("m1")).toEqual([before]);
    receiver.answer(200);
    await fixture.toNextAttempt("m1");
    await fixture.until("m1", "delivered");
    expect(receiver.received.map(({ attempt }) => attempt)).toEqual([1, 2]);
  });
});
