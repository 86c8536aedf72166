import { fakeCollector, memoryTransport } from "@sluice/testing";
import { describe, expect, it, vi } from "vitest";
import { Analytics } from "../src/index.js";
import { printedLines } from "./compat/printed-lines.js";

const lines = printedLines();

// biome-ignore lint/suspicious/noExplicitAny: the subject is use that the types refuse.
function client(options: object = {}): any {
  return new Analytics({ writeKey: "k", stub: true, ...options });
}

describe("usage of another client", () => {
  it.each(["identify", "track", "page", "screen", "group", "alias"])(
    "says that the callback of %s() is never called, once",
    async (kind) => {
      const analytics = client();
      const callback = vi.fn();
      const call = { userId: "u", event: "E", groupId: "g", previousId: "p" };
      expect(analytics[kind](call, callback)).toMatchObject({ accepted: true });
      analytics[kind](call, callback);
      await analytics.close();
      expect(callback).not.toHaveBeenCalled();
      expect(lines).toEqual([
        `[sluice] The callback of ${kind}() is never called: use \`onError\`, on("delivered") or await flush(), or the client of @sluice/node/compat.`,
      ]);
    },
  );

  it("says it for a callback after a name, too", () => {
    client().page("Docs", "Home", { userId: "u" }, () => {});
    expect(lines).toEqual([expect.stringContaining("The callback of page() is never called")]);
  });

  it("says that on() knows no such event", () => {
    const analytics = client();
    analytics.on("error", () => {});
    analytics.on("error", () => {});
    analytics.on(Symbol("x"), () => {});
    analytics.on("failed", () => {});
    expect(lines).toEqual([
      '[sluice] on("error") is never called: the events are delivered, failed, refused and request. For losses, set `onError`.',
      "[sluice] on(symbol) is never called: the events are delivered, failed, refused and request. For losses, set `onError`.",
    ]);
  });

  it("closes with closeAndFlush(), and names close()", async () => {
    const analytics = client();
    analytics.track({ userId: "u", event: "E" });
    expect(await analytics.closeAndFlush({ timeout: 1_000 })).toMatchObject({ delivered: 1 });
    expect(lines).toEqual(["[sluice] closeAndFlush() is Segment's name: use close({ timeoutMs })."]);
  });

  it.each([
    ["flushInterval", "`flushAfter`"],
    ["dataPlaneUrl", "`host`"],
    ["before_send", "`beforeSend`"],
  ])("says that the option %s has no effect", (name, instead) => {
    client({ [name]: 1 });
    expect(lines).toEqual([`[sluice] The option \`${name}\` has no effect: use ${instead}.`]);
  });

  it.each(["NODE_ENV=production", "quiet"])("says nothing with %s", (silence) => {
    if (silence !== "quiet") vi.stubEnv("NODE_ENV", "production");
    const analytics = client({ quiet: silence === "quiet", flushInterval: 1 });
    analytics.track({ userId: "u", event: "E" }, () => {});
    analytics.on("error", () => {});
    expect(lines).toEqual([]);
  });

  it("says nothing about the second argument of map() and forEach()", () => {
    const analytics = client();
    [{ userId: "u", event: "E" }].forEach(analytics.track);
    expect(lines).toEqual([]);
  });
});

describe("the client", () => {
  it("takes write key and URL from the environment", async () => {
    vi.stubEnv("SLUICE_WRITE_KEY", "from-env");
    vi.stubEnv("SLUICE_URL", "https://env.example");
    const requests: { url: string; authorization: string | undefined }[] = [];
    const analytics = new Analytics({
      transport: {
        send: async ({ url, headers }) => {
          requests.push({ url, authorization: headers.authorization });
          return { kind: "answered", status: 200, body: "" };
        },
      },
    });
    analytics.track({ userId: "u", event: "E" });
    await analytics.close();
    expect(requests).toEqual([
      { url: "https://env.example/v1/batch", authorization: `Basic ${btoa("from-env:")}` },
    ]);
    expect(new Analytics()).toBeInstanceOf(Analytics);
  });

  it("turns off and on with setEnabled, and only `true` turns it on", async () => {
    const collector = fakeCollector();
    const analytics = new Analytics({ writeKey: "k", transport: memoryTransport(collector), disable: true });
    const track = (event: string) => analytics.track({ userId: "u", event });
    track("Off");
    for (const value of ["true", 1, {}, undefined]) analytics.setEnabled(value as never);
    track("Still off");
    analytics.setEnabled(true);
    track("On");
    const hostile = Object.defineProperty({}, "discardQueued", {
      get() {
        throw new Error("getter");
      },
    });
    analytics.setEnabled(false, hostile);
    await analytics.close();
    expect(collector.messages.map(({ event }) => event)).toEqual(["On"]);
    expect(analytics.stats()).toMatchObject({ delivered: 1, disabled: 2 });
  });

  it("sets the ids of calls within withContext, with the AsyncLocalStorage of the runtime", async () => {
    const collector = fakeCollector();
    const analytics = new Analytics({ writeKey: "k", transport: memoryTransport(collector) });
    const { withContext } = analytics;
    await withContext({ userId: "u1", context: { requestId: "r" } }, async () => {
      await new Promise((resolve) => setImmediate(resolve));
      analytics.inContext.track({ event: "E" });
    });
    await analytics.close();
    expect(collector.messages).toMatchObject([{ event: "E", userId: "u1", context: { requestId: "r" } }]);
  });
});
