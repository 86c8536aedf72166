import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SourceView } from "@sluice/control-api";
import { type DestinationDefinition, defineDestination } from "@sluice/destination";
import { describe, expect, it, onTestFinished } from "vitest";
import { loadPackages } from "../../src/destinations/defined/load-packages.js";
import { startTestCollector, type TestCollector } from "../../src/testing.js";

const SETTINGS = {
  type: "object",
  additionalProperties: false,
  properties: {
    host: { type: "string", title: "Host", required: true },
    token: { type: "string", title: "Token", secret: { boundTo: ["host"] } },
  },
} as const;
interface Settings {
  readonly host: string;
  readonly token?: string;
}
type Open = DestinationDefinition<Settings>["open"];

async function collectorWith(open: Open): Promise<{ collector: TestCollector; id: string }> {
  const tally = defineDestination<Settings>({
    type: "tally",
    name: "Tally",
    description: "Counts messages",
    icon: "M2 2h12",
    settings: SETTINGS,
    target: ({ host }) => `tally:${host}`,
    open,
  });
  const collector = await startTestCollector({ destinations: [tally] });
  onTestFinished(() => collector.close());
  const { id } = (await collector.api("POST", "/destinations", {
    type: "tally",
    sourceIds: [collector.sourceId],
    settings: { host: "a.example", token: "s3cret-token" },
  })) as { id: string };
  return { collector, id };
}

const track = (collector: TestCollector) =>
  collector.send({ type: "track", event: "Ordered", userId: "u1", messageId: "m1" });
const outcome = async ({ api }: TestCollector) =>
  (await api("GET", "/messages/m1")) as { deliveries: { state: string }[] };

it("gets messages with its settings opened, and shows its attempts", async () => {
  const got: unknown[] = [];
  const { collector } = await collectorWith((settings) => ({
    async deliver({ id, payload }, { number, isLast }) {
      got.push([settings, id, payload.event, number, isLast]);
      return { kind: "delivered", reason: "counted" };
    },
  }));
  await track(collector);
  await collector.advance(1_000);
  expect(got).toEqual([[{ host: "a.example", token: "s3cret-token" }, "m1", "Ordered", 1, false]]);
  expect(JSON.stringify(await outcome(collector))).toContain('"tally:a.example"');
});

it("is in the catalog with its words", async () => {
  const { collector } = await collectorWith(() => ({ deliver: async () => DELIVERED }));
  const { items } = (await collector.api("GET", "/catalog")) as { items: object[] };
  expect(items).toContainEqual(
    expect.objectContaining({
      type: "tally",
      name: "Tally",
      description: "Counts messages",
      icon: "M2 2h12",
    }),
  );
});

it("has no icon that is more than a path", async () => {
  const definition = {
    type: "tally",
    name: "Tally",
    settings: SETTINGS,
    icon: '"/><script>',
    open: () => ({ deliver: async () => DELIVERED }),
  };
  // As a package that does not call defineDestination.
  const collector = await startTestCollector({ destinations: [{ interfaceVersion: 1, definition }] });
  onTestFinished(() => collector.close());
  expect(JSON.stringify(await collector.api("GET", "/catalog"))).not.toContain("<script");
});

it("shows what a test message was and what arrived, and not what every message did", async () => {
  const { collector, id } = await collectorWith(() => ({
    deliver: async () => ({ ...DELIVERED, detail: "number 7 of s3cret-token" }),
  }));
  const sent = (await collector.api("POST", `/destinations/${id}/test`, {})) as {
    requestBody: { text: string };
  };
  expect(sent).toMatchObject({ state: "delivered", attempts: [{ response: "number 7 of [redacted]" }] });
  expect(JSON.parse(sent.requestBody.text)).toMatchObject({ type: "track", event: "Test Event" });
  expect(await collector.api("GET", `/destinations/${id}/test`)).toMatchObject({ last: sent });
  await track(collector);
  await collector.advance(1_000);
  expect(JSON.stringify(await outcome(collector))).not.toContain("number 7");
});

