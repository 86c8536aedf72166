import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { DOCUMENT_KINDS } from "@sluice/event-log";
import { batchOf } from "@sluice/event-log/testing";
import type { JsonObject } from "@sluice/protocol";
import { manualClock } from "@sluice/resilience/testing";
import {
  identifyResults,
  type Sandboxes,
  type TransformItem,
  type TransformResult,
} from "@sluice/transformations";
import { describe, expect, it } from "vitest";
import { transforming } from "../../src/delivery/sending/transforming.js";
import type {
  SourceDocument,
  TransformationDocument,
  TransformationVersionDocument,
} from "../../src/documents/documents.js";
import { closeDeliveries, type DeliveryFixture, openDelivery } from "./delivery-fixture.js";
import { closeReceivers, type Received, startReceiver } from "./receiver.js";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

closeReceivers();
closeDeliveries();

type Run = (message: JsonObject, secrets: Readonly<Record<string, string>>) => unknown;

/** Sandboxes whose code is the name of a function here. Counts what crosses together. */
function sandboxes(functions: Readonly<Record<string, Run>>) {
  const batches: number[] = [];
  const one = (
    run: Run,
    { fixed, json }: TransformItem,
    secrets: Readonly<Record<string, string>>,
  ): TransformResult => {
    try {
      const message = JSON.parse(json) as JsonObject;
      const before = JSON.stringify(message);
      const result = run(message, secrets);
      if (result === null) return { kind: "dropped", logs: [] };
      if (JSON.stringify(result) === before) return { kind: "same", logs: [] };
      const isArray = Array.isArray(result);
      const messages = structuredClone([result].flat()) as JsonObject[];
      const failure = identifyResults(fixed, messages, isArray);
      if (failure !== undefined) return { kind: "failed", ...failure, logs: [] };
      return { kind: "messages", messages, logs: [] };
    } catch (error) {
      return { kind: "failed", code: "exception", message: String(error), line: 3, logs: [] };
    }
  };
  const opened: Sandboxes = {
    check: async () => ({ ok: true }),
    stats: () => ({ threads: 0, sandboxes: 0, memoryBytes: 0 }),
    async run({ code, secrets }, items) {
      batches.push(items.length);
      const run = functions[code];
      if (run === undefined) throw new Error(`There is no function ${code}`);
      return items.map((item) => one(run, item, secrets));
    },
    close: async () => {},
  };
  return { batches, openSandboxes: async () => opened };
}

const document: TransformationDocument = {
  name: "Names",
  createdAt: "2026-01-01T00:00:00.000Z",
  changedAt: "2026-01-01T00:00:00.000Z",
  current: 1,
  newest: 1,
  secrets: {},
  secretsRevision: 0,
};

async function save(
  { store }: DeliveryFixture,
  code: string,
  change: Partial<TransformationDocument> = {},
  id = "tr_1",
): Promise<void> {
  const { current = 1 } = change;
  const version: TransformationVersionDocument = {
    code,
    language: "javascript",
    createdAt: document.createdAt,
  };
  await store.config.put(DOCUMENT_KINDS.transformationVersion, `${id}@${current}`, version);
  const found = await store.config.get<TransformationDocument>(DOCUMENT_KINDS.transformation, id);
  await store.config.put(
    DOCUMENT_KINDS.transformation,
    id,
    { ...document, ...change },
    ...(found === undefined ? [] : [found.version]),
  );
}

const rename: Run = (message) => ({ ...message, event: `Shop ${message.event}` });
const bodies = (received: readonly { readonly body: string }[]) =>
  received.map(({ body }) => JSON.parse(body) as JsonObject);

