import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Worker } from "node:worker_threads";
import type { Store } from "@sluice/event-log";
import { idDigest, openMemoryStore, SUPPRESSION, userIdentity } from "@sluice/event-log";
import { AUDIENCE_SOURCE_ID } from "@sluice/protocol";
import { systemClock } from "@sluice/resilience";
import { afterEach, beforeEach, expect, test } from "vitest";
import { AUDIENCE } from "../../src/definitions/definitions.js";
import type { Audiences } from "../../src/engine/runner/audiences.js";
import { startAudiences } from "../../src/engine/runner/start-audiences.js";
import { startEngineThread, startWorker } from "../../src/engine/thread/start-engine-thread.js";
import { audience } from "../definitions/definitions.js";
import { FakeLogger, FakeMetrics } from "../telemetry.js";

const DIGEST_KEY = new Uint8Array(32);

let directory: string;
let store: Store;
let audiences: Audiences;
const metrics = new FakeMetrics();
const threads: Worker[] = [];
let sent = 0;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "sluice-engine-"));
  store = openMemoryStore({ clock: systemClock });
  const pros = audience("pros", { kind: "trait", trait: "plan", is: "equals", value: "pro" });
  await store.config.put(AUDIENCE, "pros", pros.document);
  await suppress("sue");
  audiences = await start();
});
afterEach(async () => {
  await audiences.close();
  await store.close();
  await rm(directory, { recursive: true });
});

function start(gate?: {
  readonly mayStart: Promise<void>;
  readonly onNeeded: () => void;
}): Promise<Audiences> {
  const logger = new FakeLogger();
  return startAudiences({
    store,
    engine: startEngineThread(
      { directory },
      {
        logger,
        metrics,
        ...(gate === undefined ? {} : { mayStart: gate.mayStart }),
        startThread: (options) => {
          const thread = startWorker(options);
          threads.push(thread);
          return thread;
        },
      },
    ),
    clock: systemClock,
    logger,
    metrics,
    digestKey: DIGEST_KEY,
    ...(gate === undefined ? {} : { onNeeded: gate.onNeeded }),
  });
}

const suppress = (userId: string) =>
  store.config.put(SUPPRESSION, idDigest(DIGEST_KEY).of(userIdentity(userId)), {
    kind: "user",
    spans: [{ after: -1 }],
  });

async function identify(userId: string, plan: string): Promise<void> {
  sent += 1;
  const message = { type: "identify", messageId: `m${sent}`, userId, traits: { plan } };
  await store.log.append({
    sourceId: "src",
    receivedAtMs: Date.now(),
    body: Buffer.from(JSON.stringify({ batch: [message] })),
    itemCount: 1,
    skipped: [],
    madeIds: [],
    keys: [{ index: 0, messageId: message.messageId, userId, type: "identify" }],
  });
}

/** Waits until so many messages of audiences are in the log; answers what they tell, oldest first. */
async function told(count: number): Promise<string[]> {
  for (;;) {
    const { items } = await store.log.find({ sourceId: AUDIENCE_SOURCE_ID }, { limit: 100 });
    if (items.length >= count)
      return items
        .toReversed()
        .map(({ message }) => `${message.userId}:${(message.traits as Record<string, unknown>).pros}`);
    await new Promise<void>((resolve) => {
      const stop = store.log.onAppend(() => {
        stop();
        resolve();
      });
    });
  }
}

const deaths = (): number => metrics.read("sluice_audience_engine_deaths_total");

/** Ends the thread in which the engine is now. */
async function kill(how: "terminated" | "uncaught error"): Promise<void> {
  const thread = threads.at(-1);
  if (thread === undefined) throw new Error("no thread was started");
  const ended = new Promise((resolve) => thread.once("exit", resolve));
  // What is no call cannot be taken apart: nothing catches that error.
  if (how === "terminated") await thread.terminate();
  else thread.postMessage(null);
  await ended;
}

test("a thread that dies is started again and goes on where it was; messages are taken all the while", async () => {
  await identify("ann", "pro");
  expect(await told(1)).toEqual(["ann:true"]);
  await suppress("tim");
  await kill("terminated");
  // Suppressed before the first start, and since: the new thread is told of both.
  await identify("sue", "pro");
  await identify("tim", "pro");
  await identify("bob", "pro");
  expect(await told(2)).toEqual(["ann:true", "bob:true"]);
  await kill("uncaught error");
  await Promise.all([identify("ann", "free"), identify("cid", "pro")]);
  expect(await told(4)).toEqual(["ann:true", "bob:true", "ann:false", "cid:true"]);
  expect(await audiences.profile("cid")).toMatchObject({ traits: { plan: "pro" } });
  expect(await audiences.profile("sue")).toBeUndefined();
  expect(await audiences.profile("tim")).toBeUndefined();
  expect(deaths()).toBe(2);

  // In the middle of something.
  for (let user = 0; user < 200; user++) await identify(`user-${user}`, "pro");
  const interrupted = kill("uncaught error");
  for (let user = 200; user < 300; user++) await identify(`user-${user}`, "pro");
  await interrupted;
  const all = await store.log.find({ sourceId: "src" }, { limit: 1 });
  expect(all.items[0]?.message.userId).toBe("user-299");
  while ((await audiences.profile("user-299").catch(() => undefined)) === undefined);
  expect(await audiences.stats("pros")).toMatchObject({ size: 302 });
  expect(deaths()).toBe(3);
});

test("with nothing defined, a start waits for no thread; what is asked meanwhile is answered later", async () => {
  await audiences.close();
  const { promise: mayStart, resolve: begin } = Promise.withResolvers<void>();
  const before = threads.length;
  audiences = await start({ mayStart, onNeeded: begin });
  expect(threads).toHaveLength(before + 1); // One audience is defined.
  await audiences.close();

  await store.config.delete(AUDIENCE, "pros");
  const gate = Promise.withResolvers<void>();
  audiences = await start({ mayStart: gate.promise, onNeeded: () => expect.fail("nothing is defined") });
  await suppress("tim");
  await identify("ann", "pro");
  await identify("tim", "pro");
  const profiles = [audiences.profile("ann"), audiences.profile("tim")];
  expect(threads).toHaveLength(before + 1);
  gate.resolve();
  expect(await profiles[0]).toMatchObject({ traits: { plan: "pro" } });
  expect(await profiles[1]).toBeUndefined();
});

test("a second close ends with the first, when the thread has ended", async () => {
  const engine = startEngineThread(
    { directory: await mkdtemp(join(directory, "other-")) },
    {
      logger: new FakeLogger(),
      metrics: new FakeMetrics(),
      startThread: (options) => {
        const thread = startWorker(options);
        threads.push(thread);
        return thread;
      },
    },
  );
  await engine.stats(0);
  let hasEnded = false;
  threads.at(-1)?.once("exit", () => {
    hasEnded = true;
  });
  void engine.close();
  await engine.close();
  expect(hasEnded).toBe(true);
});
