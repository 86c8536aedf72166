import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { isDiskLow } from "../../src/incidents/disk-low.js";
import type { Condition, Incident } from "../../src/incidents/incident.js";
import { INCIDENT_EVENTS, incidentMessage } from "../../src/incidents/incident.js";
import { areRejectionsRising, failingSince, type Observed, observe } from "../../src/incidents/observe.js";
import { stepIncidents } from "../../src/incidents/step-incidents.js";

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

describe("failingSince", () => {
  const NOW = 10 * HOUR;
  const EARLIER = NOW - 20 * MINUTE;
  it.each<[string, object | undefined, before: number | undefined, expected: number | undefined]>([
    ["healthy", { health: "delivering" }, EARLIER, undefined],
    ["failing from now on", { health: "failing" }, undefined, NOW],
    ["failing, as at the last check", { health: "failing" }, EARLIER, EARLIER],
    [
      "failing for longer than that",
      { health: "backing_off", failingSinceMs: EARLIER - 1 },
      EARLIER,
      EARLIER - 1,
    ],
    [
      "failing in this state for longer",
      { health: "partly_failing", sinceMs: EARLIER - 2 },
      EARLIER,
      EARLIER - 2,
    ],
    ["failing since a time to come", { health: "failing", sinceMs: NOW + 1 }, undefined, NOW],
    ["without an answer", undefined, EARLIER, EARLIER],
    ["without an answer, and not failing before", undefined, undefined, undefined],
  ])("a destination that is %s", (_name, status, before, expected) => {
    const destinations = [{ id: "dst_1", status }] as unknown as Observed["destinations"];
    expect(failingSince(destinations, () => before, NOW).get("dst_1")).toBe(expected);
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
  const over = () => "It is over.";

  /** The messages of a history: whether the disk was low at each time. */
  const history = (observations: readonly (readonly [atMs: number, isLow: boolean])[]) => {
    const incidents = new Map<string, Incident>();
    return observations.flatMap(([atMs, isLow]) => {
      const changed = stepIncidents(incidents, isLow ? [DISK] : [], atMs, over);
      return [...changed].flatMap(([id, { unsent, ...incident }]) => {
        incidents.set(id, incident);
        return unsent === undefined ? [] : [`${unsent} at ${atMs / MINUTE}`];
      });
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

  it("keeps an incident open while nobody can tell", () => {
    const open = stepIncidents(new Map(), [DISK], 0, over);
    expect(stepIncidents(open, [], MINUTE, () => undefined).size).toBe(0);
  });

  it("changes nothing while nothing changes, so that nothing is stored at each check", () => {
    const open = stepIncidents(new Map(), [DISK], 0, over);
    expect(stepIncidents(open, [{ ...DISK, detail: "lower" }], MINUTE, over).size).toBe(0);
  });
});

describe("incidentMessage", () => {
  const incident = (title: string): Incident => ({
    kind: "disk_low",
    title,
    detail: "one\r\ntwo",
    sinceMs: 0,
    state: "open",
    openedAtMs: 5,
    isNotified: true,
    notifiedAtMs: 7,
  });

  it.each([
    ["line breaks", "a\r\nBcc: evil@example.com", "a Bcc: evil@example.com"],
    ["marks that reverse text", "a\u202Eb\u2028c\u0000d", "a b c d"],
    ["long names", "x".repeat(300), `${"x".repeat(149)}…`],
  ])("keeps the title on one line: %s", (_name, title, expected) => {
    expect(incidentMessage("disk_low", "opened", incident(title))).toEqual({
      type: "track",
      messageId: "disk_low-opened-7",
      anonymousId: "disk_low",
      event: "Disk Low",
      timestamp: "1970-01-01T00:00:00.007Z",
      properties: {
        incident_id: "disk_low",
        kind: "disk_low",
        title: expected,
        detail: "one two",
        since: "1970-01-01T00:00:00.000Z",
      },
      text: `${expected}\n\none two\n\nSince: 1970-01-01T00:00:00.000Z\n`,
    });
  });

  it("has an id that fits, whatever the incident", () => {
    const id = `url_disabled:dst_${"f".repeat(32)}:${"f".repeat(16)}`;
    const resolved = { ...incident("A"), resolvedAtMs: Date.UTC(2100, 0) };
    expect(JSON.stringify(incidentMessage(id, "resolved", resolved))).toMatch(/"messageId":"[^"]{1,99}"/);
  });

  it("has the events that the guide lists", () => {
    const guide = readFileSync(join(import.meta.dirname, "../../../../docs/guide/notifications.md"), "utf8");
    const rows = [...guide.matchAll(/^\| `(\w+)` \| `([^`]+)` \|.*\| `([^`]+)` \|/gm)];
    expect(rows.map(([, kind, opened, resolved]) => [kind, { opened, resolved }])).toEqual(
      Object.entries(INCIDENT_EVENTS),
    );
  });
});
