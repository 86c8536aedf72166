import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type CollectorWorld, openCollector } from "../audiences/collector-world.js";

/** Two collectors that only know each other's addresses. */
let dublin: CollectorWorld;
let oregon: CollectorWorld;
beforeEach(async () => {
  dublin = await openCollector({ region: "dublin" });
  oregon = await openCollector({ region: "oregon", regionUrls: { dublin: dublin.collector.url } });
});
afterEach(async () => {
  await oregon.close();
  await dublin.close();
});

const MESSAGE = { type: "track", userId: "ann", event: "Paid", messageId: "one" };

async function post(to: CollectorWorld, path: string, writeKey: string, body: object): Promise<Response> {
  return fetch(`${to.collector.url}/v1/${path}`, {
    method: "POST",
    headers: { authorization: `Basic ${btoa(`${writeKey}:`)}` },
    body: JSON.stringify(body),
  });
}

describe("a collector of one region", () => {
  test("takes its own keys", async () => {
    expect((await post(dublin, "track", dublin.writeKey, MESSAGE)).status).toBe(200);
    expect((await post(oregon, "track", oregon.writeKey, MESSAGE)).status).toBe(200);
    expect((await dublin.api("GET", "/messages")).body.items).toHaveLength(1);
    expect((await oregon.api("GET", "/messages")).body.items).toHaveLength(1);
  });

  test.each(["track", "batch"])(
    "refuses a key of the other on %s, stores nothing and says where to go",
    async (path) => {
      const body = path === "batch" ? { batch: [MESSAGE] } : MESSAGE;
      const answer = await post(oregon, path, dublin.writeKey, body);
      expect(answer.status).toBe(421);
      expect(await answer.json()).toMatchObject({
        success: false,
        code: "wrong_region",
        message: expect.stringContaining(dublin.collector.url),
        region: "dublin",
        url: dublin.collector.url,
      });
      expect((await oregon.api("GET", "/messages")).body.items).toEqual([]);
      expect((await dublin.api("GET", "/messages")).body.items).toEqual([]);
    },
  );

  test("refuses it where the key stands in the body, and without an address where it knows none", async () => {
    const answer = await fetch(`${dublin.collector.url}/v1/batch`, {
      method: "POST",
      body: JSON.stringify({ batch: [MESSAGE], writeKey: oregon.writeKey }),
    });
    expect(answer.status).toBe(421);
    expect(await answer.json()).toMatchObject({ code: "wrong_region", region: "oregon" });
  });

  test("keys that are added begin with the region too; a made-up key is of no region", async () => {
    const { body } = await dublin.api("POST", `/sources/${dublin.sourceId}/write-keys`);
    const added = body.writeKeys.at(-1).key;
    expect((await post(oregon, "track", added, MESSAGE)).status).toBe(421);
    expect((await post(dublin, "track", added, MESSAGE)).status).toBe(200);
    expect((await post(oregon, "track", "made-up", MESSAGE)).status).toBe(401);
    expect((await post(oregon, "track", "dublin", MESSAGE)).status).toBe(401);
    expect((await post(oregon, "track", `oregon_${"x".repeat(32)}`, MESSAGE)).status).toBe(401);
  });
});
