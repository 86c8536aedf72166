import type { FinalState, Offset, Retry, Settlement, StoredMessage } from "@sluice/event-log";
import type { CircuitBreaker } from "@sluice/resilience";
import { manualClock } from "@sluice/resilience/testing";
import { expect, it } from "vitest";
import {
  type DeliveryEvents,
  deliveryEvents,
  deliveryTally,
} from "../../src/delivery/settling/delivery-events.js";
import { Ledger } from "../../src/delivery/settling/ledger.js";
import { settleTraces } from "../../src/delivery/settling/settle-traces.js";
import { createMetrics } from "../../src/process/telemetry/metrics.js";
import type { FinishedSpan, MessageTrace } from "../../src/process/telemetry/tracing.js";

const STORED = { offset: 3 as Offset, messageId: "m3", receivedAtMs: 1_000 } as StoredMessage;

/** Events of a destination, and what they were told to: the log, the live stream, the counters over time, the metrics. */
function events(watched = true) {
  const told: unknown[][] = [];
  const note =
    (...what: unknown[]) =>
    (...args: unknown[]): void => {
      told.push([...what, ...args]);
    };
  const metrics = createMetrics();
  const counts = { delivered: note("delivered"), failed: note("failed"), retried: note("retried") };
  const logger = { info: note("info"), warn: note("warn"), error: note("error") };
  const live = { watched, publish: note("live") };
  const made = deliveryEvents(logger, deliveryTally(metrics, counts), live as never);
  const counted = async (): Promise<string[]> =>
    (await metrics.render()).split("\n").filter((line) => /^sluice_deliver.*(_total|_count|_sum)/.test(line));
  return { made, told, counted };
}

const total = (state: string, count: number) =>
  `sluice_deliveries_total{destination="dst",state="${state}"} ${count}`;
const retries = (count: number) => `sluice_delivery_retries_total{destination="dst"} ${count}`;
const latency = (seconds: number, count: number) => [
  `sluice_delivery_latency_seconds_sum ${seconds}`,
  `sluice_delivery_latency_seconds_count ${count}`,
];

it("shows a new destination with its counters at 0", async () => {
  const { made, told, counted } = events();
  made.added("dst");
  expect(await counted()).toEqual(
    expect.arrayContaining([total("delivered", 0), total("failed", 0), retries(0)]),
  );
  expect(told).toEqual([]);
});

it.each<[FinalState, atMs: number, counted: readonly string[], told: readonly unknown[][]]>([
  ["delivered", 3_500, [total("delivered", 1), ...latency(2.5, 1)], [["delivered", "dst", 2.5]]],
  // The clock was set back.
  ["delivered", 500, [total("delivered", 1), ...latency(0, 1)], [["delivered", "dst", 0]]],
  ["failed", 3_500, [total("failed", 1)], [["failed", "dst"]]],
  ["filtered", 3_500, [total("filtered", 1)], []],
])("counts a message that was %s at %d", async (state, atMs, counters, counts) => {
  for (const watched of [true, false]) {
    const { made, told, counted } = events(watched);
    made.finished("dst", STORED, state, "why", atMs);
    const outcome = {
      kind: "outcome",
      destinationId: "dst",
      offset: 3,
      messageId: "m3",
      state,
      reason: "why",
      atMs,
    };
    expect(told).toEqual([...counts, ...(watched ? [["live", outcome, STORED]] : [])]);
    expect(await counted()).toEqual(expect.arrayContaining([...counters]));
    if (state !== "delivered") expect(await counted()).not.toContain(latency(2.5, 1)[1]);
  }
});

it.each([true, false])("counts a retry, and shows it to those who watch: %s", async (watched) => {
  const { made, told, counted } = events(watched);
  made.retrying("dst", STORED, "503", 2_000, 9_000);
  const outcome = { kind: "outcome", destinationId: "dst", offset: 3, messageId: "m3", state: "pending" };
  const shown = ["live", { ...outcome, reason: "503", atMs: 2_000, nextAttemptAtMs: 9_000 }, STORED];
  expect(told).toEqual([["retried", "dst"], ...(watched ? [shown] : [])]);
  expect(await counted()).toContain(retries(1));
});

const kinds = ["closed", "open", "probing"] as const;
const UPON = { destinationId: "dst" };
it.each(kinds.flatMap((before) => kinds.map((after) => [before, after] as const)))(
  "logs when a destination goes down or recovers: %s, then %s",
  (before, after) => {
    const { made, told } = events();
    made.breaker("dst", { kind: before } as CircuitBreaker, { kind: after } as CircuitBreaker, "503");
    const down = [
      "warn",
      "destination is down: its messages wait, and it is probed",
      { ...UPON, reason: "503" },
    ];
    const up = ["info", "destination has recovered", UPON];
    const isDown = before === "closed" && after === "open";
    const isUp = before !== "closed" && after === "closed";
    expect(told).toEqual(isDown ? [down] : isUp ? [up] : []);
  },
);

