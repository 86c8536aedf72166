import { expect, test } from "vitest";
import { nobodyInWords } from "../src/pages/computed-traits/trait-words.js";

test("why nobody has a value names the property and the window", () => {
  expect(nobodyInWords({})).toBe("Nobody has done the event yet.");
  expect(nobodyInWords({ property: "total" })).toBe("Nobody has done the event with the property total yet.");
  expect(nobodyInWords({ property: "total", withinMs: 86_400_000 })).toBe(
    "Nobody has done the event with the property total in the last 1 d.",
  );
});
