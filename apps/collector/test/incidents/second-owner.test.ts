import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type LeadingStores, openReplica } from "@sluice/event-log";
import { openMemoryEngines } from "@sluice/event-log/testing";
import { INCIDENT_SOURCE_ID } from "@sluice/protocol";
import { systemClock } from "@sluice/resilience";
import { manualClock } from "@sluice/resilience/testing";
import { expect, onTestFinished, test } from "vitest";
import { CHECK_EVERY_MS, startIncidents } from "../../src/incidents/start-incidents.js";
import { createLogger } from "../../src/process/telemetry/logger.js";
import { createMetrics } from "../../src/process/telemetry/metrics.js";

test("the next owner of a cluster does not repeat the message that the last one appended", async () => {
  const engines = openMemoryEngines();
  const folder = await mkdtemp(join(tmpdir(), "sluice-owners-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const lead = async (node: string, term: number): Promise<LeadingStores> => {
    const engine = engines.engineFor(node);
    const replica = await openReplica({ directory: join(folder, node), engine, clock: systemClock, node });
    onTestFinished(() => replica.close());
    return replica.lead(term, { onDeposed() {} });
  };

  const first = await lead("a", 1);
  let appends = 0;
  const isLost = Promise.withResolvers<void>();
  // The incident and its message arrive. That the message was appended does not.
  engines.faultsOf("a").append = async (now) => {
    appends += 1;
    if (appends <= 2) return now();
    isLost.resolve();
    return { kind: "unknown", reason: "no answer" };
  };
  await check(first, isLost.promise);

  const second = await lead("b", 2);
  const [incident] = await second.store.config.list("incident");
  expect(incident?.value).toMatchObject({ state: "open", unsent: "opened" });
  const isNoted = new Promise<void>((resolve) => {
    second.store.config.watch(({ kind }) => {
      if (kind === "incident") resolve();
    });
  });
  await check(second, isNoted);
  expect((await second.store.config.list("incident"))[0]?.value).not.toHaveProperty("unsent");
  const { items } = await second.store.log.find({ sourceId: INCIDENT_SOURCE_ID }, { limit: 10 });
  expect(items).toMatchObject([{ message: { event: "Disk Low" } }]);
});

/** An owner whose disk is nearly full checks for incidents. */
async function check({ store }: LeadingStores, until: Promise<void>): Promise<void> {
  const clock = manualClock({ startMs: systemClock.now() });
  const incidents = await startIncidents({
    store,
    clock,
    delivery: { status: async () => undefined },
    counters: { rates: () => ({ points: [] }) as never },
    metrics: createMetrics(),
    logger: createLogger({ write: () => {} }),
    readDisk: async () => ({ freeBytes: 1, totalBytes: 1_000_000 }),
  });
  await clock.advance(CHECK_EVERY_MS);
  await until;
  await incidents.close(0);
}
