import { AUDIENCE_SOURCE_ID } from "@sluice/audiences";
import { BEFORE_FIRST, type Offset, openMemoryStore } from "@sluice/event-log";
import { manualClock } from "@sluice/resilience/testing";
import { expect, test } from "vitest";
import { audiencesElsewhere } from "../../src/audiences/audiences-elsewhere.js";
import type { SharedProfiles } from "../../src/audiences/shared-profiles.js";
import { createLogger } from "../../src/process/telemetry/logger.js";

test("retention keeps what partition 0 has not counted, and learns every minute how far it is", async () => {
  const clock = manualClock();
  const store = openMemoryStore({ clock });
  const logged: string[] = [];
  let position: () => Promise<Offset | undefined> = async () => undefined;
  const asked: string[] = [];
  const audiences = await audiencesElsewhere({
    ...{ store, clock, logger: createLogger({ write: (line) => logged.push(line) }) },
    profiles: {
      position: () => position(),
      forgetAll: async () => void asked.push("forget all"),
    } as Partial<SharedProfiles> as SharedProfiles,
  });
  const cursor = async () => (await store.consumers.open(AUDIENCE_SOURCE_ID, 99 as Offset)).cursor;
  expect(await cursor()).toBe(BEFORE_FIRST);
  await clock.advance(60_000);
  expect(await cursor()).toBe(BEFORE_FIRST);
  position = async () => 41 as Offset;
  await clock.advance(60_000);
  expect(await cursor()).toBe(41);
  position = () => Promise.reject(new Error("the copy is being replaced"));
  await clock.advance(60_000);
  expect(logged.join()).toContain("the copy is being replaced");
  position = async () => 50 as Offset;
  await audiences.reset(async () => void asked.push("clear the log"));
  expect(asked).toEqual(["clear the log", "forget all"]);
  await audiences.close();
  await clock.advance(120_000);
  expect(await cursor()).toBe(41);
  await store.close();
});
