import type { AttemptView, StoredMessageView } from "@sluice/control-api";
import { expect, test } from "vitest";
import { attemptTone } from "../src/pages/deliveries/attempts.js";
import { timelineOf } from "../src/pages/message/timeline.js";
import { overallStateOf } from "../src/words/states.js";

const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString();
const attempt = (number: number, second: number, more: Partial<AttemptView>): AttemptView => ({
  attempt: number,
  at: at(second),
  url: "https://a.example/",
  latencyMs: 10,
  ...more,
});

const MESSAGE: StoredMessageView = {
  messageId: "m",
  sourceId: "s",
  receivedAt: at(2),
  state: "accepted",
  message: { type: "track", originalTimestamp: at(1) },
  outcomes: [
    {
      id: "1",
      destinationId: "slow",
      state: "delivered",
      reason: "HTTP 200",
      at: at(9),
      attempts: [attempt(1, 3, { status: 503 }), attempt(2, 8, { status: 200 })],
    },
    { id: "2", destinationId: "off", state: "filtered", reason: "integrations", at: at(4), attempts: [] },
    {
      id: "3",
      destinationId: "later",
      state: "pending",
      reason: "HTTP 500",
      nextAttemptAt: at(30),
      attempts: [],
    },
  ],
};

test("a message's timeline is grouped by destination, those that need attention first", () => {
  const { ingestion, destinations } = timelineOf(MESSAGE);
  expect(ingestion.map(({ kind }) => kind)).toEqual(["sent", "received", "stored"]);
  expect(
    destinations.map(({ destinationId, attempts, outcome, endedAt }) => [
      destinationId,
      attempts.map(({ attempt: number }) => number),
      outcome.state,
      endedAt,
    ]),
  ).toEqual([
    ["later", [], "pending", undefined],
    ["slow", [1, 2], "delivered", at(9)],
    ["off", [], "filtered", at(4)],
  ]);
});

test("a rejected message was received and rejected", () => {
  const { ingestion, destinations } = timelineOf({
    sourceId: "s",
    receivedAt: at(1),
    state: "rejected",
    issues: [],
    excerpt: "{}",
  });
  expect(ingestion.map(({ kind }) => kind)).toEqual(["received", "rejected"]);
  expect(destinations).toEqual([]);
});

test("omits an invalid client timestamp", () => {
  const { ingestion } = timelineOf({ ...MESSAGE, message: { timestamp: "yesterday" } });
  expect(ingestion[0]?.kind).toBe("received");
});

test.each([
  [attempt(1, 1, { status: 204 }), "good"],
  [attempt(1, 1, { status: 302 }), "bad"],
  [attempt(1, 1, { error: { code: "timeout", message: "5 s" } }), "bad"],
  [attempt(1, 1, {}), "good"],
])("an attempt %j is %s", (one, tone) => expect(attemptTone(one)).toBe(tone));

test.each([
  [[], "Stored"],
  [["delivered"], "Delivered"],
  [["delivered", "failed"], "Failed 1/2"],
  [["delivered", "pending", "pending"], "Pending 2/3"],
  [["filtered", "filtered"], "Filtered"],
] as const)("%j is called %s", (states, label) =>
  expect(overallStateOf(states.map((state) => ({ state }))).label).toBe(label),
);
