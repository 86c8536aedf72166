import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { IncidentView } from "@sluice/control-api";
import { openMemoryStore, type Store } from "@sluice/event-log";
import { INCIDENT_SOURCE_ID } from "@sluice/protocol";
import { describe, expect, it, onTestFinished } from "vitest";
import type { DestinationStatus } from "../../src/delivery/delivery-stage.js";
import { CHECK_EVERY_MS, startIncidents } from "../../src/incidents/start-incidents.js";
import { createLogger } from "../../src/process/telemetry/logger.js";
import { createMetrics } from "../../src/process/telemetry/metrics.js";
import {
  manualClock,
  startTestCollector,
  type TestCollector,
  type TestCollectorOptions,
} from "../../src/testing.js";

const MINUTE = 60_000;
const HOOK = "https://hooks.example/orders";
const ALERTS = "https://alerts.example/sluice";
const OTHERS = "https://others.example/sluice";
const GB = 1_024 ** 3;
const ROOM = { freeBytes: 50 * GB, totalBytes: 100 * GB };

async function collectorWith(options: TestCollectorOptions = {}): Promise<TestCollector> {
  const collector = await startTestCollector({ readDisk: async () => ROOM, ...options });
  onTestFinished(() => collector.close());
  return collector;
}

async function withAlerts(options?: TestCollectorOptions): Promise<TestCollector> {
  const collector = await collectorWith(options);
  await connectToIncidents(collector, ALERTS);
  return collector;
}

async function connectToIncidents({ api }: TestCollector, url: string, more: object = {}): Promise<string> {
  const { id } = (await api("POST", "/destinations", {
    type: "webhooks",
    name: new URL(url).hostname,
    sourceIds: ["sluice"],
    settings: { webhooks: [{ url }], sharedSecret: "s" },
    ...more,
  })) as { id: string };
  return id;
}

let sent = 0;
const track = (collector: TestCollector) =>
  collector.send({ type: "track", event: "Ordered", userId: "u1", messageId: `m${sent++}` });

/** The messages about incidents that a URL accepted or refused, each once. */
function told({ webhooks }: TestCollector, at = ALERTS): string[] {
  const all = webhooks.requests
    .filter(({ url }) => url === at)
    .map(({ body, headers }) => {
      const { event, properties } = JSON.parse(body);
      return [headers["webhook-id"] ?? JSON.parse(body).messageId, `${event}: ${properties.title}`] as const;
    });
  return [...new Map(all).values()];
}
const incidents = async ({ api }: TestCollector) =>
  ((await api("GET", "/incidents")) as { items: IncidentView[] }).items;
const stored = async ({ log }: Pick<Store, "log">) =>
  (await log.find({ sourceId: INCIDENT_SOURCE_ID }, { limit: 1_000 })).items
    .map(({ message }) => message)
    .reverse();

