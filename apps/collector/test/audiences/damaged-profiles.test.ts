import { copyFileSync, existsSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Worker } from "node:worker_threads";
import { AUDIENCE, type Audiences, startAudiences, startEngineThread } from "@sluice/audiences";
import { audience, type EngineThreadData, startWorker } from "@sluice/audiences/testing";
import type { Store } from "@sluice/event-log";
import { DOCUMENT_KINDS, openMemoryStore, repairStore } from "@sluice/event-log";
import { batchOf, type Damage, damage } from "@sluice/event-log/testing";
import { systemClock } from "@sluice/resilience";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { startDelivery } from "../../src/delivery/start-delivery.js";
import { catalogOf } from "../../src/destinations/catalog.js";
import type { DestinationType } from "../../src/destinations/destination.js";
import { liveEvents } from "../../src/process/telemetry/live-events.js";
import { createLogger } from "../../src/process/telemetry/logger.js";
import { createMetrics } from "../../src/process/telemetry/metrics.js";
import { scriptedDestination } from "../admin/scripted-destination.js";

const USERS = 400;
const BLOCK_BYTES = 4096;
/** Every so manieth 4 KB of the file is damaged, each in a folder of its own. Default: see `placesIn`. */
const stride = process.env.SLUICE_DAMAGED_PAGES;

let made: string;
let store: Store;
let lines: { [field: string]: unknown }[] = [];
const folders: string[] = [];
const running: Audiences[] = [];

async function start(directory: string): Promise<Audiences> {
  lines = [];
  const logger = createLogger({ level: "warn", write: (line) => lines.push(JSON.parse(line)) });
  const metrics = createMetrics();
  const engine = startEngineThread({ directory }, { logger, metrics });
  const audiences = await startAudiences({
    store,
    engine,
    clock: systemClock,
    logger,
    metrics,
    digestKey: new Uint8Array(32),
  });
  running.push(audiences);
  return audiences;
}

/** Waits until everybody's profile is there, and compares. */
async function compare(audiences: Audiences): Promise<void> {
  for (let user = 0; user < USERS; user += 23) {
    for (;;) {
      const profile = await audiences.profile(`user-${user}`).catch(() => undefined);
      if (profile === undefined) continue;
      expect(profile.traits).toMatchObject({ plan: user % 2 === 0 ? "pro" : "free" });
      break;
    }
  }
  while ((await audiences.stats("pros").catch(() => undefined))?.size !== USERS / 2);
}

/** By default the first page of each table and index, which starts read, and some of the others. */
function placesIn(file: string): number[] {
  const blocks = Math.ceil(statSync(file).size / BLOCK_BYTES);
  if (stride !== undefined)
    return Array.from(
      { length: Math.ceil(blocks / Number(stride)) },
      (_, i) => i * Number(stride) * BLOCK_BYTES,
    );
  const database = new DatabaseSync(file, { readOnly: true });
  const roots = database.prepare("SELECT rootpage FROM sqlite_schema WHERE rootpage > 0").all();
  database.close();
  const first = [0, ...roots.map(({ rootpage }) => ((rootpage as number) - 1) * BLOCK_BYTES)];
  const others = Array.from({ length: 8 }, (_, i) => Math.floor(blocks * (0.25 + i / 12)) * BLOCK_BYTES);
  return [...new Set([...first, ...others])];
}

beforeAll(async () => {
  made = mkdtempSync(join(tmpdir(), "sluice-profiles-"));
  folders.push(made);
  store = openMemoryStore({ clock: systemClock });
  const pros = audience("pros", { kind: "trait", trait: "plan", is: "equals", value: "pro" });
  await store.config.put(AUDIENCE, "pros", pros.document);
  for (let user = 0; user < USERS; user++) {
    const traits = { plan: user % 2 === 0 ? "pro" : "free", text: "some traits ".repeat(30) };
    await store.log.append(
      batchOf([{ type: "identify", messageId: `m${user}`, userId: `user-${user}`, traits }]),
    );
  }
  const audiences = await start(made);
  await compare(audiences);
  await audiences.close();
}, 600_000);
afterEach(() => Promise.all(running.splice(0).map((audiences) => audiences.close())));
afterAll(async () => {
  await store.close();
  for (const folder of folders) rmSync(folder, { recursive: true });
});

