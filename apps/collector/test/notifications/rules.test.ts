import type { ChannelName } from "@sluice/control-api";
import { openMemoryStore } from "@sluice/event-log";
import { manualClock } from "@sluice/resilience/testing";
import { describe, expect, it } from "vitest";
import type { Channel } from "../../src/notifications/channels/channel.js";
import { isDiskLow } from "../../src/notifications/incidents/disk-low.js";
import type { Condition, Incident } from "../../src/notifications/incidents/incident.js";
import { failingSince, type Observed, observe } from "../../src/notifications/incidents/observe.js";
import { areRejectionsRising } from "../../src/notifications/incidents/rejections-rising.js";
import { type StepRules, stepIncidents } from "../../src/notifications/incidents/step-incidents.js";
import { noticeText } from "../../src/notifications/notice-text.js";
import { afterAttempt, GIVE_UP_AFTER_MS, isDue } from "../../src/notifications/outbox/notification.js";
import { sendDue } from "../../src/notifications/outbox/outbox.js";
import { createMetrics } from "../../src/process/telemetry/metrics.js";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const GB = 1_024 ** 3;

describe("areRejectionsRising", () => {
  it.each([
    ["nothing", { accepted: 0, rejected: 0 }, { accepted: 0, rejected: 0 }, false, false],
    ["few rejected", { accepted: 0, rejected: 99 }, { accepted: 1e6, rejected: 0 }, false, false],
    ["a small share", { accepted: 10_000, rejected: 500 }, { accepted: 1e6, rejected: 0 }, false, false],
    [
      "a large share, never before",
      { accepted: 1_000, rejected: 100 },
      { accepted: 1e6, rejected: 0 },
      false,
      true,
    ],
    ["no message before", { accepted: 100, rejected: 100 }, { accepted: 0, rejected: 0 }, false, true],
    ["as usual", { accepted: 900, rejected: 100 }, { accepted: 9_000, rejected: 1_000 }, false, false],
    [
      "three times as usual",
      { accepted: 690, rejected: 310 },
      { accepted: 9_000, rejected: 1_000 },
      false,
      true,
    ],
    [
      "usual by now, but still many",
      { accepted: 700, rejected: 300 },
      { accepted: 700, rejected: 300 },
      true,
      true,
    ],
    ["over", { accepted: 990, rejected: 10 }, { accepted: 700, rejected: 300 }, true, false],
  ])("%s", (_name, recent, usual, wasRising, expected) => {
    expect(areRejectionsRising(recent, usual, wasRising)).toBe(expected);
  });
});

describe("a destination that fails while the wall clock is set back", () => {
  const openedAtMs = 10 * HOUR;
  const at = (nowMs: number, isOpen: boolean, notifyAfterMs = 15 * MINUTE) => {
    const status = { health: "failing", reason: "HTTP 500", retries: 0, disabledTargets: [], targets: [] };
    const destinations = [
      { id: "dst_1", version: 1, value: { name: "A", enabled: true, notifyAfterMs }, status },
    ] as unknown as Observed["destinations"];
    const before = openedAtMs - 20 * MINUTE;
    const observed: Observed = {
      nowMs,
      destinations,
      failingSinceMs: failingSince(destinations, () => before, nowMs),
      heldBack: undefined,
      disk: undefined,
      rates: { hour: { points: [] }, day: { points: [] } } as unknown as Observed["rates"],
      openedAtMs: () => (isOpen ? openedAtMs : undefined),
    };
    return observe(observed, undefined).map(({ kind, sinceMs }) => [kind, sinceMs]);
  };

  it.each<[string, number, boolean, number | undefined, unknown]>([
    [
      "stays an incident",
      openedAtMs - 2 * HOUR,
      true,
      undefined,
      [["destination_failing", openedAtMs - 2 * HOUR]],
    ],
    ["becomes one in its time", openedAtMs - 2 * HOUR, false, undefined, []],
    ["ends when its time is raised", openedAtMs, true, HOUR, []],
  ])("%s", (_name, nowMs, isOpen, notifyAfterMs, expected) => {
    expect(at(nowMs, isOpen, notifyAfterMs)).toEqual(expected);
  });
});

