import type { Condition, EventCondition } from "@sluice/protocol";
import { describe, expect, it } from "vitest";
import {
  audiencesNamed,
  type EventReading,
  eventConditions,
  explain,
  holds,
  type Reading,
  traitsNamed,
} from "../../src/conditions/evaluate.js";

const PRO: Condition = { kind: "trait", trait: "plan", is: "equals", value: "pro" };
const FREE: Condition = { kind: "trait", trait: "plan", is: "equals", value: "free" };
const IN: Condition = { kind: "audience", audienceId: "aud_in" };
const OUT: Condition = { kind: "audience", audienceId: "aud_out" };
const ordered = (times: EventCondition["times"]): EventCondition => ({
  kind: "event",
  event: "Ordered",
  times,
});

/** A user on the pro plan who ordered twice and is in one audience. */
const reading: Reading = {
  trait: (name) => (name === "plan" ? "pro" : undefined),
  count: ({ event }) => (event === "Ordered" ? 2 : 0),
  isMember: (audienceId) => audienceId === "aud_in",
};

describe("holds", () => {
  it.each<[name: string, condition: Condition, expected: boolean]>([
    ["a trait", PRO, true],
    ["another value of it", FREE, false],
    ["membership", IN, true],
    ["no membership", OUT, false],
    ["not", { kind: "not", condition: FREE }, true],
    ["not, of what holds", { kind: "not", condition: PRO }, false],
    ["and", { kind: "and", conditions: [PRO, IN] }, true],
    ["and, where one does not hold", { kind: "and", conditions: [PRO, OUT] }, false],
    ["and of nothing", { kind: "and", conditions: [] }, true],
    ["or", { kind: "or", conditions: [FREE, IN] }, true],
    ["or, where none holds", { kind: "or", conditions: [FREE, OUT] }, false],
    ["or of nothing", { kind: "or", conditions: [] }, false],
    ["at least as often", ordered({ atLeast: 2 }), true],
    ["at least more often", ordered({ atLeast: 3 }), false],
    ["at least once", ordered({ atLeast: 1 }), true],
    ["at most as often", ordered({ atMost: 2 }), true],
    ["at most less often", ordered({ atMost: 1 }), false],
    ["at most more often", ordered({ atMost: 3 }), true],
    ["exactly as often", ordered({ exactly: 2 }), true],
    ["exactly more often", ordered({ exactly: 3 }), false],
    ["exactly less often", ordered({ exactly: 1 }), false],
  ])("%s: %j", (_name, condition, expected) => {
    expect(holds(condition, reading)).toBe(expected);
  });
});

describe("explain", () => {
  const explained = (condition: Condition, event: EventReading = { isCapped: false }) =>
    explain(condition, { ...reading, event: () => event });
  const TWICE = ordered({ atLeast: 2 });

  it.each<[name: string, condition: Condition, expected: object]>([
    ["a trait, with its value", PRO, { ...PRO, holds: true, seen: "pro" }],
    [
      "a trait that the user does not have",
      { kind: "trait", trait: "age", is: "exists" },
      { kind: "trait", trait: "age", is: "exists", holds: false },
    ],
    ["membership", IN, { ...IN, holds: true }],
    ["not", { kind: "not", condition: PRO }, { kind: "not", holds: false, condition: explained(PRO) }],
    [
      "every part of and, even after one that does not hold",
      { kind: "and", conditions: [FREE, IN] },
      { kind: "and", holds: false, conditions: [explained(FREE), explained(IN)] },
    ],
    [
      "every part of or, even after one that holds",
      { kind: "or", conditions: [IN, FREE] },
      { kind: "or", holds: true, conditions: [explained(IN), explained(FREE)] },
    ],
    ["an event, with its count", TWICE, { ...TWICE, holds: true, seen: 2 }],
  ])("%s", (_name, condition, expected) => {
    expect(explained(condition)).toStrictEqual(expected);
  });

  it("says when an event was last, when its count changes, and that there may be more", () => {
    const lastMs = Date.UTC(2026, 10, 21);
    expect(explained(TWICE, { lastMs, changesAtMs: lastMs + 1_000, isCapped: true })).toStrictEqual({
      ...TWICE,
      holds: true,
      seen: 2,
      orMore: true,
      lastAt: "2026-11-21T00:00:00.000Z",
      changesAt: "2026-11-21T00:00:01.000Z",
    });
  });
});

describe("what a tree names", () => {
  const once = ordered({ atLeast: 1 });
  const tree: Condition = {
    kind: "and",
    conditions: [PRO, { kind: "not", condition: once }, { kind: "or", conditions: [IN, FREE, OUT] }],
  };

  it("finds events, audiences and traits at every depth", () => {
    expect(eventConditions(tree)).toEqual([once]);
    expect(audiencesNamed(tree)).toEqual(["aud_in", "aud_out"]);
    expect(traitsNamed(tree)).toEqual(["plan", "plan"]);
  });
});