it.each<[what: string, report: (made: DeliveryEvents) => void, facts: object]>([
  ["410 Gone", (made) => made.gone("dst", "https://a.example"), { url: "https://a.example" }],
  ["cannot be opened", (made) => made.cannotOpen("dst", "no key"), { error: "no key" }],
  ["waits for the store", (made) => made.storeFailed("dst", "disk full"), { error: "disk full" }],
])("logs an error: %s", (what, report, facts) => {
  const { made, told } = events();
  report(made);
  expect(told).toEqual([["error", expect.stringContaining(what), { ...UPON, ...facts }]]);
});

const NOW_MS = 5_000;
const RETRY = { offset: 3, rounds: 1, dueAtMs: 700, reason: "503" } as Retry;

it.each<[what: string, record: (ledger: Ledger) => void, told: readonly unknown[][]]>([
  [
    "a final state",
    (ledger) => ledger.finish(STORED, "delivered", "200"),
    [
      ["outcome", { offset: 3, state: "delivered", reason: "200", atMs: NOW_MS }],
      ["finished", "dst", STORED, "delivered", "200", NOW_MS],
    ],
  ],
  [
    "a message that is not in the log any more, without an event",
    (ledger) => ledger.lost(9 as Offset),
    [["outcome", { offset: 9, state: "failed", reason: "the message is no longer stored", atMs: NOW_MS }]],
  ],
  [
    "a retry, which waits from now on",
    (ledger) => ledger.retry(STORED, RETRY),
    [
      ["handedOver", 3],
      ["retry", RETRY],
      ["retrying", "dst", STORED, "503", NOW_MS, NOW_MS + 700],
    ],
  ],
  [
    "a retry that did not start",
    (ledger) => ledger.putBack(RETRY),
    [
      ["putBack", 3],
      ["retry", RETRY],
    ],
  ],
  ["an attempt", (ledger) => ledger.attempt({ offset: 3 } as never), [["attempt", { offset: 3 }]]],
])("the ledger records %s", (_what, record, expected) => {
  const told: unknown[][] = [];
  const noting = new Proxy(
    {},
    {
      get:
        (_, name) =>
        (...args: unknown[]) =>
          void told.push([name, ...args]),
    },
  ) as never;
  const clock = { ...manualClock(), now: () => NOW_MS, monotonic: () => 0 };
  record(new Ledger({ destinationId: "dst", settler: noting, retries: noting, clock, events: noting }));
  expect(told).toEqual(expected);
});

const TRACE = { traceId: "t".repeat(32), spanId: "s".repeat(16), flags: 1 } as unknown as MessageTrace;
const settlement = (outcomes: unknown[], retries: unknown[] = []) =>
  ({ outcomes, retries }) as unknown as Settlement;

it.each<[what: string, settlement: Settlement, span: readonly [state: string, error: unknown][]]>([
  ["delivered", settlement([{ offset: 3, state: "delivered", reason: "200" }]), [["delivered", undefined]]],
  ["failed", settlement([{ offset: 3, state: "failed", reason: "410" }]), [["failed", "410"]]],
  ["retried", settlement([], [{ offset: 3, reason: "503" }]), [["pending", undefined]]],
  ["another one", settlement([{ offset: 4, state: "failed", reason: "410" }]), []],
])("ends the trace of a message once, when its result is stored: %s", (_what, stored, expected) => {
  const spans: FinishedSpan[] = [];
  let now = 1_000;
  const traces = settleTraces({ record: (span: FinishedSpan) => spans.push(span) } as never, "dst", {
    now: () => now,
  });
  traces.concluded(STORED, TRACE);
  traces.concluded({ ...STORED, offset: 4 as Offset }, undefined);
  now = 1_250;
  traces.stored(stored);
  traces.stored(stored);
  expect(spans.map(({ attributes, error }) => [attributes["sluice.state"], error])).toEqual(expected);
  for (const { startMs, endMs } of spans) expect([startMs, endMs]).toEqual([1_000, 1_250]);
});

it("keeps nothing of traces without tracing", () => {
  const traces = settleTraces(undefined, "dst", { now: () => 0 });
  traces.concluded(STORED, TRACE);
  expect(() => traces.stored(settlement([{ offset: 3, state: "failed", reason: "410" }]))).not.toThrow();
});
