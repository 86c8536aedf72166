import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Store } from "@sluice/event-log";
import { openMemoryStore } from "@sluice/event-log";
import { AUDIENCE_SOURCE_ID } from "@sluice/protocol";
import { systemClock } from "@sluice/resilience";
import { afterEach, beforeEach, expect, test } from "vitest";
import { AUDIENCE, COMPUTED_TRAIT } from "../../src/definitions/definitions.js";
import type { Audiences } from "../../src/engine/runner/audiences.js";
import { startAudiences } from "../../src/engine/runner/start-audiences.js";
import { startEngineThread, startWorker } from "../../src/engine/thread/start-engine-thread.js";
import { audience, computedTrait, removal } from "../definitions/definitions.js";
import { FakeLogger, FakeMetrics } from "../telemetry.js";

const MALLORY = removal("mallory");

/** Threads that die are started again after a second each; on a busy machine starting one takes seconds more. */
const RUN_MS = 240_000;

let directory: string;
let store: Store;
let audiences: Audiences;
let metrics = new FakeMetrics();
let sent = 0;
let logger = new FakeLogger();

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "sluice-large-profiles-"));
  store = openMemoryStore({ clock: systemClock });
  metrics = new FakeMetrics();
  logger = new FakeLogger();
  sent = 0;
  const pros = audience("pros", { kind: "trait", trait: "plan", is: "equals", value: "pro" });
  await store.config.put(AUDIENCE, "pros", pros.document);
  await start();
});
afterEach(async () => {
  await audiences.close();
  await store.close();
  await rm(directory, { recursive: true });
});

/** `entry`: the file of the engine's thread. */
async function start({ entry, oldMb = 64 }: { entry?: URL; oldMb?: number } = {}): Promise<void> {
  audiences = await startAudiences({
    store,
    engine: startEngineThread(
      { directory },
      {
        logger,
        metrics,
        startThread: (options) =>
          startWorker(options, { room: { youngMb: 8, oldMb }, ...(entry === undefined ? {} : { entry }) }),
      },
    ),
    clock: systemClock,
    logger,
    metrics,
    digestKey: new Uint8Array(32),
  });
}

async function send(
  message: Readonly<Record<string, unknown>> & { readonly type: string; readonly userId: string },
) {
  sent += 1;
  const messageId = `m${sent}`;
  await store.log.append({
    sourceId: "src",
    receivedAtMs: Date.now(),
    body: Buffer.from(JSON.stringify({ batch: [{ messageId, ...message }] })),
    itemCount: 1,
    skipped: [],
    madeIds: [],
    keys: [{ index: 0, messageId, userId: message.userId, type: message.type }],
  });
}

/** Traits of about 32 KB whose names no other message has. */
function newTraits(message: number): Record<string, string> {
  return Object.fromEntries(
    Array.from({ length: 10 }, (_, index) => [`trait ${message} ${index}`, "x".repeat(3_200)]),
  );
}

const metric = (name: string): number => metrics.read(name);

/** Waits until the audiences sent a message about the user. */
async function toldOf(userId: string): Promise<void> {
  for (;;) {
    const { items } = await store.log.find({ sourceId: AUDIENCE_SOURCE_ID, userId }, { limit: 1 });
    if (items.length > 0) return;
    await new Promise<void>((resolve) => {
      const stop = store.log.onAppend(() => {
        stop();
        resolve();
      });
    });
  }
}

test(
  "a user who is sent ever more traits neither ends the engine nor stays in the way of others",
  async () => {
    for (let message = 0; message < 900; message++)
      await send({ type: "identify", userId: "mallory", traits: newTraits(message) });
    await send({ type: "identify", userId: "ann", traits: { plan: "pro" } });
    await toldOf("ann");

    const mallory = await audiences.profile("mallory");
    expect(Buffer.byteLength(JSON.stringify(mallory?.traits))).toBeLessThanOrEqual(256 * 1_024);
    expect(Object.keys(mallory?.traits ?? {}).length).toBeGreaterThan(70);
    expect(mallory?.leftOut?.traits).toBe(9_000 - Object.keys(mallory?.traits ?? {}).length);
    expect(metric("sluice_profile_left_out_total{trait}")).toBe(mallory?.leftOut?.traits);
    expect(metric("sluice_audience_engine_deaths_total")).toBe(0);

    expect(await audiences.forget([MALLORY])).toMatchObject([{ profile: true }]);
    expect(await audiences.profile("mallory")).toBeUndefined();
  },
  RUN_MS,
);

test(
  "a message that ends the engine again and again is set aside and told; everything else goes on",
  async () => {
    await audiences.close();
    metrics = new FakeMetrics();
    await start({
      entry: new URL("./fragile-engine.ts", import.meta.url),
    });
    for (let user = 0; user < 20; user++)
      await send({ type: "identify", userId: `before-${user}`, traits: { plan: "pro" } });
    await send({ type: "identify", userId: "mallory", traits: { poison: 1 } });
    for (let user = 0; user < 20; user++)
      await send({ type: "identify", userId: `after-${user}`, traits: { plan: "pro" } });
    await send({ type: "identify", userId: "mallory", traits: { plan: "pro" } });
    // While the engine dies again and again, what is asked of it beside that is answered.
    expect(await audiences.identitiesOf("u:nobody", false)).toMatchObject({ identities: ["u:nobody"] });
    await toldOf("mallory");

    expect(await audiences.profile("mallory")).toMatchObject({ traits: { plan: "pro" } });
    expect(await audiences.stats("pros")).toMatchObject({ size: 41 });
    expect(await audiences.engine()).toMatchObject({
      behind: 0,
      setAside: [{ messageId: "m21", sourceId: "src", messages: 1 }],
    });
    expect(metric("sluice_audience_messages_set_aside")).toBe(1);
    // Twice with others, twice alone.
    expect(metric("sluice_audience_engine_deaths_total")).toBeLessThanOrEqual(4);
    expect(logger.lines.filter((line) => line.includes('"m21"') && line.includes("src"))).toHaveLength(1);

    // A definition that is new reads the history without it.
    const count = computedTrait("poisons", "count", { event: "Order" });
    await store.config.put(COMPUTED_TRAIT, "poisons", count.document);
    expect(await audiences.forget([MALLORY])).toMatchObject([{ profile: true }]);
  },
  RUN_MS,
);

test(
  "many full profiles are not in memory at once",
  async () => {
    await audiences.close();
    metrics = new FakeMetrics();
    await start({ oldMb: 128 });
    const traits = Object.fromEntries(
      Array.from({ length: 24 }, (_, index) => [`trait ${index}`, Array(330).fill({})]),
    );
    for (let user = 0; user < 40; user++) {
      for (let part = 0; part < 8; part++)
        await send({
          type: "identify",
          userId: `user-${user}`,
          traits: Object.fromEntries(
            Object.entries(traits).map(([name, value]) => [`${name} ${part}`, value]),
          ),
        });
    }
    for (let user = 0; user < 40; user++)
      await send({ type: "identify", userId: `user-${user}`, traits: { plan: "pro" } });
    await toldOf("user-39");
    await store.config.put(
      AUDIENCE,
      "planned",
      audience("planned", { kind: "trait", trait: "plan", is: "exists" }).document,
    );
    await send({ type: "identify", userId: "ann", traits: { plan: "pro" } });
    await toldOf("ann");
    expect(await audiences.members("pros", { limit: 100 })).toMatchObject({ items: { length: 41 } });
    expect(metric("sluice_audience_engine_deaths_total")).toBe(0);
  },
  RUN_MS,
);