const DELIVERED = { kind: "delivered", reason: "counted" } as const;

describe("a delivery that goes wrong", () => {
  it.each<[string, () => unknown, string]>([
    ["throws", () => Promise.reject(new Error("no s3cret-token for you")), "no [redacted] for you"],
    ["resolves with nothing", async () => undefined, "deliver must resolve with"],
    ["never ends", () => new Promise(() => {}), "Not delivered within 30000 ms"],
    [
      "asks for a retry",
      async () => ({ kind: "retry", reason: "busy", detail: "come back\nlater" }),
      "come back later",
    ],
  ])("is retried and explained: it %s", async (_name, deliver, text) => {
    let calls = 0;
    const { collector } = await collectorWith(() => ({
      deliver: () => (++calls === 1 ? deliver() : Promise.resolve(DELIVERED)) as Promise<typeof DELIVERED>,
    }));
    await track(collector);
    await collector.advance(120_000);
    expect(calls).toBe(2);
    const trace = JSON.stringify(await outcome(collector));
    expect(trace).toContain(text);
    expect(trace).toContain('"delivered"');
    expect(trace).not.toContain("s3cret-token");
  });

  it("fails at once if it can never work", async () => {
    const { collector } = await collectorWith(() => ({
      deliver: async () => ({ kind: "failed", reason: "550", detail: "unknown" }),
    }));
    await track(collector);
    await collector.advance(1_000);
    expect(JSON.stringify(await outcome(collector))).toContain('"failed"');
  });
});

it("aborts deliveries under way when it is closed, and makes them again", async () => {
  const signals: AbortSignal[] = [];
  const { collector, id } = await collectorWith(() => ({
    deliver: (_, { signal }) => {
      signals.push(signal);
      return signals.length === 1 ? new Promise(() => {}) : Promise.resolve(DELIVERED);
    },
  }));
  await track(collector);
  await collector.advance(1_000);
  await collector.api("PATCH", `/destinations/${id}`, { settings: { host: "a.example" } });
  await collector.advance(120_000);
  expect(signals.map(({ aborted }) => aborted)).toEqual([true, false]);
});

it("gets the trace of a message that belongs to one", async () => {
  const traces: unknown[] = [];
  const { collector } = await collectorWith(() => ({
    async deliver({ trace }) {
      traces.push(trace);
      return DELIVERED;
    },
  }));
  const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  const message = { type: "track", event: "Ordered", userId: "u1" };
  for (const context of [{}, { traceparent }, { traceparent, tracestate: "a=1" }]) {
    await collector.send({ ...message, context });
    await collector.advance(1_000);
  }
  expect(traces).toEqual([undefined, { traceparent }, { traceparent, tracestate: "a=1" }]);
});

it("refuses settings by its schema, and keeps secrets to itself", async () => {
  const { collector, id } = await collectorWith(() => ({ deliver: async () => DELIVERED }));
  const change = (settings: object) => collector.api("PATCH", `/destinations/${id}`, { settings });
  await expect(change({ colour: "red" })).rejects.toThrow("There is no setting colour");
  await expect(change({ host: "b.example" })).rejects.toThrow("Enter token again: host was changed");
  await expect(change({ host: null })).rejects.toThrow("host is required");
  const shown = await change({ host: "b.example", token: "another-token" });
  expect(shown).toMatchObject({ settings: { host: "b.example", tokenSet: true } });
  expect(JSON.stringify([shown, await collector.store.config.list("destination")])).not.toContain("-token");
});

it("says that a secret must be entered again if the key that sealed it is gone", async () => {
  const open: Open = () => ({ deliver: async () => DELIVERED });
  const { collector, id } = await collectorWith(open);
  const { store, clock } = collector;
  await collector.close();
  const tally = defineDestination<Settings>({ type: "tally", name: "Tally", settings: SETTINGS, open });
  const secretKey = "11".repeat(32);
  const again = await startTestCollector({ store, clock, secretKey, destinations: [tally] });
  onTestFinished(() => again.close());
  const change = (settings: object) => again.api("PATCH", `/destinations/${id}`, { settings });
  await expect(change({})).rejects.toThrow(/answered 4\d\d.*enter the secret again/);
  expect(await change({ token: "a-new-token" })).toMatchObject({ settings: { tokenSet: true } });
});