describe("a destination with a transformation", () => {
  it("gets what the function returns, and the attempt names the version", async () => {
    const receiver = await startReceiver();
    const fixture = await openDelivery(sandboxes({ rename }));
    await save(fixture, "rename");
    const id = await fixture.create({ settings: { webhookUrl: receiver.url }, transformationId: "tr_1" });
    await fixture.append([{ messageId: "m1" }]);
    await fixture.until("m1", "delivered");
    expect(bodies(receiver.received)).toMatchObject([{ event: "Shop Ordered", messageId: "m1" }]);
    expect(await fixture.attempts(id, "m1")).toMatchObject([{ transformation: "Names, version 1" }]);
  });

  it("is tested with what the function returns, and shows that as what was sent", async () => {
    const receiver = await startReceiver();
    const fixture = await openDelivery(sandboxes({ rename }));
    await save(fixture, "rename");
    const id = await fixture.create({ settings: { webhookUrl: receiver.url }, transformationId: "tr_1" });
    const sent = await fixture.delivery.test(id);
    expect(sent?.requestBody).toBe(receiver.received[0]?.body);
    expect(sent?.requestBody).toContain("Shop Test Event");
  });

  it("is tested with what its source's transformation made of the message before", async () => {
    const receiver = await startReceiver();
    const shout: Run = (message) => ({ ...message, event: `${message.event}!` });
    const fixture = await openDelivery({
      ...sandboxes({ rename, shout }),
      source: { transformationId: "tr_2" },
    });
    await save(fixture, "rename");
    await save(fixture, "shout", {}, "tr_2");
    const id = await fixture.create({ settings: { webhookUrl: receiver.url }, transformationId: "tr_1" });
    await fixture.delivery.test(id);
    expect(bodies(receiver.received)).toMatchObject([{ event: "Shop Test Event!" }]);
  });

  it("is told that a message is a test", async () => {
    const message = { messageId: "m1", sourceId: "src_1", message: { type: "track" as const } };
    const outgoing = { ...message, timestamp: "2026-01-01T00:00:00.000Z", offset: 0, receivedAtMs: 0 };
    const told: unknown[] = [];
    const destination = transforming(
      {
        flow: { concurrency: 1, order: "none" },
        async deliver(_, { isTest }) {
          told.push(isTest);
          return { kind: "delivered", reason: "200" };
        },
        close: async () => {},
      },
      {
        transformations: { apply: async (_, one) => ({ kind: "messages", messages: [one], by: "Names" }) },
        chain: () => ["tr_1"],
        clock: manualClock(),
      },
    );
    const round = { number: 1, isAgain: true, isLast: true, waitingUrls: [], doneUrls: [], failedUrls: [] };
    const quiet = { numberAt: () => 1, record() {}, repeat() {}, gone() {} };
    await destination.deliver(outgoing, { ...round, ...quiet, isTest: true });
    expect(told).toEqual([true]);
  });

  it("keeps nothing of a message that was sent", async () => {
    const made: WeakRef<object>[] = [];
    const destination = transforming(
      {
        flow: { concurrency: 1, order: "none" },
        deliver: async () => ({ kind: "delivered", reason: "200" }),
        close: async () => {},
      },
      {
        transformations: {
          async apply(_, one) {
            const result = { kind: "messages" as const, messages: [{ ...one }], by: "Names" };
            made.push(new WeakRef(result));
            return result;
          },
        },
        chain: () => ["tr_1"],
        clock: manualClock(),
      },
    );
    const message = { messageId: "m1", sourceId: "src_1", message: { type: "track" as const } };
    const outgoing = { ...message, timestamp: "2026-01-01T00:00:00.000Z", offset: 0, receivedAtMs: 0 };
    const round = { number: 1, isAgain: true, isLast: true, waitingUrls: [], doneUrls: [], failedUrls: [] };
    const quiet = { numberAt: () => 1, record() {}, repeat() {}, gone() {} };
    for (let n = 0; n < 10; n++) await destination.deliver(outgoing, { ...round, ...quiet });
    await new Promise(setImmediate);
    collectGarbage();
    expect(made.filter((result) => result.deref() !== undefined)).toHaveLength(0);
    await destination.close();
  });

  it("may change the timestamp, and leave out what it cannot change", async () => {
    const receiver = await startReceiver();
    const dated: Run = ({ event }) => ({ event: event ?? null, timestamp: "2020-02-02T00:00:00Z" });
    const fixture = await openDelivery(sandboxes({ dated }));
    await save(fixture, "dated");
    await fixture.create({ settings: { webhookUrl: receiver.url }, transformationId: "tr_1" });
    await fixture.append([{ messageId: "m1" }]);
    await fixture.until("m1", "delivered");
    const [body] = bodies(receiver.received);
    expect(body).toMatchObject({ type: "track", messageId: "m1", timestamp: "2020-02-02T00:00:00.000Z" });
    expect(body).not.toHaveProperty("receivedAt");
  });

  it("gets each message of an array with an id of its own, and again all of them if one fails", async () => {
    const receiver = await startReceiver();
    const split: Run = (message) => ["a", "b", "c"].map((event) => ({ ...message, event }));
    const clock = manualClock();
    const fixture = await openDelivery({ ...sandboxes({ split }), clock });
    await save(fixture, "split");
    const id = await fixture.create({ settings: { webhookUrl: receiver.url }, transformationId: "tr_1" });
    receiver.answer(({ messageId }: Received) =>
      messageId === "m1.2" && receiver.received.length < 4 ? 503 : 200,
    );
    await fixture.append([{ messageId: "m1" }]);
    await fixture.until("m1", "pending");
    // The first attempt is stored while the second one is under way.
    await clock.advance(100);
    await fixture.toNextAttempt("m1");
    await fixture.until("m1", "delivered");
    expect(receiver.received.map(({ messageId }) => messageId)).toEqual([
      "m1.1",
      "m1.2",
      "m1.1",
      "m1.2",
      "m1.3",
    ]);
    expect(bodies(receiver.received).map(({ event }) => event)).toEqual(["a", "b", "a", "b", "c"]);
    await clock.advance(100);
    expect((await fixture.attempts(id, "m1")).at(-1)).toMatchObject({
      attempt: 2,
      transformation: "Names, version 1 (3 of 3)",
    });
  });

  it("does not get a message that the function drops, and the outcome says why", async () => {
    const receiver = await startReceiver();
    const fixture = await openDelivery(
      sandboxes({ drop: (message) => (message.messageId === "m1" ? null : message) }),
    );
    await save(fixture, "drop");
    await fixture.create({ settings: { webhookUrl: receiver.url }, transformationId: "tr_1" });
    await fixture.append([{ messageId: "m1" }, { messageId: "m2" }]);
    await fixture.until("m2", "delivered");
    expect(receiver.received.map(({ messageId }) => messageId)).toEqual(["m2"]);
    expect(await fixture.deliveries("m1")).toMatchObject([
      { state: "filtered", reason: "transformed: Names, version 1 dropped it" },
    ]);
  });

  it("passes messages through the source's transformation first", async () => {
    const receiver = await startReceiver();
    const fixture = await openDelivery({
      ...sandboxes({ rename, shout: (message) => ({ ...message, event: `${message.event}!` }) }),
      source: { transformationId: "tr_2" },
    });
    await save(fixture, "rename", { name: "Shout" });
    await save(fixture, "shout", {}, "tr_2");
    await fixture.create({ settings: { webhookUrl: receiver.url }, transformationId: "tr_1" });
    await fixture.append([{ messageId: "m1" }]);
    await fixture.until("m1", "delivered");
    expect(bodies(receiver.received)).toMatchObject([{ event: "Shop Ordered!" }]);
  });

  it("keeps every byte of a message that the function returns as it came", async () => {
    const receiver = await startReceiver();
    const fixture = await openDelivery(sandboxes({ same: (message) => message }));
    await save(fixture, "same");
    const plain = await startReceiver();
    await fixture.create({ settings: { webhookUrl: plain.url } });
    await fixture.create({ settings: { webhookUrl: receiver.url }, transformationId: "tr_1" });
    const body =
      '{"batch":[{"type":"track","event":"E","userId":"u1","messageId":"m1","receivedAt":"mine","properties":{"2":12345678901234567890,"1":1e400,"__proto__":1.10}}]}';
    await fixture.store.log.append({
      sourceId: "src_1",
      receivedAtMs: Date.now(),
      body: Buffer.from(body),
      itemCount: 1,
      skipped: [],
      madeIds: [],
      keys: [{ index: 0, messageId: "m1", userId: "u1", type: "track", event: "E" }],
    });
    await fixture.until("m1", "delivered", { nth: 2 });
    expect(receiver.received[0]?.body).toBe(plain.received[0]?.body);
  });
});

