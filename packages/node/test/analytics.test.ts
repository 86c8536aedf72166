import { fakeCollector, memoryTransport } from "@sluice/testing";
import { mswHandlers } from "@sluice/testing/msw";
import { mockAgent } from "@sluice/testing/undici";
import { setupServer } from "msw/node";
import { describe, expect, it } from "vitest";
import { version } from "../package.json";
import * as sdk from "../src/index.js";
import { Analytics, ConfigError, fetchTransport, undiciTransport } from "../src/index.js";

describe("the client", () => {
  it("sends all six calls, also if the methods are passed on without the object", async () => {
    const collector = fakeCollector({ writeKey: "k" });
    const analytics = new Analytics({ writeKey: "k", transport: memoryTransport(collector) });
    const { identify, track, page, screen, group, alias, flush, close } = analytics;
    identify({ userId: "u", traits: { email: "a@b.c" } });
    track({ userId: "u", event: "E", properties: { n: 1 } });
    page("Home", { userId: "u" });
    page("Docs", "Start", { userId: "u" });
    screen({ anonymousId: "a", name: "S", properties: { p: 1 } });
    group({ userId: "u", groupId: "g", traits: { name: "G" } });
    alias({ userId: "u", previousId: "p" });
    expect(await flush()).toEqual({ delivered: 7, failed: 0, refused: 0 });
    expect(collector.messages).toMatchObject([
      { type: "identify", userId: "u", traits: { email: "a@b.c" } },
      { type: "track", event: "E", properties: { n: 1 } },
      { type: "page", name: "Home" },
      { type: "page", category: "Docs", name: "Start" },
      { type: "screen", anonymousId: "a", name: "S" },
      { type: "group", groupId: "g" },
      { type: "alias", previousId: "p" },
    ]);
    await close();
  });

  it("keeps the keys and settings of several clients apart", async () => {
    const [one, two] = [fakeCollector({ writeKey: "one" }), fakeCollector({ writeKey: "two" })];
    const first = new Analytics({ writeKey: "one", transport: memoryTransport(one), context: { app: 1 } });
    const second = new Analytics({ writeKey: "two", transport: memoryTransport(two), flushAt: 1 });
    first.track({ userId: "u", event: "A" });
    second.track({ userId: "u", event: "B" });
    await two.waitFor({ event: "B" });
    expect(one.messages).toEqual([]);
    await Promise.all([first.close(), second.close()]);
    expect(one.messages).toMatchObject([{ event: "A", context: { app: 1 } }]);
    expect(Object.keys(two.messages[0]?.context as object)).toEqual(["library"]);
  });

  it("sends context and integrations of a message as they were given", async () => {
    const collector = fakeCollector();
    const analytics = new Analytics({ writeKey: "k", transport: memoryTransport(collector) });
    const context = { user_agent: "Mozilla/5.0", ip: "203.0.113.7" };
    const integrations = { All: false, Webhooks: true };
    analytics.track({ userId: "u", event: "E", context, integrations });
    await analytics.close();
    expect(collector.messages).toMatchObject([{ context, integrations }]);
  });

  it("names itself in context.library, unless the caller does", async () => {
    const collector = fakeCollector();
    const transport = memoryTransport(collector);
    const analytics = new Analytics({ writeKey: "k", transport, context: { app: "shop" } });
    const own = { name: "ours", version: "7" };
    analytics.track({ userId: "u", event: "E" });
    analytics.track({ userId: "u", event: "E", context: { ip: "203.0.113.7" } });
    analytics.track({ userId: "u", event: "E", context: { library: own } });
    await analytics.close();
    const named = new Analytics({ writeKey: "k", transport, context: { library: own } });
    named.track({ userId: "u", event: "E" });
    await named.close();
    const library = { name: "@sluice/node", version };
    expect(collector.messages.map(({ context }) => context)).toEqual([
      { library, app: "shop" },
      { library, app: "shop", ip: "203.0.113.7" },
      { library: own, app: "shop" },
      { library: own },
    ]);
  });

  it("throws only from the constructor, and only ConfigError", () => {
    expect(() => new Analytics(undefined as never)).toThrow(ConfigError);
    expect(() => new Analytics({ writeKey: "" })).toThrow(ConfigError);
    expect(() => new Analytics({ writeKey: "k", fetch: 5 as never })).toThrow(/`fetch`/);
    expect(() => new Analytics({ writeKey: "k", fetch, transport: fetchTransport() })).toThrow(/`fetch`/);
    expect(() => new Analytics({ writeKey: "k", flushOnSignals: "yes" as never })).toThrow(
      /`flushOnSignals`/,
    );
    expect(() => new Analytics({ writeKey: "k", exitFlushTimeoutMs: -1 })).toThrow(/`exitFlushTimeoutMs`/);
    expect(() => new Analytics({ writeKey: "k", spool: { directory: "" } })).toThrow(/`spool.directory`/);
    expect(() => new Analytics({ writeKey: "k", spool: { directory: "/tmp", maxBytes: 0 } })).toThrow(
      /`spool.maxBytes`/,
    );
  });

  it("ignores an invalid deadline of close()", async () => {
    for (const options of [null, 5, { timeoutMs: "x" }, { timeoutMs: Number.NaN }]) {
      const analytics = new Analytics({ writeKey: "k", stub: true });
      analytics.track({ userId: "u", event: "E" });
      expect(await analytics.close(options as never)).toMatchObject({ delivered: 1 });
    }
  });

  it("exports every name in the documentation", () => {
    expect(Object.keys(sdk).sort()).toEqual([
      "Analytics",
      "ConfigError",
      "fetchTransport",
      "fromSnakeCase",
      "goDefaults",
      "rubyDefaults",
      "undiciTransport",
    ]);
  });
});

describe("with @sluice/testing", () => {
  it("mswHandlers answer a fetch transport, with scripted faults", async () => {
    const collector = fakeCollector({ faults: ["reset", { status: 503 }] });
    const server = setupServer(...mswHandlers(collector, "https://c.example"));
    server.listen();
    try {
      const analytics = new Analytics({
        writeKey: "k",
        host: "https://c.example/v1/",
        fetch: (url, init) => fetch(url, init),
      });
      analytics.track({ userId: "u", event: "E" });
      expect(await analytics.close()).toEqual({ delivered: 1, failed: 0, refused: 0 });
      expect(collector.requests.map(({ status }) => status)).toEqual([0, 503, 200]);
    } finally {
      server.close();
    }
  });

  it("mockAgent answers the default transport", async () => {
    const collector = fakeCollector({ faults: ["reset", { status: 429, retryAfter: "1" }] });
    const dispatcher = mockAgent(collector, "https://c.example");
    const analytics = new Analytics({
      writeKey: "k",
      host: "https://c.example",
      transport: undiciTransport({ dispatcher }),
    });
    analytics.track({ userId: "u", event: "E" });
    expect(await analytics.close()).toEqual({ delivered: 1, failed: 0, refused: 0 });
    expect(collector.requests.map(({ status }) => status)).toEqual([0, 429, 200]);
    await dispatcher.close();
  });
});
