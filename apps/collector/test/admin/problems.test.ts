import type { ProblemsView } from "@sluice/control-api";
import { openMemoryStore } from "@sluice/event-log";
import { manualClock } from "@sluice/resilience/testing";
import { afterEach, beforeEach, expect, test } from "vitest";
import { wrongKeys } from "../../src/ingest/ingest-metrics.js";
import { keepRecent } from "../../src/process/telemetry/recent.js";
import { startTestCollector, type TestCollector } from "../../src/testing.js";

const GB = 1_024 ** 3;
let disk = { freeBytes: 50 * GB, totalBytes: 100 * GB };
let collector: TestCollector;
beforeEach(async () => {
  collector = await startTestCollector({ readDisk: async () => disk });
});
afterEach(() => collector.close());

async function problems(): Promise<ProblemsView> {
  const headers = { authorization: `Bearer ${collector.adminToken}` };
  return (await fetch(`${collector.url}/api/v1/problems`, { headers })).json() as Promise<ProblemsView>;
}

function send(writeKey: string, body: string, headers: Record<string, string> = {}): Promise<Response> {
  const authorization = `Basic ${btoa(`${writeKey}:`)}`;
  return fetch(`${collector.url}/v1/batch`, { method: "POST", headers: { authorization, ...headers }, body });
}

test("a collector without problems says so", async () => {
  expect(await problems()).toMatchObject({
    storage: { kind: "ready" },
    disk: { freeBytes: 50 * GB, isLow: false },
    refusedRequests: [],
    wrongKeys: [],
    incidents: [],
  });
});

test("refused requests are counted by status, and wrong keys are traced to their client", async () => {
  const client = { "user-agent": "analytics-node/3.1" };
  for (let n = 0; n < 19; n++) await send("wk_mistyped_0123456789", "{}", client);
  await send(collector.writeKey, `{"batch":["${"x".repeat(600_000)}"]}`);
  await fetch(`${collector.url}/v1/projects/wk_from_a_browser/settings`);
  const { refusedRequests, wrongKeys } = await problems();
  expect(refusedRequests).toMatchObject([
    { code: "invalid_write_key", status: 401, requests: 20 },
    { code: "payload_too_large", status: 413, requests: 1 },
  ]);
  expect(wrongKeys).toMatchObject([
    { keyPrefix: "wk_fro", address: "127.0.0.1", requests: 1 },
    { keyPrefix: "wk_mistyp".slice(0, 8), address: "127.0.0.1", client: "analytics-node/3.1", requests: 19 },
  ]);
});

test("a disk with little space is low", async () => {
  disk = { ...disk, freeBytes: GB };
  expect((await problems()).disk).toMatchObject({ isLow: true });
});

test("a flood of invented keys and long names stays within its memory", () => {
  const keys = wrongKeys(manualClock());
  const client = "x".repeat(10_000);
  for (let n = 0; n < 10_000; n++)
    keys.add({ writeKey: `${n}${"k".repeat(1_000)}`, address: `2001:db8:0:${n.toString(16)}::1`, client });
  const kept = keys.recent.read();
  expect(kept).toHaveLength(100);
  expect(kept[0]?.keyPrefix).toBe("9999kkkk");
  expect(JSON.stringify(kept).length).toBeLessThan(30_000);
});

test("wrong keys are known for seven days, over restarts", async () => {
  const clock = manualClock();
  const { config } = openMemoryStore({ clock });
  const started = async () => {
    const keys = wrongKeys(clock);
    return { keys, kept: await keepRecent(keys.recent, "wrong_keys", { clock, config }) };
  };
  const request = { writeKey: "wk_mistyped_0123", address: "192.0.2.1", client: "analytics-node/3.1" };
  const first = await started();
  first.keys.add(request);
  // Killed: nothing of the last minute is left.
  await clock.advance(61_000);
  first.keys.add({ ...request, writeKey: undefined });
  const second = await started();
  expect(second.keys.recent.read()).toMatchObject([{ keyPrefix: "wk_mis", times: 1 }]);
  second.keys.add(request);
  second.keys.add({ ...request, writeKey: undefined });
  await second.kept.close();
  const third = await started();
  const [none, mistyped] = third.keys.recent.read();
  expect(none).toMatchObject({ times: 1, address: "192.0.2.1" });
  expect(none?.keyPrefix).toBeUndefined();
  expect(mistyped).toMatchObject({ keyPrefix: "wk_mis", times: 2 });
  await clock.advance(8 * 86_400_000);
  expect(third.keys.recent.read()).toEqual([]);
});