describe("a function that fails", () => {
  const fail: Run = (message) => {
    if (message.messageId === "m1") throw new TypeError(`of ${message.userId}`);
    return message;
  };

  it("makes the message fail, without its data in the reason", async () => {
    const receiver = await startReceiver();
    const fixture = await openDelivery(sandboxes({ fail }));
    await save(fixture, "fail");
    const id = await fixture.create({ settings: { webhookUrl: receiver.url }, transformationId: "tr_1" });
    await fixture.append([{ messageId: "m1" }, { messageId: "m2" }]);
    await fixture.until("m2", "delivered");
    await fixture.until("m1", "failed");
    expect(await fixture.deliveries("m1")).toMatchObject([
      { state: "failed", reason: "transform_failed: Names, version 1: line 3, TypeError" },
    ]);
    expect(await fixture.attempts(id, "m1")).toMatchObject([
      {
        attempt: 1,
        url: "transformation:tr_1",
        error: { code: "transform_failed", message: "TypeError: of u1" },
        transformation: "Names, version 1",
      },
    ]);
  });

  it("shows no secret", async () => {
    const fixture = await openDelivery();
    const tells = "export default (_, { secrets }) => { throw new Error('with ' + secrets.TOKEN) }";
    await save(fixture, tells, { secrets: { TOKEN: fixture.secrets.seal("s3cret") }, secretsRevision: 1 });
    const id = await fixture.create({
      settings: { webhookUrl: "http://127.0.0.1:9/" },
      transformationId: "tr_1",
    });
    await fixture.append([{ messageId: "m1" }]);
    await fixture.until("m1", "failed");
    expect(await fixture.attempts(id, "m1")).toMatchObject([
      { error: { message: "Error: with [secret TOKEN]" } },
    ]);
  });

  it("for every message opens the breaker, and a mended version closes it at once", async () => {
    const receiver = await startReceiver();
    const clock = manualClock();
    const always: Run = () => {
      throw new Error("always");
    };
    const fixture = await openDelivery({ ...sandboxes({ always, rename }), clock });
    await save(fixture, "always");
    const id = await fixture.create({ settings: { webhookUrl: receiver.url }, transformationId: "tr_1" });
    for (let at = 0; at < 20; at++) {
      await fixture.append([{ messageId: `m${at}` }]);
      const { state } = (await fixture.delivery.status(id)) ?? {};
      if (state === "backing_off") break;
      await fixture.until(`m${at}`, "failed");
    }
    await fixture.append([{ messageId: "waits" }]);
    expect(await fixture.delivery.status(id)).toMatchObject({ state: "backing_off", health: "backing_off" });
    expect(await fixture.deliveries("waits")).toEqual([]);

    await save(fixture, "rename", { current: 2, newest: 2 });
    await fixture.until("waits", "delivered");
    expect(bodies(receiver.received).at(-1)).toMatchObject({ messageId: "waits", event: "Shop Ordered" });
    expect(await fixture.delivery.status(id)).toMatchObject({ state: "delivering" });
  });
});

