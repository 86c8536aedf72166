import { expect } from "vitest";
import { styleFor } from "../../../../packages/cli/src/terminal/style.js";
import { table } from "../../../../packages/cli/src/terminal/table.js";
import {
  clip,
  terminalJson,
  terminalText,
  wrapLines,
} from "../../../../packages/cli/src/terminal/terminal-text.js";
import { textTarget } from "../../engine/target.js";

/** Control characters, characters that change the direction of a line, and invisible ones. */
const HARMFUL = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Cs}]|[\u00ad\u180e\u200b-\u200d\u2060-\u2064\ufeff]/u;
/** Format characters that are visible, or part of ordinary text: Arabic and Syriac signs, and hieroglyphs. */
const ORDINARY = /[\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\u{110bd}\u{110cd}\u{13430}-\u{1343f}]/gu;

export const terminalTexts = textTarget({
  name: "terminal-text",
  rule: "printed text has no character that controls a terminal or hides something, and JSON stays the same value",
  runs: 2_000,
  alphabet: "text",
  dictionary: [
    "\x1b[2J",
    "\x1b]0;title\x07",
    "\x9b31m",
    "\u202e",
    "\u2066",
    "\u{e0041}",
    "\ud83d\ude00",
    "\u200b",
    "\r",
    "\u{1d173}",
    "\u{1bca0}",
    "漢字",
    "e\u0301",
  ],
  maxLength: 200,
  check(text) {
    const shown = terminalText(text);
    expect(shown).not.toMatch(HARMFUL);
    expect(shown.replace(ORDINARY, "")).not.toMatch(/\p{Cf}/u);
    for (const indent of [0, 2]) {
      const json = terminalJson({ [text]: [text] }, indent);
      expect(json.replaceAll("\n", "")).not.toMatch(HARMFUL);
      expect(JSON.parse(json)).toEqual({ [text]: [text] });
    }
    const lines = table(
      ["a", "b"],
      [
        [text, 1],
        ["x", text],
      ],
      { style: styleFor({ NO_COLOR: "1" }, false), tableColumns: 80 },
    ).split("\n");
    expect(lines).toHaveLength(4);
    for (const line of lines) expect(line).not.toMatch(HARMFUL);
    expect(Array.from(clip(text, 10)).length).toBeLessThanOrEqual(10);
    const words = (some: string): string[] => some.split(/\s+/).filter((word) => word !== "");
    expect(words(wrapLines(shown, 20))).toEqual(words(shown));
  },
});
