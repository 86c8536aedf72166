import type { Offset } from "@sluice/event-log";
import { expect, it } from "vitest";
import { waitingResults } from "../../src/operations/waiting-results.js";
import { type LiveEvent, liveEvents } from "../../src/process/telemetry/live-events.js";

const delivered = (offset: number): LiveEvent => ({
  kind: "outcome",
  destinationId: "dst",
  offset: offset as Offset,
  messageId: `m${offset}`,
  state: "delivered",
  reason: "200",
  atMs: 0,
});

it("counts a delivery once that ended before the operation could start it", () => {
  const live = liveEvents();
  const waiting = waitingResults(live, []);
  waiting.waitFor(["dst.1", "dst.2"]);
  for (const offset of [1, 2]) live.publish(delivered(offset));
  // The store says that the first was not started: it is counted as skipped.
  waiting.forget(["dst.1"]);
  expect([...waiting.take().keys()]).toEqual(["dst.2"]);
  expect(waiting.ids).toEqual([]);
});