describe("a destination that fails", () => {
  it("makes one message after its time, and one when it has recovered", async () => {
    const collector = await withAlerts();
    const id = await collector.connect({ webhooks: [{ url: HOOK }] });
    collector.webhooks.script(HOOK, 503);
    await track(collector);
    await collector.advance(14 * MINUTE);
    expect(told(collector)).toEqual([]);
    await collector.advance(2 * MINUTE);
    expect(told(collector)).toEqual(["Destination Failing: Webhooks is failing"]);
    await collector.advance(20 * MINUTE);
    expect(told(collector)).toHaveLength(1);
    const [incident] = await incidents(collector);
    expect(incident).toMatchObject({ state: "open", kind: "destination_failing", destinationId: id });

    collector.webhooks.script(HOOK, 200);
    await collector.advance(20 * MINUTE);
    expect(told(collector)).toEqual([
      "Destination Failing: Webhooks is failing",
      "Destination Recovered: Resolved: Webhooks is failing",
    ]);
    expect(await incidents(collector)).toMatchObject([
      { state: "resolved", detail: "Deliveries succeed again." },
    ]);
    // The message is one like others: stored, traced, and about no user.
    const query = `sourceId=${INCIDENT_SOURCE_ID}`;
    expect(await collector.api("GET", `/messages/${incident?.messageId}?${query}`)).toMatchObject({
      message: { event: "Destination Failing", properties: { destination_id: id, since: incident?.since } },
      outcomes: [{ state: "delivered" }],
    });
    const { items } = (await collector.api("GET", "/profiles")) as { items: { userId?: string }[] };
    expect(items).toMatchObject([{ userId: "u1" }]);
  });

  it("follows the time of the destination", async () => {
    const collector = await withAlerts();
    const destination = { name: "Orders", type: "webhooks", settings: { webhooks: [{ url: HOOK }] } };
    const created = await collector.api("POST", "/destinations", {
      ...destination,
      notifyAfterMs: 2 * MINUTE,
    });
    expect(created).toMatchObject({ notifyAfterMs: 2 * MINUTE });
    await expect(
      collector.api("POST", "/destinations", { ...destination, notifyAfterMs: 1 }),
    ).rejects.toThrow(/notifyAfterMs/);

    const id = await collector.connect({ webhooks: [{ url: HOOK }] });
    expect(await collector.api("GET", `/destinations/${id}`)).toMatchObject({ notifyAfterMs: 15 * MINUTE });
    await collector.api("PATCH", `/destinations/${id}`, { notifyAfterMs: MINUTE });
    collector.webhooks.script(HOOK, 503);
    await track(collector);
    await collector.advance(2 * MINUTE);
    expect(told(collector)).toEqual(["Destination Failing: Webhooks is failing"]);
  });

  it("is said to be disabled instead of recovered", async () => {
    const collector = await withAlerts();
    const id = await collector.connect({ webhooks: [{ url: HOOK }] });
    collector.webhooks.script(HOOK, 503);
    await track(collector);
    await collector.advance(16 * MINUTE);
    await collector.api("PATCH", `/destinations/${id}`, { enabled: false });
    await collector.advance(MINUTE);
    expect(await incidents(collector)).toMatchObject([
      { state: "resolved", detail: "The destination was disabled." },
    ]);
  });

  it("makes no message that its filters drop", async () => {
    const collector = await collectorWith();
    const action = { kind: "drop" };
    const wanted = { path: "properties.kind", is: "not_equals", value: "disk_low" };
    await connectToIncidents(collector, ALERTS, { filters: [{ where: [wanted], action }] });
    await collector.connect({ webhooks: [{ url: HOOK }] });
    collector.webhooks.script(HOOK, 410);
    await track(collector);
    await collector.advance(2 * MINUTE);
    expect(await stored(collector.store)).toMatchObject([{ event: "URL Disabled" }]);
    expect(told(collector)).toEqual([]);
  });
});