it("tries again at once when the transformation that fails is taken from its source", async () => {
  const receiver = await startReceiver();
  const clock = manualClock();
  const always: Run = () => {
    throw new Error("always");
  };
  const fixture = await openDelivery({
    ...sandboxes({ always }),
    clock,
    source: { transformationId: "tr_1" },
  });
  await save(fixture, "always");
  const id = await fixture.create({ settings: { webhookUrl: receiver.url } });
  for (let at = 0; at < 20; at++) {
    await fixture.append([{ messageId: `m${at}` }]);
    const { state } = (await fixture.delivery.status(id)) ?? {};
    if (state === "backing_off") break;
    await fixture.until(`m${at}`, "failed");
  }
  await fixture.append([{ messageId: "waits" }]);
  expect(await fixture.delivery.status(id)).toMatchObject({ state: "backing_off" });

  const source = await fixture.store.config.get<SourceDocument>(DOCUMENT_KINDS.source, "src_1");
  if (source === undefined) throw new Error("the source is not stored");
  const { transformationId: _, ...without } = source.value;
  await fixture.store.config.put<SourceDocument>(DOCUMENT_KINDS.source, "src_1", without, source.version);
  await fixture.until("waits", "delivered");
  expect(await fixture.delivery.status(id)).toMatchObject({ state: "delivering" });
});

it("keeps messages waiting while a transformation is missing: they are not sent unchanged", async () => {
  const receiver = await startReceiver();
  const clock = manualClock();
  const fixture = await openDelivery({ ...sandboxes({ rename }), clock });
  await save(fixture, "rename");
  await fixture.create({ settings: { webhookUrl: receiver.url }, transformationId: "tr_1" });
  await fixture.store.config.delete(DOCUMENT_KINDS.transformation, "tr_1");
  await fixture.append([{ messageId: "m1" }]);
  await fixture.until("m1", "pending");
  expect(await fixture.deliveries("m1")).toMatchObject([
    { reason: "transform_unavailable: tr_1: there is no transformation tr_1" },
  ]);
  await save(fixture, "rename");
  await fixture.toNextAttempt("m1");
  await fixture.until("m1", "delivered");
  expect(bodies(receiver.received)).toMatchObject([{ event: "Shop Ordered" }]);
});