describe("sendDue", () => {
  it("asks a channel that fails once, however many notifications wait", async () => {
    const clock = manualClock();
    const { config } = openMemoryStore({ clock });
    const pending = { state: "pending", attempts: 0, nextAttemptAtMs: 0 } as const;
    const both = { webhook: pending, email: pending };
    for (const id of ["ntf_1", "ntf_2", "ntf_3"])
      await config.put<object>("notification", id, { atMs: 0, event: "opened", title: id, channels: both });
    const asked: string[] = [];
    const channel = (name: "webhook" | "email", kind: "sent" | "failed") =>
      [
        name,
        {
          name,
          send: async ({ id }: { readonly id: string }) => {
            asked.push(`${name} ${id}`);
            return { kind, detail: "", latencyMs: 0 };
          },
        },
      ] as const;
    const channels = new Map<ChannelName, Channel>([channel("webhook", "sent"), channel("email", "failed")]);
    const attempts = createMetrics().counter("sluice_test_total", "Test", ["channel", "result"]);
    const deps = { config, clock, channels: () => channels, attempts, onFailed: () => {} };
    await sendDue(deps, () => false);
    expect(asked).toEqual(["webhook ntf_1", "email ntf_1", "webhook ntf_2", "webhook ntf_3"]);
    await sendDue(deps, () => true);
    expect(asked).toHaveLength(4);
  });
});

describe("isDiskLow", () => {
  it.each([
    ["5 % of 100 GB", 4.9 * GB, 100 * GB, false, true],
    ["above that", 5.1 * GB, 100 * GB, false, false],
    ["not yet over", 7.4 * GB, 100 * GB, true, true],
    ["over", 7.6 * GB, 100 * GB, true, false],
    ["at most 20 GB of a large disk", 21 * GB, 1_000 * GB, false, false],
    ["at least 1 GB of a small disk", 0.9 * GB, 10 * GB, false, true],
    ["a fifth of a tiny disk", 0.3 * GB, GB, false, false],
  ])("%s", (_name, freeBytes, totalBytes, wasLow, expected) => {
    expect(isDiskLow({ freeBytes, totalBytes }, wasLow)).toBe(expected);
  });
});

describe("stepIncidents", () => {
  const DISK: Condition = { key: "disk_low", kind: "disk_low", title: "Disk", detail: "low", sinceMs: 0 };
  const RULES: StepRules = { minIntervalMs: HOUR, notifies: () => true, ending: () => "It is over." };

  /** The events of a history: whether the disk was low at each time. */
  const history = (observations: readonly (readonly [atMs: number, isLow: boolean])[], rules = RULES) => {
    const incidents = new Map<string, Incident>();
    return observations.flatMap(([atMs, isLow]) => {
      const { changed, notices } = stepIncidents(incidents, isLow ? [DISK] : [], atMs, rules);
      for (const [id, incident] of changed) incidents.set(id, incident);
      return notices.map(({ event }) => `${event} at ${atMs / MINUTE}`);
    });
  };

  it.each([
    ["nothing", [[0, false]], []],
    [
      "once while it lasts",
      [
        [0, true],
        [MINUTE, true],
        [24 * HOUR, true],
      ],
      ["opened at 0"],
    ],
    [
      "and once when it is over",
      [
        [0, true],
        [MINUTE, false],
        [2 * MINUTE, false],
      ],
      ["opened at 0", "resolved at 1"],
    ],
    [
      "again after the interval",
      [
        [0, true],
        [MINUTE, false],
        [HOUR, true],
      ],
      ["opened at 0", "resolved at 1", "opened at 60"],
    ],
    [
      "not before it, but then if it still lasts",
      [
        [0, true],
        [MINUTE, false],
        [2 * MINUTE, true],
        [59 * MINUTE, true],
        [61 * MINUTE, true],
        [62 * MINUTE, false],
      ],
      ["opened at 0", "resolved at 1", "opened at 61", "resolved at 62"],
    ],
    [
      "flapping every minute for two hours",
      Array.from({ length: 120 }, (_, index) => [index * MINUTE, index % 2 === 0] as const),
      ["opened at 0", "resolved at 1", "opened at 60", "resolved at 61"],
    ],
    [
      "a clock that was set back",
      [
        [HOUR, true],
        [61 * MINUTE, false],
        [0, true],
      ],
      ["opened at 60", "resolved at 61", "opened at 0"],
    ],
  ] as const)("%s", (_name, observations, expected) => {
    expect(history(observations)).toEqual(expected);
  });

  it("says nothing while nothing is set up, and at once when it is", () => {
    const incidents = new Map<string, Incident>();
    const quiet = stepIncidents(incidents, [DISK], 0, { ...RULES, notifies: () => false });
    expect(quiet.notices).toEqual([]);
    expect(stepIncidents(quiet.changed, [DISK], MINUTE, RULES).notices).toMatchObject([{ event: "opened" }]);
  });

  it("keeps an incident open while nobody can tell", () => {
    const { changed } = stepIncidents(new Map(), [DISK], 0, RULES);
    const after = stepIncidents(changed, [], MINUTE, { ...RULES, ending: () => undefined });
    expect([...after.changed, ...after.notices]).toEqual([]);
  });

  it("changes nothing while nothing changes, so that nothing is stored at each check", () => {
    const { changed } = stepIncidents(new Map(), [DISK], 0, RULES);
    expect(stepIncidents(changed, [{ ...DISK, detail: "lower" }], MINUTE, RULES).changed.size).toBe(0);
  });
});