describe("a destination of incidents that fails itself", () => {
  it("gets no message about itself; the others do", async () => {
    const collector = await collectorWith({ readDisk: async () => ({ ...ROOM, freeBytes: GB }) });
    const own = await connectToIncidents(collector, ALERTS);
    await connectToIncidents(collector, OTHERS);
    collector.webhooks.script(ALERTS, 503);
    await collector.advance(20 * MINUTE);
    const failing = "Destination Failing: alerts.example is failing";
    expect(told(collector)).toEqual(["Disk Low: The disk is nearly full"]);
    expect(told(collector, OTHERS)).toEqual(["Disk Low: The disk is nearly full", failing]);
    const [incident] = (await incidents(collector)).filter(({ destinationId }) => destinationId === own);
    expect(incident).toMatchObject({ state: "open", title: "alerts.example is failing" });
    const message = await collector.api("GET", `/messages/${incident?.messageId}`);
    expect(message).toMatchObject({
      outcomes: expect.arrayContaining([
        expect.objectContaining({
          destinationId: own,
          state: "filtered",
          reason: "own incident: it is about this destination",
        }),
      ]),
    });
  });

  it("makes a bounded number of messages, although each is one that two of them fail with", async () => {
    const collector = await collectorWith({ readDisk: async () => ({ ...ROOM, freeBytes: GB }) });
    for (const url of [ALERTS, OTHERS]) {
      await connectToIncidents(collector, url, { retryForMs: 5 * MINUTE, notifyAfterMs: MINUTE });
      collector.webhooks.script(url, 503);
    }
    await collector.advance(100 * MINUTE);
    const counts = new Map<string, number>();
    for (const { event, properties } of await stored(collector.store)) {
      const key = `${event} ${(properties as { incident_id: string }).incident_id}`;
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
    expect(Math.max(...counts.values())).toBeLessThanOrEqual(2);
    expect([...counts.keys()].some((key) => key.startsWith("Destination Failing"))).toBe(true);
  });
});

describe("a restart", () => {
  const world = async () => {
    const clock = manualClock();
    const dataDirectory = await mkdtemp(join(tmpdir(), "sluice-incidents-"));
    onTestFinished(() => rm(dataDirectory, { recursive: true, force: true }));
    return { clock, store: openMemoryStore({ clock }), dataDirectory };
  };

  it("neither repeats an incident nor forgets it", async () => {
    const options = await world();
    const first = await withAlerts(options);
    await first.connect({ webhooks: [{ url: HOOK }] });
    first.webhooks.script(HOOK, 503);
    await track(first);
    await first.advance(16 * MINUTE);
    expect(told(first)).toHaveLength(1);
    await first.close();

    const second = await collectorWith(options);
    second.webhooks.script(HOOK, 503);
    await second.advance(30 * MINUTE);
    expect(told(second)).toEqual([]);
    expect(await incidents(second)).toMatchObject([{ state: "open" }]);
    await second.close();

    const third = await collectorWith(options);
    await third.advance(30 * MINUTE);
    expect(told(third)).toEqual(["Destination Recovered: Resolved: Webhooks is failing"]);
  });

  it.each<[string, (store: Store) => Store]>([
    [
      "before the message is in the log",
      (store) => ({
        ...store,
        log: {
          ...store.log,
          append: async (batch) => {
            if (batch.sourceId === INCIDENT_SOURCE_ID) throw new Error("crash");
            return store.log.append(batch);
          },
        },
      }),
    ],
    [
      "after the message is in the log, before that is noted",
      (store) => ({
        ...store,
        config: {
          ...store.config,
          putAll: async (puts) => {
            const isNoted = puts.some(
              ({ kind, value }) => kind === "incident" && !Object.hasOwn(value as object, "unsent"),
            );
            if (isNoted) throw new Error("crash");
            return store.config.putAll(puts);
          },
        },
      }),
    ],
  ])("%s, leads to one message", async (_when, crashing) => {
    const options = await world();
    const readDisk = async () => ({ ...ROOM, freeBytes: GB });
    const first = await withAlerts({ ...options, readDisk, store: crashing(options.store) });
    await first.advance(MINUTE);
    await first.close();
    const second = await collectorWith({ ...options, readDisk });
    await second.advance(5 * MINUTE);
    expect([...told(first), ...told(second)]).toEqual(["Disk Low: The disk is nearly full"]);
    expect(await stored(options.store)).toHaveLength(1);
  });
});

describe("the other kinds", () => {
  it("says at once that a URL was disabled, without what may be secret in it", async () => {
    const collector = await withAlerts();
    await collector.connect({ webhooks: [{ url: `${HOOK}?token=secret` }] });
    collector.webhooks.script(`${HOOK}?token=secret`, 410);
    await track(collector);
    await collector.advance(MINUTE);
    expect(told(collector)).toEqual(["URL Disabled: A URL of Webhooks is disabled"]);
    expect(JSON.stringify([await stored(collector.store), await incidents(collector)])).not.toContain(
      "token=secret",
    );
  });

  it("says that retention is held back, and that the limits hold again", async () => {
    const clock = manualClock();
    const memory = openMemoryStore({ clock });
    let heldBack: ReturnType<Store["stats"]>["retentionHeldBack"];
    const stats = (): ReturnType<Store["stats"]> => ({
      ...memory.stats(),
      ...(heldBack === undefined ? {} : { retentionHeldBack: heldBack }),
    });
    const collector = await withAlerts({ clock, store: { ...memory, stats } });
    const consumerId = await collector.connect({ webhooks: [{ url: HOOK }] });
    heldBack = { consumerId, bytes: 3 * 1_024 ** 2 };
    await collector.advance(4 * MINUTE);
    expect(told(collector)).toEqual([]);
    await collector.advance(3 * MINUTE);
    expect(told(collector)).toEqual(["Retention Held Back: Webhooks holds back retention"]);
    expect(await incidents(collector)).toMatchObject([
      { kind: "retention_held_back", destinationId: consumerId, detail: expect.stringContaining("3.0 MB") },
    ]);
    heldBack = undefined;
    await collector.advance(10 * MINUTE);
    expect(told(collector)[1]).toBe("Retention Restored: Resolved: Webhooks holds back retention");
    expect(await incidents(collector)).toMatchObject([
      { state: "resolved", detail: "The retention limits hold again." },
    ]);
  });

  it("says that the disk is nearly full, and that it no longer is", async () => {
    let freeBytes = 50 * GB;
    const collector = await withAlerts({ readDisk: async () => ({ freeBytes, totalBytes: 100 * GB }) });
    freeBytes = GB;
    await collector.advance(MINUTE);
    freeBytes = 6 * GB;
    await collector.advance(MINUTE);
    expect(told(collector)).toEqual(["Disk Low: The disk is nearly full"]);
    freeBytes = 50 * GB;
    await collector.advance(MINUTE);
    expect(told(collector)).toEqual([
      "Disk Low: The disk is nearly full",
      "Disk Recovered: Resolved: The disk is nearly full",
    ]);
  });

  it("says that many messages are rejected", async () => {
    const collector = await withAlerts();
    const bad = Array.from({ length: 150 }, () => ({ type: "track", userId: "u1" }));
    await collector.send(...bad);
    await collector.advance(2 * MINUTE);
    expect(told(collector)).toEqual(["Messages Refused: Many messages are rejected"]);
    await collector.advance(12 * MINUTE);
    expect(told(collector)).toHaveLength(2);
  });
});

describe("what does not answer", () => {
  const disabled = { health: "url_disabled", disabledTargets: [HOOK] } as unknown as DestinationStatus;
  const full = { freeBytes: 1, totalBytes: GB };
  const hangs = () => new Promise<never>(() => {});

  async function observed(answers: {
    readonly status?: () => Promise<DestinationStatus | undefined>;
    readonly readDisk?: () => Promise<typeof full>;
  }) {
    const clock = manualClock();
    const store = openMemoryStore({ clock });
    await store.config.put("destination", "dst_1", { name: "Orders", enabled: true });
    const { status = async () => disabled, readDisk = async () => full } = answers;
    const checks = await startIncidents({
      ...{ store, clock, readDisk, delivery: { status } },
      counters: { rates: () => ({ points: [] }) as never },
      metrics: createMetrics(),
      logger: createLogger({ write: () => {} }),
    });
    onTestFinished(() => checks.close(0));
    const kinds = (): string[] => checks.list().map(({ kind, state }) => `${kind} ${state}`);
    return { clock, checks, kinds };
  }

  it.each([
    ["a destination", { status: hangs }, "disk_low open"],
    ["the disk", { readDisk: hangs }, "url_disabled open"],
  ])("silences no other incident: %s", async (_what, answers, expected) => {
    const { clock, kinds } = await observed(answers);
    await clock.advance(CHECK_EVERY_MS);
    expect(kinds()).toEqual([]);
    await clock.advance(10_000);
    expect(kinds()).toEqual([expected]);
  });

  it.each(["status", "readDisk"] as const)("is not asked again until it has: %s", async (name) => {
    let asked = 0;
    let answer: (value: never) => void = () => {};
    const held = () => {
      asked += 1;
      return new Promise<never>((resolve) => {
        answer = resolve;
      });
    };
    const { clock, kinds } = await observed({ [name]: held });
    await clock.advance(10 * MINUTE);
    expect(asked).toBe(1);
    // What it says now was true when it was asked.
    answer((name === "status" ? disabled : full) as never);
    await clock.advance(0);
    expect(kinds()).toHaveLength(1);
    while (asked === 1) await clock.advance(1_000);
    answer((name === "status" ? disabled : full) as never);
    await clock.advance(0);
    expect(kinds().sort()).toEqual(["disk_low open", "url_disabled open"]);
  });

  it.each([
    ["a destination", "status"],
    ["the disk", "readDisk"],
  ] as const)("leaves its incident open: %s", async (_what, name) => {
    let isThere = true;
    const answer = name === "status" ? disabled : full;
    const { clock, kinds } = await observed({
      [name]: () => (isThere ? Promise.resolve(answer as never) : Promise.reject(new Error("gone"))),
    });
    await clock.advance(CHECK_EVERY_MS);
    expect(kinds()).toHaveLength(2);
    isThere = false;
    await clock.advance(10 * MINUTE);
    expect(kinds().sort()).toEqual(["disk_low open", "url_disabled open"]);
  });

  it("does not hold up closing beyond its time", async () => {
    const { clock, checks, kinds } = await observed({ readDisk: hangs });
    await clock.advance(CHECK_EVERY_MS);
    const closed = checks.close(1_000);
    await clock.advance(1_000);
    await closed;
    await clock.advance(10 * MINUTE);
    expect([kinds(), clock.pending]).toEqual([[], 0]);
  });
});
