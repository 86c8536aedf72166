import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openSqliteStore, repairStore } from "@sluice/event-log";
import { systemClock } from "@sluice/resilience";
import { afterEach, beforeEach, expect, test } from "vitest";
import { startIngestServer } from "./ingest-server.js";

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "sluice-suppressed-"));
});
afterEach(() => rm(directory, { recursive: true }));

test("the index knows no more of a suppressed user's message than the log keeps, so that repair finds it sound", async () => {
  const store = await openSqliteStore({ directory, clock: systemClock });
  const server = await startIngestServer({ store, suppressed: ["u:gone"] });
  const track = (userId: string) => ({ type: "track", userId, messageId: `m-${userId}`, event: "Paid" });
  expect((await server.post("/v1/batch", { batch: [track("gone"), track("here")] })).status).toBe(200);
  const found = await store.log.find({ event: "Paid" }, { limit: 10 });
  expect(found.items.map(({ messageId }) => messageId)).toEqual(["m-here"]);
  await server.close();
  await store.close();

  const report = await repairStore({ directory });
  expect(report).toMatchObject({ damaged: [] });
  expect(report.rebuilt ?? []).toEqual([]);
});
