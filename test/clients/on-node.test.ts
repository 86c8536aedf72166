import { execFile } from "node:child_process";
import { createRequire } from "node:module";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, test } from "vitest";
import {
  type IngestServer,
  startIngestServer,
  WRITE_KEY,
} from "../../apps/collector/test/ingest/ingest-server.ts";
import { describeWithClients, MODULES } from "./installed.ts";

const requireClient = createRequire(join(MODULES, "package.json"));

let server: IngestServer;
beforeEach(async () => {
  server = await startIngestServer();
});
afterEach(() => server.close());

const stored = async () => (await server.messages()).map(({ message }) => message);
const kinds = async () => (await stored()).map(({ type }) => type).sort();

describeWithClients("@customerio/cdp-analytics-node", () => {
  test("delivers all six kinds and reports no error", async () => {
    const { Analytics } = requireClient("@customerio/cdp-analytics-node");
    const client = new Analytics({ writeKey: WRITE_KEY, host: server.url, maxRetries: 0 });
    const errors: unknown[] = [];
    client.on("error", (error: unknown) => errors.push(error));
    client.identify({ userId: "u1", traits: { email: "ada@example.com" } });
    client.track({ userId: "u1", event: "Order Completed", properties: { total: 129.95 } });
    client.page({ userId: "u1", name: "Home" });
    client.screen({ userId: "u1", name: "Start" });
    client.group({ userId: "u1", groupId: "g1" });
    client.alias({ userId: "u1", previousId: "anon-1" });
    await client.closeAndFlush();
    expect(errors).toEqual([]);
    expect(await kinds()).toEqual(["alias", "group", "identify", "page", "screen", "track"]);
    expect((await stored()).find(({ type }) => type === "track")).toMatchObject({
      event: "Order Completed",
      properties: { total: 129.95 },
      context: { library: { name: "@customerio/cdp-analytics-node" } },
    });
  });
});

describeWithClients("@segment/analytics-react-native", () => {
  const run = promisify(execFile);

  test.each(["native", "expo-go"])("loads its settings and delivers, %s", async (platform) => {
    const program = join(import.meta.dirname, "programs/react-native.cjs");
    await run(process.execPath, [program, server.url, WRITE_KEY, platform]);
    expect(await kinds()).toEqual(["alias", "group", "identify", "screen", "track"]);
    const track = (await stored()).find(({ type }) => type === "track");
    expect(track).toMatchObject({
      event: "Order Completed",
      userId: "u1",
      properties: { total: 129.95 },
    });
    // Without native modules the client sends no context.
    expect(track?.context).toMatchObject(
      platform === "native" ? { library: { name: "analytics-react-native" }, app: { name: "Shop" } } : {},
    );
    const metrics = await server.metrics.render();
    expect(metrics).toMatch(/route="\/v1\/projects\/:writeKey\/settings",status="200"\} [1-9]/);
    expect(metrics).toContain('route="/v1/b",status="200"} 1');
  });
});

describeWithClients("posthog-node", () => {
  test("delivers events as messages, and reports no error", async () => {
    const { PostHog } = requireClient("posthog-node");
    const client = new PostHog(WRITE_KEY, { host: server.url });
    const errors: unknown[] = [];
    client.on("error", (error: unknown) => errors.push(error));
    client.identify({ distinctId: "u1", properties: { email: "ada@example.com" } });
    client.capture({ distinctId: "u1", event: "Order Completed", properties: { total: 129.95 } });
    client.capture({ distinctId: "u1", event: "$pageview", properties: { $pathname: "/" } });
    client.groupIdentify({ groupType: "company", groupKey: "g1", properties: { plan: "pro" } });
    client.alias({ distinctId: "u1", alias: "anon-1" });
    await client.shutdown();
    expect(errors).toEqual([]);
    expect(await kinds()).toEqual(["alias", "group", "identify", "page", "track"]);
    expect((await stored()).find(({ type }) => type === "track")).toMatchObject({
      event: "Order Completed",
      userId: "u1",
      messageId: expect.any(String),
      properties: { total: 129.95 },
      context: { library: { name: "posthog-node" } },
    });
    expect((await stored()).find(({ type }) => type === "identify")).toMatchObject({
      traits: { email: "ada@example.com" },
    });
  });
});
