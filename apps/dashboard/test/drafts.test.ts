import type { FilterRuleView } from "@sluice/control-api";
import { expect, test } from "vitest";
import { durationDraft, durationMs } from "../src/forms/duration.js";
import { scheduleInWords } from "../src/pages/audiences/sending-card.js";
import { traitDraftOf, traitOf, traitPatchOf } from "../src/pages/computed-traits/trait-draft.js";
import {
  moved,
  newRule,
  newRuleTest,
  ruleDraftOf,
  ruleIssues,
  ruleOf,
} from "../src/pages/destinations/filters/rule-draft.js";

test.each<[string, FilterRuleView]>([
  ["drops everything", { action: { kind: "drop" } }],
  [
    "names kinds, events and conditions",
    {
      kinds: ["track", "something new"],
      events: ["Order, Completed", "Cart"],
      where: [
        { path: "properties.total", is: "less", value: 5 },
        { path: "properties.plan", is: "in", value: ["a, b", 3, true] },
        { path: "context.ip", is: "exists" },
        { path: "traits.email", is: "exists", value: false },
        { path: "properties.coupon", is: "equals", value: null },
        { path: "properties.code", is: "equals", value: "42" },
      ],
      action: { kind: "sample", share: 0.07 },
    },
  ],
  [
    "takes fields out",
    { kinds: ["page"], action: { kind: "remove", paths: ["context.ip", "traits.email"] } },
  ],
])("a rule that %s survives editing", (_, rule) => {
  const draft = ruleDraftOf(rule);
  expect(ruleIssues(draft)).toEqual({});
  expect(ruleOf(draft)).toEqual(rule);
});

test("reports what is missing in a rule before it is sent", () => {
  expect(ruleIssues({ ...newRule(), action: "sample", share: "120" })).toHaveProperty("share");
  expect(ruleIssues({ ...newRule(), action: "sample", share: "" })).toHaveProperty("share");
  expect(ruleIssues({ ...newRule(), action: "remove", paths: " \n" })).toHaveProperty("paths");
  expect(ruleIssues({ ...newRule(), where: [newRuleTest()] })).toHaveProperty("where");
  expect(ruleIssues({ ...newRule(), where: [{ ...newRuleTest(), name: "a", is: "not_exists" }] })).toEqual(
    {},
  );
});

test("moves a rule by one position, but not beyond the ends", () => {
  expect(moved(["a", "b", "c"], 2, -1)).toEqual(["a", "c", "b"]);
  expect(moved(["a", "b", "c"], 0, 1)).toEqual(["b", "a", "c"]);
  expect(moved(["a", "b"], 0, -1)).toEqual(["a", "b"]);
  expect(moved(["a", "b"], 1, 1)).toEqual(["a", "b"]);
});

test.each([[1_000], [90_000], [5_400_000], [21_600_000], [86_400_000 * 30], [1_500]])(
  "%i ms survives editing",
  (ms) => expect(durationMs(durationDraft(ms))).toBe(ms),
);

test("an empty duration is undefined; an invalid one is left to the validator", () => {
  expect(durationMs(durationDraft(undefined))).toBeUndefined();
  expect(durationMs({ text: "soon", unit: "days" })).toBeNaN();
});

test("a schedule in words", () => {
  expect(scheduleInWords({ initialDelayMs: 0, everyMs: 0 })).toBe(
    "First sync immediately, then every change immediately.",
  );
});

test("an emptied window or property of a computed trait is removed with null", () => {
  const draft = { ...traitDraftOf(undefined), name: " Orders ", event: "Order" };
  expect(traitOf(draft)).toEqual({
    name: "Orders",
    kind: "count",
    event: "Order",
    destinationIds: [],
    enabled: true,
  });
  expect(traitPatchOf(draft)).toMatchObject({ property: null, withinMs: null });
});
