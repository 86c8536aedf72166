import { expect } from "vitest";
import { matchesPattern } from "../../../../packages/protocol/src/plans/match-pattern.js";
import { compilePattern, PatternError } from "../../../../packages/protocol/src/plans/pattern.js";
import { textTarget } from "../../engine/target.js";

const TEXTS = [
  "",
  "a",
  "ab",
  "aab",
  "b-1",
  "A_9",
  " \t",
  "\n",
  "a\nb",
  "é",
  "😀",
  "\ud83d",
  "\0",
  "x".repeat(40),
  "]",
  "\u2028",
  "07",
];

export const patterns = textTarget({
  name: "patterns",
  rule: "a pattern is refused with a PatternError, or matches what a RegExp with the flag u matches, in bounded steps",
  runs: 1_500,
  alphabet: "text",
  dictionary: [
    "(?:",
    "[^",
    "\\d",
    "\\W",
    "\\s",
    "{2}",
    "{1,3}",
    "{0,}",
    "*?",
    "\\u0041",
    "\\x41",
    "\\ud83d\\ude00",
    "|",
    "^",
    "$",
    "[a-z]",
    "\\]",
    "\\-",
    "😀",
  ],
  maxLength: 60,
  check(source) {
    const program = compiled(source);
    if (program === undefined) return;
    const native = nativeOf(source);
    for (const text of [...TEXTS, source]) {
      let steps = 0;
      const isMatch = matchesPattern(text, program, (more) => {
        steps += more;
      });
      const ranges = program.program.reduce(
        (sum, one) => sum + (one.kind === "take" ? one.set.ranges.length : 2),
        3,
      );
      expect(steps).toBeLessThanOrEqual((text.length + 2) * (program.program.length + ranges) * 2);
      if (native !== undefined) expect(isMatch, JSON.stringify(text)).toBe(native.test(text));
    }
  },
});

function compiled(source: string) {
  try {
    return compilePattern(source);
  } catch (error) {
    if (!(error instanceof PatternError)) throw error;
    return undefined;
  }
}

/** Undefined where JavaScript itself refuses the pattern, or could take forever: nested repetitions. */
function nativeOf(source: string): RegExp | undefined {
  if ((source.match(/[*+{]/g)?.length ?? 0) > 4) return undefined;
  try {
    return new RegExp(source, "u");
  } catch {
    return undefined;
  }
}