describe("afterAttempt", () => {
  const pending = { state: "pending", attempts: 0, nextAttemptAtMs: 0 } as const;
  const at = (nowMs: number) => ({ createdAtMs: 0, nowMs, random: 0.5 });
  const failed = { kind: "failed", detail: "no route" } as const;

  it.each([
    [
      "sent",
      pending,
      { kind: "sent", detail: "250 ok" } as const,
      5,
      { state: "sent", attempts: 1, atMs: 5, detail: "250 ok" },
    ],
    [
      "the first failure",
      pending,
      failed,
      0,
      { state: "pending", attempts: 1, nextAttemptAtMs: 22_500, lastError: "no route" },
    ],
    [
      "a later one: half an hour at most",
      { ...pending, attempts: 20 },
      failed,
      HOUR,
      { state: "pending", attempts: 21, nextAttemptAtMs: HOUR + 22.5 * MINUTE, lastError: "no route" },
    ],
    [
      "the last one",
      { ...pending, attempts: 50 },
      failed,
      GIVE_UP_AFTER_MS,
      { state: "failed", attempts: 51, atMs: GIVE_UP_AFTER_MS, lastError: "no route" },
    ],
  ] as const)("%s", (_name, before, result, nowMs, expected) => {
    expect(afterAttempt(before, result, at(nowMs))).toEqual(expected);
  });

  it("does not wait for a due time that a clock set back has moved far away", () => {
    const state = { ...pending, nextAttemptAtMs: 10 * HOUR };
    expect([isDue(state, 9.9 * HOUR), isDue(state, 10 * HOUR), isDue(state, HOUR)]).toEqual([
      false,
      true,
      true,
    ]);
  });
});

describe("noticeText", () => {
  const incident = (title: string): Incident => ({
    kind: "disk_low",
    title,
    detail: "one\r\ntwo",
    sinceMs: 0,
    state: "open",
    openedAtMs: 0,
    isNotified: true,
  });
  it.each([
    ["line breaks", "a\r\nBcc: evil@example.com", "a Bcc: evil@example.com"],
    ["marks that reverse text", "a\u202Eb\u2028c\u0000d", "a b c d"],
    ["long names", "x".repeat(300), `${"x".repeat(149)}…`],
  ])("keeps the title on one line: %s", (_name, title, expected) => {
    const notice = { event: "opened", incidentId: "disk_low", incident: incident(title) } as const;
    expect(noticeText(notice)).toEqual({
      title: expected,
      text: `${expected}\n\none two\n\nSince: 1970-01-01T00:00:00.000Z\n`,
    });
  });
});
