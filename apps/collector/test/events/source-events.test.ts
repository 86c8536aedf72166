import type { StoredMessage } from "@sluice/event-log";
import { expect, it } from "vitest";
import { SOURCE_LIMITS, SourceEvents } from "../../src/events/source-events.js";

function messageWith(properties: number): StoredMessage {
  const names = Array.from({ length: properties }, (_, index) => [`p${index}`, index]);
  return { offset: 1, messageId: "m1", message: { properties: Object.fromEntries(names) } } as never;
}

it("keeps no more properties than its limit, although each name has few at first", () => {
  const events = new SourceEvents();
  const entries = Array.from({ length: 500 }, (_, index) => {
    const entry = events.entry({ type: "track", name: `E${index}` }, 0, false);
    if (entry === undefined) throw new Error("there is room for 500 names");
    return entry;
  });
  for (const entry of entries) events.sample(entry, messageWith(1));
  for (const entry of entries) events.sample(entry, messageWith(100));
  const properties = (kept: SourceEvents) =>
    kept.list().reduce((sum, entry) => sum + Object.keys(entry.properties).length, 0);
  expect(properties(events)).toBe(SOURCE_LIMITS.properties);
  expect(entries.at(-1)).toMatchObject({ sampled: 2, hasMoreProperties: true });

  // After a restart too.
  const again = new SourceEvents(events.document());
  expect(again.hasRoomForProperties).toBe(false);
  const [first] = again.list();
  if (first !== undefined) again.sample(first, messageWith(200));
  expect(properties(again)).toBe(SOURCE_LIMITS.properties);
});

it("stores nothing that identifies a message: a deletion cannot find it there", () => {
  const events = new SourceEvents();
  const entry = events.entry({ type: "track", name: "Paid" }, 0, false);
  if (entry === undefined) throw new Error("there is room for one name");
  events.sample(entry, { ...messageWith(1), messageId: "an-id-of-a-user" });
  expect(JSON.stringify(events.document())).not.toContain("an-id-of-a-user");
});
