import { expect, it } from "vitest";
import { jsonDiff } from "../../src/terminal/terminal-text.js";

it("lists added, removed and changed values by path", () => {
  const before = { type: "track", properties: { plan: "free", seats: 5, tags: ["a", "b"] } };
  const after = { type: "track", properties: { plan: "pro", tags: ["a", "c"], trial: false } };
  expect(jsonDiff(before, after)).toEqual([
    { path: "properties.plan", before: { value: "free" }, after: { value: "pro" } },
    { path: "properties.tags[1]", before: { value: "b" }, after: { value: "c" } },
    { path: "properties.trial", after: { value: false } },
    { path: "properties.seats", before: { value: 5 } },
  ]);
  expect(jsonDiff(before, structuredClone(before))).toEqual([]);
});
