import { fakeCollector, memoryTransport } from "@sluice/testing";
import { describe, expect, it } from "vitest";
import { RudderAnalytics, type RudderStackOptions } from "../../src/compat/index.js";
import { printedLines } from "./printed-lines.js";

const lines = printedLines();

function rudder(options: RudderStackOptions = {}, collector = fakeCollector()) {
  // The test collector does not inflate.
  const client = new RudderAnalytics("k", { transport: memoryTransport(collector), gzip: false, ...options });
  return { client, collector };
}

describe("the client with RudderStack's usage", () => {
  it("sends all six calls, which can be chained", async () => {
    const { client, collector } = rudder();
    client
      .identify({ userId: "u", traits: { email: "a@b.c" } })
      .track({ userId: "u", event: "E", properties: { n: 1 } })
      .page({ anonymousId: "a", name: "Home" })
      .screen({ userId: "u", name: "Home" })
      .group({ userId: "u", groupId: "g" })
      .alias({ userId: "u", previousId: "p" });
    await client.flush();
    expect(collector.messages.map(({ type }) => type)).toEqual([
      "identify",
      "track",
      "page",
      "screen",
      "group",
      "alias",
    ]);
    expect(lines).toEqual([]);
    await client.close();
  });

  it("calls back for each message and for flush", async () => {
    const { client } = rudder({}, fakeCollector({ faults: ["pass", { status: 400 }] }));
    const seen: unknown[] = [];
    client.track({ userId: "u", event: "E" }, (error, message) => seen.push(["track", error, message]));
    await client.flush((error) => seen.push(["flush", error]));
    client.track({ userId: "u", event: "Lost" }, (error) => seen.push(["lost", error]));
    await client.flush((error) => seen.push(["flush", error?.message]));
    expect(seen).toEqual([
      ["track", undefined, { userId: "u", event: "E" }],
      ["flush", undefined],
      ["lost", expect.any(Error)],
      ["flush", "1 messages were lost"],
    ]);
    await client.close();
  });

  it("calls errorHandler with an error for each batch that is lost", async () => {
    const errors: unknown[] = [];
    const { client } = rudder(
      { errorHandler: (error) => errors.push(error) },
      fakeCollector({ faults: [{ status: 400 }] }),
    );
    client.track({ userId: "u", event: "E" });
    await client.flush();
    expect(errors).toEqual([expect.any(Error)]);
    await client.close();
  });

  it("sends to dataPlaneUrl, compressed", async () => {
    const requests: unknown[] = [];
    const client = new RudderAnalytics("k", {
      dataPlaneUrl: "https://c.example/",
      transport: {
        send: async ({ url, headers }) => {
          requests.push(url, headers["content-encoding"]);
          return { kind: "answered", status: 200, body: "" };
        },
      },
    });
    client.track({ userId: "u", event: "E" });
    await client.flush();
    expect(requests).toEqual(["https://c.example/v1/batch", "gzip"]);
    await client.close();
  });

  it("withholds every call with enable: false", async () => {
    const { client, collector } = rudder({ enable: false });
    client.track({ userId: "u", event: "E" });
    await client.flush();
    expect(collector.messages).toEqual([]);
    await client.close();
  });

  it.each<[options: object, option: string]>([
    [{ flushAt: 0 }, "flushAt"],
    [{ flushInterval: -1 }, "flushAfter"],
    [{ maxInternalQueueSize: 0 }, "maxQueueSize"],
    [{ retryCount: -1 }, "maxRetries"],
    [{ timeout: 0 }, "requestTimeoutMs"],
    [{ dataPlaneUrl: "localhost" }, "host"],
    [{ gzip: "yes" }, "gzip"],
  ])("checks %j as the option %s", (options, option) => {
    expect(() => rudder(options as RudderStackOptions)).toThrow(expect.objectContaining({ option }));
  });

  it.each(["maxQueueSize", "path", "logLevel", "axiosConfig", "axiosInstance", "axiosRetryConfig"])(
    "says in one line that the option %s has no effect",
    (option) => {
      rudder({ [option]: {} });
      expect(lines).toEqual([expect.stringContaining(`RudderStack's option \`${option}\` has no effect`)]);
    },
  );

  it("says that createPersistenceQueue has no effect, also to its callback", async () => {
    const { client } = rudder();
    const error = await new Promise<Error>((resolve) => {
      client.createPersistenceQueue({ redisOpts: { host: "localhost" } }, resolve);
    });
    expect(error.message).toContain("use the option `spool: { directory }`");
    expect(lines).toEqual([expect.stringContaining("createPersistenceQueue has no effect")]);
  });
});
