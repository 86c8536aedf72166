import type { LiveEventView } from "@sluice/control-api";
import { expect, test } from "vitest";
import { openHistory } from "../src/pages/live/history.js";
import { acceptedEntry, LiveLog, rejectedEntry } from "../src/pages/live/live-log.js";

function message(id: string): Extract<LiveEventView, { kind: "message" }> {
  const place = Number(id.replace(/\D/g, "")) || 0;
  return {
    kind: "message",
    messageId: id,
    sourceId: "s",
    receivedAt: new Date(Date.UTC(2026, 0, 1) + place).toISOString(),
    message: { type: "track", event: id },
  };
}
function outcome(messageId: string, state: "delivered" | "pending", destinationId = "d"): LiveEventView {
  return { kind: "outcome", messageId, destinationId, state, reason: "", at: "2026-01-01T00:00:00.000Z" };
}
const idsOf = (log: LiveLog) => Array.from({ length: log.size }, (_, index) => log.at(index)?.messageId);

test("live rows are on top, history below, and a message that arrives both ways is one row", () => {
  const log = new LiveLog();
  log.take([message("m3")]);
  log.takeOlder([
    acceptedEntry({ ...message("m3"), outcomes: [] }),
    acceptedEntry({ ...message("m2"), outcomes: [] }),
  ]);
  log.take([message("m4")]);
  log.takeOlder([acceptedEntry({ ...message("m1"), outcomes: [] })]);
  expect(idsOf(log)).toEqual(["m4", "m3", "m2", "m1"]);
  expect(log.indexOf("s m2")).toBe(2);
});

test("an outcome changes its row, whether it arrives after or before the message", () => {
  const log = new LiveLog();
  log.take([
    outcome("m1", "pending"),
    message("m1"),
    outcome("m1", "delivered"),
    outcome("m1", "pending", "other"),
  ]);
  const row = log.at(0);
  expect(
    row?.kind === "accepted" && row.outcomes.map(({ destinationId, state }) => [destinationId, state]),
  ).toEqual([
    ["d", "delivered"],
    ["other", "pending"],
  ]);
});

test("on hold, new rows wait and their outcomes are kept", () => {
  const log = new LiveLog();
  log.take([message("m1")]);
  log.hold(true);
  log.take([message("m2"), outcome("m2", "delivered")]);
  expect(idsOf(log)).toEqual(["m1"]);
  expect(log.heldCount).toBe(1);
  log.hold(false);
  expect(idsOf(log)).toEqual(["m2", "m1"]);
  const row = log.at(0);
  expect(row?.kind === "accepted" && row.outcomes[0]?.state).toBe("delivered");
});

test("over the limit, the oldest rows are removed, history first", () => {
  const log = new LiveLog(20);
  log.takeOlder(
    Array.from({ length: 5 }, (_, index) => acceptedEntry({ ...message(`old${index}`), outcomes: [] })),
  );
  log.take(Array.from({ length: 30 }, (_, index) => message(`m${index}`)));
  expect(log.size).toBeLessThanOrEqual(20);
  expect(log.at(0)?.messageId).toBe("m29");
  expect(idsOf(log)).not.toContain("old0");
  // A removed message may come back from history.
  log.take([message("m0")]);
  expect(log.at(0)?.messageId).toBe("m0");
});

test("a row that is removed leaves the outcomes to one of the same id from another source", () => {
  const log = new LiveLog(20);
  log.take([message("m1")]);
  log.take(Array.from({ length: 18 }, (_, index) => message(`x${index}`)));
  log.take([{ ...message("m1"), sourceId: "other" }, message("x18"), outcome("m1", "delivered")]);
  expect(log.get("s m1")).toBeUndefined();
  expect(log.get("other m1")).toMatchObject({ outcomes: [{ state: "delivered" }] });
  log.take([outcome("m1", "pending")]);
  expect(log.get("other m1")).toMatchObject({ outcomes: [{ state: "pending" }] });
});

test("messages that the collector skipped are counted", () => {
  const log = new LiveLog();
  log.take([
    { kind: "dropped", messages: 7, outcomes: 2 },
    { kind: "dropped", messages: 3, outcomes: 0 },
  ]);
  expect(log.notShown).toBe(10);
});

test("a truncated excerpt is a row without a message", () => {
  const rejected = { sourceId: "s", receivedAt: "2026-01-01T00:00:00.000Z", issues: [] };
  expect(rejectedEntry({ ...rejected, excerpt: '{"type":"tra' }, "1").message).toEqual({});
  expect(rejectedEntry({ ...rejected, excerpt: '{"type":"track"}' }, "2").message).toEqual({ type: "track" });
});

test("history merges pages of accepted and rejected messages by time, and ends", async () => {
  const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString();
  const accepted = [9, 7, 5, 3].map((second) => ({
    ...message(`a${second}`),
    receivedAt: at(second),
    outcomes: [],
  }));
  const refused = [8, 4].map((second) => ({
    messageId: `r${second}`,
    sourceId: "s",
    receivedAt: at(second),
    state: "rejected" as const,
    issues: [],
    excerpt: "{}",
  }));
  const pages = <T>(items: readonly T[], size: number) => ({
    page: async ({ cursor }: { cursor?: string | undefined }) => {
      const from = Number(cursor ?? 0);
      const next = from + size;
      return { items: items.slice(from, next), ...(next < items.length ? { nextCursor: String(next) } : {}) };
    },
  });
  const api = {
    messages: { list: pages(accepted, 3).page, rejected: pages(refused, 1).page },
  } as unknown as Parameters<typeof openHistory>[0];
  const { rows, isAtEnd } = await openHistory(api, "").next();
  expect(rows.map((row) => row.messageId)).toEqual(["a9", "r8", "a7", "a5", "r4", "a3"]);
  expect(isAtEnd).toBe(true);
  const idsFor = async (filter: string) =>
    (await openHistory(api, filter).next()).rows.map((row) => row.messageId);
  expect(await idsFor("outcome:failed")).toEqual(["a9", "a7", "a5", "a3"]);
  expect(await idsFor("destination:d")).toEqual(["a9", "a7", "a5", "a3"]);
  expect(await idsFor("outcome:rejected")).toEqual(["r8", "r4"]);
  expect(await idsFor("id:r4 outcome:rejected")).toEqual(["r4"]);
});
