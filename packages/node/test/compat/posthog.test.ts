import { fakeCollector, memoryTransport } from "@sluice/testing";
import { describe, expect, it } from "vitest";
import { PostHog, type PostHogOptions } from "../../src/compat/index.js";
import { printedLines } from "./printed-lines.js";

const lines = printedLines();

function posthog(options: PostHogOptions = {}, collector = fakeCollector()) {
  const client = new PostHog("k", { transport: memoryTransport(collector), ...options });
  return { client, collector };
}

describe("the client with PostHog's usage", () => {
  it("sends capture as a track, with its id, time and groups", async () => {
    const { client, collector } = posthog();
    client.capture({
      distinctId: "u1",
      event: "Signed Up",
      properties: { plan: "pro" },
      groups: { company: "acme" },
      timestamp: new Date(0),
      uuid: "0b1d5a4e-0000-4000-8000-000000000001",
    });
    await client.shutdown();
    expect(collector.messages).toMatchObject([
      {
        type: "track",
        userId: "u1",
        event: "Signed Up",
        properties: { plan: "pro", $groups: { company: "acme" } },
        timestamp: "1970-01-01T00:00:00.000Z",
        messageId: "0b1d5a4e-0000-4000-8000-000000000001",
      },
    ]);
    expect(lines).toEqual([]);
  });

  it("sends $pageview as a page, $screen as a screen, and $set as an identify", async () => {
    const { client, collector } = posthog();
    client.capture({
      distinctId: "u",
      event: "$pageview",
      properties: { $current_url: "https://a.example/" },
    });
    client.capture({ distinctId: "u", event: "$screen", properties: { $screen_name: "Cart" } });
    client.capture({ distinctId: "u", event: "E", properties: { n: 1, $set: { email: "a@b.c" } } });
    await client.shutdown();
    expect(collector.messages).toMatchObject([
      { type: "page", properties: { $current_url: "https://a.example/" } },
      { type: "screen", name: "Cart" },
      { type: "identify", userId: "u", traits: { email: "a@b.c" } },
      { type: "track", event: "E", properties: { n: 1 } },
    ]);
    expect(collector.messages.at(-1)?.properties).toEqual({ n: 1 });
  });

  it("sends identify and setPersonProperties as traits", async () => {
    const { client, collector } = posthog();
    client.identify({ distinctId: "u", properties: { plan: "pro", $set: { email: "a@b.c" } } });
    client.setPersonProperties({ distinctId: "u", properties: { plan: "free" } });
    await client.shutdown();
    expect(collector.messages).toMatchObject([
      { type: "identify", userId: "u", traits: { plan: "pro", email: "a@b.c" } },
      { type: "identify", userId: "u", traits: { plan: "free" } },
    ]);
  });

  it("sends groupIdentify as a group, with its type as a trait", async () => {
    const { client, collector } = posthog();
    client.groupIdentify({
      groupType: "company",
      groupKey: "acme",
      properties: { name: "Acme" },
      distinctId: "u",
    });
    client.groupIdentify({ groupType: "company", groupKey: "acme" });
    await client.shutdown();
    expect(collector.messages).toMatchObject([
      { type: "group", userId: "u", groupId: "acme", traits: { name: "Acme", groupType: "company" } },
      { type: "group", anonymousId: "$company_acme", groupId: "acme" },
    ]);
  });

  it("sends alias as an alias of the distinct id", async () => {
    const { client, collector } = posthog();
    client.alias({ distinctId: "u", alias: "anonymous" });
    await client.shutdown();
    expect(collector.messages).toMatchObject([{ type: "alias", userId: "u", previousId: "anonymous" }]);
  });

  it("resolves the calls with Immediate when their message has been sent", async () => {
    const { client, collector } = posthog();
    await client.captureImmediate({ distinctId: "u", event: "E" });
    await client.identifyImmediate({ distinctId: "u" });
    await client.groupIdentifyImmediate({ groupType: "t", groupKey: "k", distinctId: "u" });
    await client.aliasImmediate({ distinctId: "u", alias: "a" });
    expect(collector.messages.map(({ type }) => type)).toEqual(["track", "identify", "group", "alias"]);
    await client.shutdown();
  });

  it("takes the user of withContext", async () => {
    const { client, collector } = posthog();
    await client.withContext({ distinctId: "u", sessionId: "s" }, async () => {
      await new Promise((resolve) => setImmediate(resolve));
      client.capture({ event: "E" });
    });
    await client.flush();
    expect(collector.messages).toMatchObject([{ userId: "u", context: { sessionId: "s" } }]);
    await client.shutdown();
  });

  it("turns off with disabled, defaultOptIn and disable(), and on with enable()", async () => {
    for (const options of [{ disabled: true }, { defaultOptIn: false }]) {
      const { client, collector } = posthog(options);
      client.capture({ distinctId: "u", event: "Off" });
      await client.enable();
      client.capture({ distinctId: "u", event: "On" });
      await client.disable();
      client.capture({ distinctId: "u", event: "Off" });
      await client.shutdown();
      expect(collector.messages).toMatchObject([{ event: "On" }]);
    }
  });

  it("passes captures through before_send", async () => {
    const { client, collector } = posthog({
      before_send: [
        (event) => (event.event === "Drop" ? null : event),
        (event) => ({ ...event, properties: { ...event.properties, seen: event.distinctId } }),
      ],
    });
    client.capture({ distinctId: "u", event: "Drop" });
    client.capture({ distinctId: "u", event: "Keep" });
    client.identify({ distinctId: "u" });
    await client.shutdown();
    expect(collector.messages).toMatchObject([
      { event: "Keep", properties: { seen: "u" } },
      { type: "identify" },
    ]);
  });

  it('emits "error" when messages are lost', async () => {
    const { client } = posthog({}, fakeCollector({ faults: [{ status: 400 }] }));
    const errors: unknown[] = [];
    client.on("error", (error) => errors.push(error));
    client.capture({ distinctId: "u", event: "E" });
    await client.shutdown(1_000);
    expect(errors).toEqual([expect.any(Error)]);
  });

  it.each<[options: object, option: string]>([
    [{ flushAt: 0 }, "flushAt"],
    [{ flushInterval: -1 }, "flushAfter"],
    [{ maxBatchSize: 0 }, "batchSize"],
    [{ maxQueueSize: 0 }, "maxQueueSize"],
    [{ requestTimeout: 0 }, "requestTimeoutMs"],
    [{ fetchRetryCount: -1 }, "maxRetries"],
    [{ host: "localhost" }, "host"],
    [{ fetch: 5, transport: undefined }, "fetch"],
    [{ disableCompression: "no", gzip: "x" }, "gzip"],
  ])("checks %j as the option %s", (options, option) => {
    expect(() => posthog(options as PostHogOptions)).toThrow(expect.objectContaining({ option }));
  });

  it.each<[name: string, use: (make: typeof posthog) => unknown, line: string]>([
    ["personalApiKey", (make) => make({ personalApiKey: "x" }), "there are no feature flags here"],
    ["secretKey", (make) => make({ secretKey: "x" }), "there are no feature flags here"],
    [
      "enableExceptionAutocapture",
      (make) => make({ enableExceptionAutocapture: true }),
      "track errors yourself",
    ],
    [
      "isFeatureEnabled()",
      (make) => make().client.isFeatureEnabled("f", "u"),
      "feature flags do not exist here",
    ],
    ["getFeatureFlag()", (make) => make().client.getFeatureFlag("f", "u"), "feature flags do not exist here"],
    [
      "getFeatureFlagPayload()",
      (make) => make().client.getFeatureFlagPayload("f"),
      "feature flags do not exist",
    ],
    ["getAllFlags()", (make) => make().client.getAllFlags("u"), "feature flags do not exist here"],
    [
      "captureException()",
      (make) => make().client.captureException(new Error("x")),
      "track errors with capture()",
    ],
    ["debug()", (make) => make().client.debug(), "DEBUG=analytics"],
    [
      "$set_once",
      (make) => make().client.identify({ distinctId: "u", properties: { $set_once: {} } }),
      "$set_once",
    ],
    [
      "sendFeatureFlags",
      (make) => make().client.capture({ distinctId: "u", event: "E", sendFeatureFlags: true }),
      "feature flags",
    ],
    [
      "properties of withContext",
      (make) => make().client.withContext({ properties: {} }, () => {}),
      "pass them to capture()",
    ],
    ["on(flush)", (make) => make().client.on("flush", () => {}), 'event "flush" is not emitted here'],
  ])("says in one line that %s has no effect", async (_name, use, line) => {
    await use(posthog);
    expect(lines).toEqual([expect.stringContaining(line)]);
  });

  it.each([
    "fetchRetryDelay",
    "persistence",
    "disableGeoip",
    "secretKey",
    "personalApiKey",
    "enableLocalEvaluation",
    "strictLocalEvaluation",
    "featureFlagsPollingInterval",
    "featureFlagsRequestTimeoutMs",
    "sendFeatureFlagEvent",
    "flagDefinitionCacheProvider",
    "evaluationContexts",
    "enableExceptionAutocapture",
  ])("says in one line that the option %s has no effect", (option) => {
    posthog({ [option]: "x" } as PostHogOptions);
    expect(lines).toEqual([expect.stringContaining(`PostHog's option \`${option}\` has no effect`)]);
  });

  it("does not throw for calls without an argument", async () => {
    const { client } = posthog();
    for (const call of ["capture", "identify", "groupIdentify", "alias", "setPersonProperties"] as const)
      expect(() => (client[call] as (argument?: unknown) => void)(undefined)).not.toThrow();
    await client.shutdown();
  });
});

it("a call whose argument cannot be read is refused and told, not ignored", async () => {
  const codes: string[] = [];
  const { client } = posthog({ onError: (_status, _text, { code }) => codes.push(code) });
  const event = {
    get distinctId(): string {
      throw new Error("getter");
    },
  };
  client.capture(event as never);
  client.capture(undefined as never);
  client.identify(null as never);
  client.groupIdentify(event as never);
  client.alias(undefined as never);
  await client.shutdown();
  expect(codes).toEqual([
    "not_serializable",
    "not_an_object",
    "not_an_object",
    "not_serializable",
    "not_an_object",
  ]);
});

it("takes objects of an interface as properties, as PostHog's types do", async () => {
  interface Order {
    total: number;
    coupon?: string;
  }
  const order: Order = { total: 1 };
  const { client, collector } = posthog();
  client.capture({ distinctId: "u", event: "E", properties: order });
  client.identify({ distinctId: "u", properties: order });
  await client.shutdown();
  expect(collector.messages).toMatchObject([{ properties: { total: 1 } }, { traits: { total: 1 } }]);
});
