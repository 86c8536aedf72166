import { describe, expect, it } from "vitest";
import { filterText, readFilterArgument } from "../../src/arguments.js";

describe("a filter from the shell", () => {
  it.each([
    [
      "adds quotation marks that the shell removed",
      ["event:Signed Up", "user:42"],
      'event:"Signed Up" user:42',
    ],
    [
      "keeps a whole filter in one argument",
      ['type:track event:"Signed Up"'],
      'type:track event:"Signed Up"',
    ],
    ["keeps two terms in one argument", ["type:track user:42"], "type:track user:42"],
    ["a negated one", ["-event:Page Viewed"], '-event:"Page Viewed"'],
    ["a path", ["properties.plan:very pro"], 'properties.plan:"very pro"'],
    ["words", ["checkout", "failed"], "checkout failed"],
  ])("%s", (_name, args, expected) => {
    expect(filterText(args)).toBe(expected);
  });

  it("points at the wrong term", () => {
    expect(() => readFilterArgument(["type:track", "colour:red"])).toThrow(/colour:red\n {13}\^/);
    expect(readFilterArgument([])).toBeUndefined();
  });
});
