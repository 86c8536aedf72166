import { expect, test } from "vitest";
import { noValuesInWords } from "../src/pages/computed-traits/trait-draft.js";

test("the text for no values names the property and the window", () => {
  expect(noValuesInWords({})).toBe("No user has this event yet.");
  expect(noValuesInWords({ property: "total" })).toBe("No user has this event with the property total yet.");
  expect(noValuesInWords({ property: "total", withinMs: 86_400_000 })).toBe(
    "No user has this event with the property total in the last 1 d.",
  );
});
