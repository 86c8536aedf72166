import RudderAnalytics from "@rudderstack/rudder-sdk-node";
import { Analytics as SegmentAnalytics } from "@segment/analytics-node";
import LegacyAnalytics from "analytics-node";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type IngestServer, SOURCE_ID, startIngestServer, WRITE_KEY } from "../ingest/ingest-server.js";

let server: IngestServer;
beforeEach(async () => {
  server = await startIngestServer();
});
afterEach(() => server.close());

/** What every client sends below, by kind. */
const EXPECTED = {
  identify: { userId: "u1", traits: { email: "ada@example.com", näme: "Ada 🎈" } },
  track: {
    userId: "u1",
    event: "Order Completed",
    properties: { total: 129.95, items: ["a", "b"] as string[] },
  },
  page: { userId: "u1", name: "Home", category: "Docs", properties: { path: "/" } },
  screen: { userId: "u1", name: "Start", properties: { first: true } },
  group: { userId: "u1", groupId: "g1", traits: { plan: "pro" } },
  alias: { userId: "u1", previousId: "anon-1" },
};

const AT = new Date("2020-02-29T12:34:56.789Z");

async function expectAllSix(libraryName: string): Promise<void> {
  const messages = await server.messages();
  expect(messages.map(({ message }) => message.type).sort()).toEqual(Object.keys(EXPECTED).sort());
  for (const { message, sourceId } of messages) {
    expect(sourceId).toBe(SOURCE_ID);
    expect(message).toMatchObject(EXPECTED[message.type as keyof typeof EXPECTED]);
    expect(message.context).toMatchObject({ library: { name: libraryName } });
    expect(message.messageId).toEqual(expect.any(String));
    if (message.type === "track") expect(Date.parse(message.timestamp as string)).toBe(AT.getTime());
  }
}

describe("@segment/analytics-node", () => {
  test("delivers all six kinds and reports no error", async () => {
    const client = new SegmentAnalytics({ writeKey: WRITE_KEY, host: server.url, maxRetries: 0 });
    const errors: unknown[] = [];
    client.on("error", (error) => errors.push(error));
    client.identify({ ...EXPECTED.identify });
    client.track({ ...EXPECTED.track, timestamp: AT });
    client.page({ ...EXPECTED.page });
    client.screen({ ...EXPECTED.screen });
    client.group({ ...EXPECTED.group });
    client.alias({ ...EXPECTED.alias });
    await client.closeAndFlush();
    expect(errors).toEqual([]);
    await expectAllSix("@segment/analytics-node");
  });

  test("reports a wrong key", async () => {
    const client = new SegmentAnalytics({ writeKey: "wk_nobody", host: server.url, maxRetries: 0 });
    const errors: unknown[] = [];
    client.on("error", ({ reason }) => errors.push(reason));
    client.track({ ...EXPECTED.track });
    await client.closeAndFlush();
    expect(errors).toEqual([expect.objectContaining({ message: "[401] Unauthorized" })]);
    expect(await server.messages()).toEqual([]);
  });

  test("waits as long as a 429 says, then delivers", async () => {
    await server.close();
    server = await startIngestServer({ messagesPerSecond: 2 });
    // Three messages of two a second: the allowance is one short, and back within the second that the answer names.
    const batch = [1, 2, 3].map((n) => ({ type: "track", event: "E", userId: "u1", messageId: `m${n}` }));
    expect((await server.post("/v1/batch", { batch })).status).toBe(200);
    const client = new SegmentAnalytics({ writeKey: WRITE_KEY, host: server.url, maxRetries: 0 });
    const errors: unknown[] = [];
    client.on("error", ({ reason }) => errors.push(reason));
    client.track({ ...EXPECTED.track });
    await client.closeAndFlush();
    expect(errors).toEqual([]);
    expect(await server.messages()).toHaveLength(4);
    expect(await server.metrics.render()).toContain(
      'sluice_http_requests_total{route="/v1/batch",status="429"} 1',
    );
  });
});

describe("analytics-node", () => {
  test("delivers all six kinds and reports no error", async () => {
    const client = new LegacyAnalytics(WRITE_KEY, { host: server.url, flushAt: 100, flushInterval: 60_000 });
    client.identify({ ...EXPECTED.identify });
    client.track({ ...EXPECTED.track, timestamp: AT });
    client.page({ ...EXPECTED.page });
    client.screen({ ...EXPECTED.screen });
    client.group({ ...EXPECTED.group });
    client.alias({ ...EXPECTED.alias });
    await client.flush();
    await expectAllSix("analytics-node");
  });
});

describe("@rudderstack/rudder-sdk-node", () => {
  test.each([true, false])("delivers all six kinds, gzip %s", async (gzip) => {
    const client = new RudderAnalytics(WRITE_KEY, {
      dataPlaneUrl: server.url,
      gzip,
      flushAt: 100,
      flushInterval: 60_000,
    });
    client.identify({ ...EXPECTED.identify });
    client.track({ ...EXPECTED.track, timestamp: AT });
    client.page({ ...EXPECTED.page });
    client.screen({ ...EXPECTED.screen });
    client.group({ ...EXPECTED.group });
    client.alias({ ...EXPECTED.alias });
    await client.flush();
    await expectAllSix("analytics-node");
  });
});
