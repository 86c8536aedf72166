import { expect, test } from "vitest";
import { eventNames } from "../../src/admin/sources/source-endpoints.js";

const entry = (
  name: string | undefined,
  count: number,
  properties: readonly string[] = [],
  type = "track",
) => ({
  type,
  ...(name === undefined ? {} : { name }),
  count,
  properties: Object.fromEntries(properties.map((property) => [property, { types: [], seen: 1 }])),
});

test.each([
  ["nothing", [], []],
  ["by name", [entry("b", 9), entry("a", 1)], [{ name: "a" }, { name: "b" }]],
  [
    "one name of two sources",
    [entry("a", 1, ["y", "x"]), entry("a", 2, ["z", "x"])],
    [{ name: "a", properties: ["x", "y", "z"] }],
  ],
  ["only track events with a name", [entry("Pricing", 5, [], "page"), entry(undefined, 5)], []],
  ["not a name that may have been cut", [entry("x".repeat(1_000), 5)], []],
  [
    "names of objects' own members",
    [entry("__proto__", 1, ["constructor"])],
    [{ name: "__proto__", properties: ["constructor"] }],
  ],
])("%s", (_what, entries, expected) => {
  expect(eventNames(entries).items).toMatchObject(expected);
  expect(eventNames(entries).items).toHaveLength(expected.length);
});

test("keeps the thousand names that were sent most", () => {
  const entries = Array.from({ length: 1_200 }, (_, number) => entry(`event ${number}`, number));
  const names = eventNames(entries).items.map(({ name }) => name);
  expect(names).toHaveLength(1_000);
  expect(names).not.toContain("event 199");
  expect(names).toContain("event 200");
});