it.each<Damage>(["zeroed", "garbled"])(
  "rebuilds profiles from the log if their file is damaged: %s",
  { timeout: 1_800_000 },
  async (how) => {
    let rebuilt = 0;
    const places = placesIn(join(made, "profiles.db"));
    for (const at of places) {
      const directory = mkdtempSync(join(tmpdir(), "sluice-profiles-"));
      folders.push(directory);
      const file = join(directory, "profiles.db");
      copyFileSync(join(made, "profiles.db"), file);
      damage(file, at, how);
      const audiences = await start(directory);
      await compare(audiences);
      await audiences.close();
      const kept = `${file}.damaged-1`;
      if (existsSync(kept)) {
        rebuilt += 1;
        expect(lines).toContainEqual(
          expect.objectContaining({
            level: "warn",
            msg: expect.stringContaining("profiles.db was damaged"),
            damagedFile: kept,
          }),
        );
        expect(statSync(kept).mode & 0o777).toBe(0o600);
      }
    }
    expect(places.length).toBeGreaterThanOrEqual(16);
    expect(rebuilt).toBeGreaterThan(0);
  },
);

it("destinations are told again when profiles that this process made are damaged", async () => {
  const directory = mkdtempSync(join(tmpdir(), "sluice-profiles-"));
  folders.push(directory);
  const own = openMemoryStore({ clock: systemClock });
  const parts = {
    store: own,
    clock: systemClock,
    logger: createLogger({ write() {} }),
    metrics: createMetrics(),
  };
  const told: string[] = [];
  let heard = (): void => {};
  const destination: DestinationType = {
    ...scriptedDestination().type,
    async open() {
      return {
        flow: { concurrency: 1, order: "none" },
        async deliver({ messageId, message }) {
          told.push(`${message.userId} ${messageId}`);
          heard();
          return { kind: "delivered", reason: "200" };
        },
        async close() {},
      };
    },
  };
  const until = async (count: number): Promise<void> => {
    while (told.length < count)
      await new Promise<void>((resolve) => {
        heard = resolve;
      });
  };
  const delivery = await startDelivery({ ...parts, catalog: catalogOf([destination]), live: liveEvents() });
  await own.config.put(DOCUMENT_KINDS.destination, "dst", {
    type: "scripted",
    name: "Scripted",
    enabled: true,
    settings: {},
    connections: [],
    disabledSpans: [],
    filters: [],
    createdAt: "2026-01-01T00:00:00.000Z",
  });
  const pros = audience("pros", { kind: "trait", trait: "plan", is: "equals", value: "pro" });
  await own.config.put(AUDIENCE, "pros", { ...pros.document, destinationIds: ["dst"] });
  await own.log.append(
    batchOf([{ type: "identify", messageId: "m1", userId: "ann", traits: { plan: "pro" } }]),
  );
  const threads: Worker[] = [];
  const startThread = (options: EngineThreadData): Worker => {
    const thread = startWorker(options);
    threads.push(thread);
    return thread;
  };
  const engine = startEngineThread({ directory }, { ...parts, startThread });
  running.push(await startAudiences({ ...parts, engine, digestKey: new Uint8Array(32) }));
  // Twice: the second file of profiles is this process's own too.
  for (let times = 1; times <= 3; times++) {
    await until(times);
    if (times === 3) break;
    await threads.at(-1)?.terminate();
    const file = join(directory, "profiles.db");
    rmSync(`${file}-wal`, { force: true });
    writeFileSync(file, "damaged ".repeat(4_096));
    await own.log.append(batchOf([{ type: "track", event: "Seen", messageId: `n${times}`, userId: "ann" }]));
  }
  expect(told.every((one) => one.startsWith("ann aud-"))).toBe(true);
  expect(new Set(told).size).toBe(3);
  await delivery.close(0);
});

it("repair sets them aside, names them, and finds nothing more", { timeout: 300_000 }, async () => {
  const { openSqliteStore } = await import("@sluice/event-log");
  const directory = mkdtempSync(join(tmpdir(), "sluice-profiles-"));
  folders.push(directory);
  await (await openSqliteStore({ directory, clock: systemClock })).close();
  copyFileSync(join(made, "profiles.db"), join(directory, "profiles.db"));
  expect(await repairStore({ directory })).toEqual({ rows: 0, messages: 0, damaged: [] });
  damage(join(directory, "profiles.db"), 8 * 4096, "zeroed");
  expect(await repairStore({ directory })).toEqual({
    rows: 0,
    messages: 0,
    damaged: [],
    rebuilt: ["the profiles: the next start rebuilds them from the log"],
    setAside: [join(directory, "profiles.db.damaged-1")],
  });
  expect(readdirSync(directory).sort()).toEqual(["profiles.db.damaged-1", "sluice.db"]);
  expect(await repairStore({ directory })).toEqual({ rows: 0, messages: 0, damaged: [] });
  await compare(await start(directory));
});