describe("packages", () => {
  const GOOD = `{ interfaceVersion: 1, definition: { type: "t", name: "T", settings: { type: "object", properties: {} }, open() {} } }`;

  async function folderWith(content: string): Promise<string> {
    const folder = await mkdtemp(join(tmpdir(), "sluice-packages-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    await mkdir(join(folder, "node_modules/one"), { recursive: true });
    await writeFile(
      join(folder, "node_modules/one/package.json"),
      JSON.stringify({ name: "one", type: "module", exports: { default: "./index.js" } }),
    );
    await writeFile(join(folder, "node_modules/one/index.js"), content);
    return folder;
  }

  it("are loaded by name and by path, each once", async () => {
    const folder = await folderWith(`export default ${GOOD};`);
    await writeFile(join(folder, "own.mjs"), `export default [${GOOD.replace('"t"', '"own"')}];`);
    const loaded = await loadPackages(["one", "one", "./own.mjs"], folder, []);
    expect(loaded.unusable).toEqual([]);
    expect(loaded.loaded.map(({ definition }) => definition.type)).toEqual(["t", "own"]);
  });

  it.each([
    ["export default {};", /default export must be what defineDestination/],
    [`export default ${GOOD.replace(": 1", ": 2")};`, /version 2 of the interface, this collector has 1/],
    [`export default ${GOOD.replace("open", "close")};`, /cannot be used: open must be a function/],
    ['throw new Error("broken");', /threw while it was loaded: broken/],
    [`export default ${GOOD.replace('"t"', '"file"')};`, /type file is one of the collector already/],
  ])("that cannot be used are named: %s", async (content, expected) => {
    const folder = await folderWith(content);
    const { loaded, unusable } = await loadPackages(["one", "missing"], folder, ["file"]);
    expect(loaded).toEqual([]);
    expect(unusable).toMatchObject([
      { package: "one", message: expect.stringMatching(expected) },
      { package: "missing", message: expect.stringContaining("run `npm install missing` there") },
    ]);
  });

  it("that never finish loading hold up neither the start nor the others", async () => {
    const folder = await folderWith("await new Promise(() => {});");
    await writeFile(join(folder, "own.mjs"), `export default ${GOOD};`);
    const { loaded, unusable } = await loadPackages(["one", "./own.mjs"], folder, [], 3_000);
    expect(loaded.map(({ definition }) => definition.type)).toEqual(["t"]);
    expect(unusable).toEqual([{ package: "one", message: expect.stringContaining("not loaded within 3 s") }]);
  });

  it("leave their destinations' messages waiting, with the reason and their number", async () => {
    const first = await collectorWith(() => ({ deliver: async () => DELIVERED }));
    const { store, clock } = first.collector;
    await first.collector.close();
    const second = await startTestCollector({ store, clock, destinations: ["sluice-destination-gone"] });
    onTestFinished(() => second.close());
    const other = (await second.api("POST", "/sources", { name: "Not connected" })) as SourceView;
    for (const key of [other.writeKeys[0]?.key, first.collector.writeKey])
      await fetch(`${second.url}/v1/track`, {
        method: "POST",
        headers: { authorization: `Basic ${btoa(`${key}:`)}` },
        body: '{"userId":"1","event":"Waits"}',
      });
    const shown = await second.api("GET", `/destinations/${first.id}/status`);
    expect(shown).toMatchObject({ behind: 1, waiting: 1, health: "failing" });
    expect(JSON.stringify(shown)).toContain(
      "no destination type tally. The package sluice-destination-gone cannot be used",
    );
    expect(await second.api("GET", "/catalog")).toMatchObject({
      unusable: [{ package: "sluice-destination-gone" }],
    });
  });
});