it("uses a version from the moment at which it is in force", async () => {
  const receiver = await startReceiver();
  const fixture = await openDelivery(
    sandboxes({ rename, other: (message) => ({ ...message, event: "Other" }) }),
  );
  await save(fixture, "rename");
  await fixture.create({ settings: { webhookUrl: receiver.url }, transformationId: "tr_1" });
  await fixture.append([{ messageId: "m1" }]);
  await fixture.until("m1", "delivered");
  await save(fixture, "other", { current: 2, newest: 2 });
  await fixture.append([{ messageId: "m2" }]);
  await fixture.until("m2", "delivered");
  await save(fixture, "rename", { current: 1, newest: 2 });
  await fixture.append([{ messageId: "m3" }]);
  await fixture.until("m3", "delivered");
  expect(bodies(receiver.received).map(({ event }) => event)).toEqual([
    "Shop Ordered",
    "Other",
    "Shop Ordered",
  ]);
});

it("takes messages into the sandbox together", async () => {
  const receiver = await startReceiver();
  const { batches, openSandboxes } = sandboxes({ rename });
  const fixture = await openDelivery({ openSandboxes });
  await save(fixture, "rename");
  await fixture.append(Array.from({ length: 200 }, (_, at) => ({ messageId: `m${at}` })));
  await fixture.create({
    settings: { webhookUrl: receiver.url, concurrency: 50 },
    transformationId: "tr_1",
  });
  await fixture.append(Array.from({ length: 200 }, (_, at) => ({ messageId: `n${at}` })));
  await fixture.until("n199", "delivered");
  expect(Math.max(...batches)).toBeGreaterThan(20);
});

it.each<[what: string, change: (fixture: DeliveryFixture, id: string, url: string) => Promise<void>]>([
  ["has other URLs", (fixture, id, url) => fixture.change(id, { settings: { webhookUrl: url } })],
  [
    "gets less of the source",
    (fixture, id) => fixture.change(id, { filters: [{ events: ["Ordered"], action: { kind: "drop" } }] }),
  ],
])("sends nothing of what was in the sandbox while its destination %s", async (_, change) => {
  const before = await startReceiver();
  const after = await startReceiver();
  const inSandbox = Promise.withResolvers<void>();
  const mayAnswer = Promise.withResolvers<void>();
  const { openSandboxes } = sandboxes({ rename });
  const fixture = await openDelivery({
    async openSandboxes() {
      const opened = await openSandboxes();
      return {
        ...opened,
        async run(...args) {
          inSandbox.resolve();
          await mayAnswer.promise;
          return opened.run(...args);
        },
      };
    },
  });
  await save(fixture, "rename");
  const id = await fixture.create({ settings: { webhookUrl: before.url }, transformationId: "tr_1" });
  await fixture.append([{ messageId: "m1" }]);
  await inSandbox.promise;
  await change(fixture, id, after.url);
  mayAnswer.resolve();
  const ended = await Promise.race([fixture.until("m1", "delivered"), fixture.until("m1", "filtered")]);
  expect(before.received).toEqual([]);
  // It was no attempt.
  expect(after.received.map(({ attempt }) => attempt)).toEqual(ended.state === "delivered" ? [1] : []);
});

it.each([
  ["is not sent if it came from a source", undefined, "suppressed"],
  ["is sent if the collector made it for the destination", true, "delivered"],
] as const)("a message whose user is suppressed while it is in the sandbox %s", async (_, isMade, state) => {
  const receiver = await startReceiver();
  let isSuppressed = false;
  const { openSandboxes } = sandboxes({ rename });
  const fixture = await openDelivery({
    suppressions: { covers: () => isSuppressed, purged: () => [], takePurges() {}, purges: [] },
    async openSandboxes() {
      const opened = await openSandboxes();
      return {
        ...opened,
        run(...args) {
          isSuppressed = true;
          return opened.run(...args);
        },
      };
    },
  });
  await save(fixture, "rename");
  const id = await fixture.create({ settings: { webhookUrl: receiver.url }, transformationId: "tr_1" });
  const batch = batchOf([{ messageId: "m1" }]);
  await fixture.store.log.append(isMade ? { ...batch, onlyDestinations: [id] } : batch);
  await fixture.until("m1", state);
  expect(receiver.received.length).toBe(state === "delivered" ? 1 : 0);
});
