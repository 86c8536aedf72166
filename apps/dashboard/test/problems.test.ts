import type { DestinationStatusView, DestinationView, ProblemsView } from "@sluice/control-api";
import { expect, test } from "vitest";
import { problemsOf } from "../src/pages/overview/problems.js";

const AT = "2026-11-21T14:00:00.000Z";
const GB = 1_024 ** 3;
const NOTHING: ProblemsView = {
  storage: { kind: "ready" },
  refusedRequests: [],
  wrongKeys: [],
  refusedJoins: [],
  incidents: [],
};
const DISK = { freeBytes: GB, totalBytes: 100 * GB, lowBelowBytes: 5 * GB, isLow: true };
const refused = (code: string, status: number, requests: number) => ({ code, status, requests, lastAt: AT });

test.each<[name: string, problems: Partial<ProblemsView>, titles: readonly string[]]>([
  ["nothing", {}, []],
  [
    "a full disk, and the requests that it refused",
    {
      storage: { kind: "unavailable", reason: "no space left", since: AT },
      refusedRequests: [refused("storage_unavailable", 503, 12)],
      disk: DISK,
    },
    [
      "The collector cannot write to its disk",
      "12 requests refused: 503 storage_unavailable",
      "The disk is nearly full",
    ],
  ],
  [
    "what clients can do something about comes after what the collector cannot do",
    { refusedRequests: [refused("payload_too_large", 413, 40), refused("overloaded", 503, 1)] },
    ["1 request refused: 503 overloaded", "40 requests refused: 413 payload_too_large"],
  ],
  ["codes that are over", { refusedRequests: [refused("rate_limited", 429, 0)] }, []],
])("%s", (_name, problems, titles) => {
  expect(problemsOf({ ...NOTHING, ...problems }, [], []).map(({ title }) => title)).toEqual(titles);
});

test("destinations that fail for the same reason are one problem, since the first of them failed", () => {
  const destinations = ["a", "b", "c"].map((id) => ({ id, name: id }) as DestinationView);
  const lastError = "The receiver denied access (401). Check the secret";
  const status = (destinationId: string, health: DestinationStatusView["health"], since: string) =>
    ({ destinationId, health, reason: lastError, lastError, since }) as DestinationStatusView;
  const found = problemsOf(undefined, destinations, [
    status("a", "retrying", "2026-11-21T15:00:00.000Z"),
    status("b", "failing", AT),
    status("c", "disabled", AT),
  ]);
  expect(found).toMatchObject([
    { tone: "bad", title: "The receiver denied access (401)", advice: "Check the secret", since: AT },
  ]);
  expect(found[0]?.destinations.map(({ id }) => id)).toEqual(["a", "b"]);
});

test("refused write keys name who sent most of them", () => {
  const key = { address: "203.0.113.7", firstAt: AT, lastAt: AT };
  const [found] = problemsOf(
    {
      ...NOTHING,
      refusedRequests: [refused("invalid_write_key", 401, 20)],
      wrongKeys: [
        { ...key, requests: 1 },
        { ...key, keyPrefix: "wk_old", client: "analytics-node/1.3", requests: 19 },
      ],
    },
    [],
    [],
  );
  expect(found?.advice).toBe(
    "In the last hour. Most of them, 19, had a key that begins with wk_old, from 203.0.113.7, analytics-node/1.3.",
  );
});
