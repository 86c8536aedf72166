import { fakeCollector, memoryTransport } from "@sluice/testing";
import { describe, expect, it } from "vitest";
import { Analytics, type SegmentSettings } from "../../src/compat/index.js";
import { printedLines } from "./printed-lines.js";

const lines = printedLines();

function segment(settings: SegmentSettings = {}, collector = fakeCollector()) {
  const analytics = new Analytics({ writeKey: "k", transport: memoryTransport(collector), ...settings });
  return { analytics, collector };
}

/** The body and the options that a client with these settings sends with. */
async function firstRequest(settings: SegmentSettings) {
  const urls: string[] = [];
  const analytics = new Analytics({
    writeKey: "k",
    httpClient: async (url: string) => {
      urls.push(url);
      return new Response("{}");
    },
    ...settings,
  });
  analytics.track({ userId: "u", event: "E" });
  await analytics.closeAndFlush();
  return urls;
}

describe("the client with Segment's usage", () => {
  it("sends all six calls, and returns nothing", async () => {
    const { analytics, collector } = segment();
    await analytics.ready;
    const results = [
      analytics.identify({ userId: "u", traits: { email: "a@b.c" } }),
      analytics.track({ userId: "u", event: "E", properties: { n: 1 }, timestamp: new Date(0) }),
      analytics.page({ anonymousId: "a", name: "Home", category: "Docs" }),
      analytics.screen({ userId: "u", name: "Home" }),
      analytics.group({ userId: "u", groupId: "g", traits: { name: "G" } }),
      analytics.alias({ userId: "u", previousId: "p" }),
    ];
    await analytics.closeAndFlush();
    expect(results).toEqual([undefined, undefined, undefined, undefined, undefined, undefined]);
    expect(collector.messages).toMatchObject([
      { type: "identify", traits: { email: "a@b.c" } },
      { type: "track", properties: { n: 1 }, timestamp: "1970-01-01T00:00:00.000Z" },
      { type: "page", name: "Home", category: "Docs" },
      { type: "screen" },
      { type: "group", groupId: "g" },
      { type: "alias", previousId: "p" },
    ]);
    expect(lines).toEqual([]);
  });

  it("calls the callback when the message is delivered", async () => {
    const { analytics } = segment();
    const calls: unknown[][] = [];
    const callback = (...args: unknown[]) => calls.push(args);
    analytics.track({ userId: "u", event: "E", messageId: "m1" }, callback);
    analytics.track({ userId: "u", event: "F", messageId: "m1" }, callback);
    expect(calls).toEqual([]);
    await analytics.flush();
    expect(calls).toMatchObject([
      [undefined, { id: "m1", event: { type: "track", event: "E", messageId: "m1" } }],
      [undefined, { id: "m1", event: { event: "F" } }],
    ]);
  });

  it("calls the callback with an error when the message is lost", async () => {
    const collector = fakeCollector({ faults: [{ status: 400, body: "no" }] });
    const { analytics } = segment({}, collector);
    const errors: unknown[] = [];
    analytics.track({ userId: "u", event: "E" }, (error, context) =>
      errors.push(error, context.failedDelivery()?.reason),
    );
    await analytics.closeAndFlush();
    expect(errors).toEqual([expect.any(Error), expect.any(Error)]);
  });

  it("calls the callback with an error, and does not throw, for a call without what it needs", async () => {
    const { analytics } = segment();
    const errors: unknown[] = [];
    analytics.track({ event: "E" }, (error) => errors.push(String(error)));
    expect(errors).toEqual([]);
    await analytics.closeAndFlush();
    expect(errors).toEqual(["Error: The message was refused: no_user_anon_id"]);
  });

  it("swallows what callbacks and listeners throw or reject with", async () => {
    const { analytics } = segment();
    analytics.on("track", () => {
      throw new Error("listener");
    });
    analytics.track({ userId: "u", event: "E" }, async () => {
      throw new Error("callback");
    });
    analytics.track({} as never, () => {
      throw new Error("callback");
    });
    await analytics.closeAndFlush();
  });

  it('emits "error" for every lost message, with code and reason', async () => {
    const { analytics } = segment({}, fakeCollector({ faults: [{ status: 400 }] }));
    const errors: unknown[] = [];
    analytics.on("error", (error) => errors.push(error));
    analytics.track({ userId: "u", event: "E", messageId: "m" });
    await analytics.closeAndFlush();
    expect(errors).toEqual([
      { code: "delivery_failure", reason: expect.any(Error), ctx: expect.objectContaining({ id: "m" }) },
    ]);
  });

  it("emits the kind of each delivered message, until off()", async () => {
    const { analytics } = segment();
    const seen: string[] = [];
    const listener = (context: { id: string }) => seen.push(context.id);
    analytics.on("track", listener).once("identify", ({ id }) => seen.push(id));
    analytics.track({ userId: "u", event: "E", messageId: "m1" });
    await analytics.flush();
    analytics.identify({ userId: "u", messageId: "m2" });
    await analytics.flush();
    analytics.off("track", listener);
    analytics.track({ userId: "u", event: "E", messageId: "m3" });
    analytics.identify({ userId: "u", messageId: "m4" });
    await analytics.closeAndFlush();
    expect(seen).toEqual(["m1", "m2"]);
  });

  it('emits "drained" and "call_after_close"', async () => {
    const { analytics } = segment();
    const seen: unknown[] = [];
    analytics.on("drained", () => seen.push("drained"));
    analytics.on("call_after_close", (event) => seen.push(event.type));
    analytics.track({ userId: "u", event: "E" });
    await analytics.closeAndFlush({ timeout: 1_000 });
    analytics.track({ userId: "u", event: "Late" });
    expect(seen).toEqual(["drained", "track"]);
  });

  it("flush({ timeout }) resolves in time, and flush({ close }) closes", async () => {
    const { analytics, collector } = segment({}, fakeCollector({ faults: ["hang"] }));
    analytics.track({ userId: "u", event: "E" });
    await analytics.flush({ timeout: 20 });
    expect(collector.messages).toEqual([]);
    await analytics.flush({ close: true, timeout: 1 });
    const refused: unknown[] = [];
    analytics.on("call_after_close", () => refused.push(1));
    analytics.track({ userId: "u", event: "E" });
    expect(refused).toEqual([1]);
  });

  it("sends with httpClient if it is a function, and to host", async () => {
    expect(await firstRequest({ host: "https://c.example" })).toEqual(["https://c.example/v1/batch"]);
    expect(lines).toEqual([]);
  });

  it("flushes at 15 messages, as Segment's client does, or at maxEventsInBatch", async () => {
    for (const [settings, count] of [
      [{}, 15],
      [{ maxEventsInBatch: 3 }, 3],
      [{ flushAt: 2 }, 2],
    ] as const) {
      const { analytics, collector } = segment(settings);
      for (let i = 0; i < count; i++) analytics.track({ userId: "u", event: "E" });
      await collector.waitFor({ event: "E" }, { count });
      await analytics.closeAndFlush();
    }
  });

  it.each<[settings: object, option: string]>([
    [{ flushInterval: -1 }, "flushAfter"],
    [{ httpRequestTimeout: 0 }, "requestTimeoutMs"],
    [{ maxTotalBackoffDuration: -1 }, "maxTotalRetryMs"],
    [{ maxRetries: -1 }, "maxRetries"],
    [{ writeKey: "" }, "writeKey"],
  ])("checks %j as the option %s", (settings, option) => {
    expect(() => segment(settings as SegmentSettings)).toThrow(expect.objectContaining({ option }));
  });

  it("sends nothing with disable, and calls back without an error", async () => {
    const { analytics, collector } = segment({ disable: true });
    const errors: unknown[] = [];
    analytics.track({ userId: "u", event: "E" }, (error) => errors.push(error));
    await analytics.closeAndFlush();
    expect(collector.messages).toEqual([]);
    expect(errors).toEqual([undefined]);
  });

  it.each<[name: string, use: (make: typeof segment) => unknown, line: string]>([
    [
      "path",
      (make) => make({ path: "/v2" }),
      "Segment's option `path` has no effect: `host` may have a path",
    ],
    [
      "oauthSettings",
      (make) => make({ oauthSettings: {} }),
      "Segment's option `oauthSettings` has no effect",
    ],
    [
      "maxRateLimitDuration",
      (make) => make({ maxRateLimitDuration: 1 }),
      "Segment's option `maxRateLimitDuration` has no effect",
    ],
    [
      "an httpClient object",
      (make) => make({ httpClient: { makeRequest() {} } }),
      "takes only a fetch function",
    ],
    [
      "register()",
      (make) => make().analytics.register({}),
      "plugins do not run here: use the option `beforeSend`",
    ],
    ["deregister()", (make) => make().analytics.deregister("x"), "plugins do not run here"],
    [
      "on(http_request)",
      (make) => make().analytics.on("http_request" as never, () => {}),
      'event "http_request" is not emitted here: use `instrument`',
    ],
  ])("says in one line that %s has no effect", async (_name, use, line) => {
    await use(segment);
    expect(lines).toEqual([expect.stringContaining(line)]);
  });
});
