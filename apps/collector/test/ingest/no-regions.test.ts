import { afterEach, describe, expect, test } from "vitest";
import { type CollectorWorld, openCollector } from "../audiences/collector-world.js";

const worlds: CollectorWorld[] = [];
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.close();
});

async function open(options: Parameters<typeof openCollector>[0] = {}): Promise<CollectorWorld> {
  const world = await openCollector(options);
  worlds.push(world);
  return world;
}

const statusOf = async (to: CollectorWorld, writeKey: string): Promise<[number, string]> => {
  const response = await fetch(`${to.collector.url}/v1/track`, {
    method: "POST",
    headers: { authorization: `Basic ${btoa(`${writeKey}:`)}` },
    body: JSON.stringify({ userId: "ann", event: "Paid" }),
  });
  return [response.status, await response.text()];
};

describe("a collector without configured regions", () => {
  test("names none in keys, sources and its own facts", async () => {
    const world = await open();
    const { body: made } = await world.api("POST", "/sources", { name: "Shop" });
    const { body: rotated } = await world.api("POST", `/sources/${made.id}/write-keys`);
    const keys = [world.writeKey, ...rotated.writeKeys.map(({ key }: { key: string }) => key)];
    for (const key of keys) {
      expect(key).toMatch(/^wk_[0-9A-Za-z]{32}$/);
      expect((await statusOf(world, key))[0]).toBe(200);
    }
    const patched = await world.api("PATCH", `/sources/${made.id}`, { name: "Store" });
    const answers = [
      made,
      rotated,
      patched,
      await world.api("GET", "/sources"),
      await world.api("GET", "/info"),
    ];
    expect(JSON.stringify(answers)).not.toMatch(/region|oregon|dublin/);
    expect(world.collector.region).toBeUndefined();
    const settings = await fetch(`${world.collector.url}/v1/projects/${world.writeKey}/settings`);
    expect(await settings.text()).not.toMatch(/region|oregon|dublin/);
  });

  test("an unknown key is a 401 whatever it begins with, and the answer names no region", async () => {
    const world = await open();
    for (const key of [`dublin_${"x".repeat(32)}`, `oregon_${"x".repeat(32)}`, `wk_${"x".repeat(32)}`]) {
      const [status, text] = await statusOf(world, key);
      expect(status).toBe(401);
      expect(text).not.toMatch(/region|oregon|dublin/);
    }
  });

  test.each(["oregon", "dublin"] as const)(
    "takes the keys of a data folder that ran as %s, and adds neutral ones",
    async (region) => {
      const options: { region?: "oregon" | "dublin" } = { region };
      const world = await open(options);
      expect(world.writeKey).toMatch(new RegExp(`^${region}_`));
      expect((await world.api("GET", `/sources/${world.sourceId}`)).body.region).toBe(region);
      await world.restart(() => {
        delete options.region;
      });
      expect((await statusOf(world, world.writeKey))[0]).toBe(200);
      const { body } = await world.api("POST", `/sources/${world.sourceId}/write-keys`);
      expect(body).not.toHaveProperty("region");
      const added = body.writeKeys.at(-1).key;
      expect(added).toMatch(/^wk_/);
      expect((await statusOf(world, added))[0]).toBe(200);
    },
  );
});

describe("a collector that gets a region later", () => {
  test("accepts older keys, and starts new ones with the region", async () => {
    const options: { region?: "dublin" } = {};
    const world = await open(options);
    await world.restart(() => {
      options.region = "dublin";
    });
    expect((await statusOf(world, world.writeKey))[0]).toBe(200);
    const { body } = await world.api("POST", `/sources/${world.sourceId}/write-keys`);
    expect(body.writeKeys.at(-1).key).toMatch(/^dublin_/);
  });

  test("is oregon if it has URLs of regions and no region of its own", async () => {
    const world = await open({ regionUrls: { dublin: "https://dublin.example.com" } });
    expect(world.writeKey).toMatch(/^oregon_/);
    expect((await world.api("GET", "/info")).body.region).toBe("oregon");
    const [status, text] = await statusOf(world, `dublin_${"x".repeat(32)}`);
    expect(status).toBe(421);
    expect(JSON.parse(text)).toMatchObject({ region: "dublin", url: "https://dublin.example.com" });
  });
});
