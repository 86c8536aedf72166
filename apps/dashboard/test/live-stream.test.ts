import type { LiveItem, LiveOptions } from "@sluice/admin-client";
import type { LiveEventView } from "@sluice/control-api";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { followLive, type StreamState } from "../src/api/live-stream.js";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Scripted connections: their events, then whether they fail, end or stay open. */
type Connection = {
  readonly items: readonly LiveItem[];
  readonly end: "fails" | "ends" | "stays" | "refuses";
};

function scripted(connections: readonly Connection[]) {
  const asked: LiveOptions[] = [];
  const api = {
    async *live(options: LiveOptions = {}, onOpen = () => {}): AsyncGenerator<LiveItem> {
      const connection = connections[asked.length];
      asked.push(options);
      if (connection === undefined || connection.end === "refuses") throw new Error("refused");
      onOpen();
      yield* connection.items;
      if (connection.end === "fails") throw new Error("lost");
      if (connection.end === "stays")
        await new Promise((_, reject) =>
          options.signal?.addEventListener("abort", () => reject(new Error("aborted"))),
        );
    },
  };
  return { api, asked };
}

function item(id: string): LiveItem {
  const event: LiveEventView = { kind: "dropped", messages: Number(id), outcomes: 0 };
  return { id, event };
}

test("a lost connection resumes after the last event, with longer waits while it fails", async () => {
  const { api, asked } = scripted([
    { items: [item("1"), item("2")], end: "fails" },
    { items: [], end: "refuses" },
    { items: [], end: "refuses" },
    { items: [item("3")], end: "ends" },
    { items: [], end: "stays" },
  ]);
  const ending = new AbortController();
  const seen: number[] = [];
  const states: StreamState[] = [];
  const following = followLive(
    api,
    "type:track",
    {
      onEvent: (event) => seen.push(event.kind === "dropped" ? event.messages : -1),
      onState: (state) => states.push(state),
    },
    ending.signal,
  );
  await vi.advanceTimersByTimeAsync(499);
  expect(asked).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(1);
  expect(asked).toHaveLength(2);
  await vi.advanceTimersByTimeAsync(999);
  expect(asked).toHaveLength(2);
  await vi.advanceTimersByTimeAsync(1);
  expect(asked).toHaveLength(3);
  // Two seconds after the second failure; half a second again after an open connection.
  await vi.advanceTimersByTimeAsync(2_500);
  expect(asked.map(({ q, lastEventId }) => [q, lastEventId])).toEqual([
    ["type:track", undefined],
    ["type:track", "2"],
    ["type:track", "2"],
    ["type:track", "2"],
    ["type:track", "3"],
  ]);
  expect(seen).toEqual([1, 2, 3]);
  expect(states.at(-1)).toBe("open");
  ending.abort();
  await following;
  expect(vi.getTimerCount()).toBe(0);
});

test("an abort while waiting takes effect immediately and leaves no timer", async () => {
  const { api } = scripted([{ items: [], end: "refuses" }]);
  const ending = new AbortController();
  const following = followLive(api, "", { onEvent: () => {}, onState: () => {} }, ending.signal);
  await vi.advanceTimersByTimeAsync(10);
  expect(vi.getTimerCount()).toBe(1);
  ending.abort();
  await following;
  expect(vi.getTimerCount()).toBe(0);
});
