import { describe, expect, it } from "vitest";
import { openCollector, openReceiver } from "../audiences/collector-world.js";
import { controlApi } from "./control-api.js";

const paid = { messageId: "m-1", type: "track", event: "Paid", userId: "1" };

describe("a reset", () => {
  it("forgets messages and what became of them; the same ids are new, and are delivered again", async () => {
    await using api = await controlApi();
    const { body: source } = await api.ask("POST", "/api/v1/sources", { name: "Shop" });
    await api.ask("POST", "/api/v1/destinations", { type: "scripted", sourceIds: [source.id] });
    await api.clock.advance(0);
    api.destination.outcome = {
      kind: "retry",
      reason: "503",
      doneUrls: [],
      failedUrls: [],
      alive: false,
    };
    await api.receive(source.id, [paid]);
    await api.clock.advance(100);
    expect((await api.ask("GET", "/api/v1/deliveries?state=pending")).body.items).toHaveLength(1);

    expect((await api.ask("POST", "/api/v1/reset", {})).status).toBe(204);
    await api.clock.advance(100);
    expect((await api.ask("GET", "/api/v1/messages")).body.items).toEqual([]);
    expect((await api.ask("GET", "/api/v1/deliveries")).body.items).toEqual([]);
    const { body: destinations } = await api.ask("GET", "/api/v1/destinations");
    const status = `/api/v1/destinations/${destinations.items[0].id}/status`;
    expect((await api.ask("GET", status)).body).toMatchObject({ behind: 0, retries: 0 });

    api.destination.outcome = { kind: "delivered", reason: "200" };
    const before = api.destination.delivered.length;
    await api.receive(source.id, [paid]);
    await api.clock.advance(60_000);
    expect((await api.ask("GET", "/api/v1/messages/m-1")).body.outcomes).toMatchObject([
      { state: "delivered" },
    ]);
    expect(api.destination.delivered).toHaveLength(before + 1);
  });

  it("forgets profiles and members: a user who enters again is told of again", async () => {
    const world = await openCollector();
    const receiver = await openReceiver();
    try {
      const destinationId = await world.webhook(receiver.url, []);
      const { body: audience } = await world.api("POST", "/audiences", {
        name: "Pro Users",
        condition: { kind: "trait", trait: "plan", is: "equals", value: "pro" },
        destinationIds: [destinationId],
      });
      const enter = { type: "identify", userId: "ann", traits: { plan: "pro" } };
      await world.send([enter]);
      await receiver.until((got) => got.length === 1);

      expect((await world.api("POST", "/reset")).status).toBe(204);
      expect((await world.api("GET", "/profiles/ann")).status).toBe(404);
      expect((await world.api("GET", `/audiences/${audience.id}`)).body).toMatchObject({ size: 0 });
      expect((await world.api("GET", "/messages")).body.items).toEqual([]);

      await world.send([enter]);
      await receiver.until((got) => got.length === 2);
      expect(receiver.got.map(({ traits }) => traits)).toEqual([{ pro_users: true }, { pro_users: true }]);
    } finally {
      await world.close();
      await receiver.close();
    }
  });

  it("is not to be had in production", async () => {
    await using api = await controlApi({ mode: "production" });
    expect((await api.ask("POST", "/api/v1/reset")).status).toBe(404);
  });
});
