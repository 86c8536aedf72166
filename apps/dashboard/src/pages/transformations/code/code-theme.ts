import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { EditorView } from "@codemirror/view";
import { tags } from "@lezer/highlight";

const KEYWORD = "light-dark(oklch(0.44 0.14 300), oklch(0.83 0.09 305))";
const STRING = "light-dark(oklch(0.43 0.1 155), oklch(0.83 0.1 155))";
const VALUE = "light-dark(oklch(0.46 0.14 40), oklch(0.83 0.1 65))";
const NAME = "light-dark(oklch(0.42 0.1 250), oklch(0.83 0.07 235))";

/** The dashboard's colours and font, light and dark. */
export const codeTheme = [
  EditorView.theme({
    "&": { color: "var(--ink)", backgroundColor: "transparent", fontSize: "12.5px" },
    "&.cm-focused": { outline: "none" },
    ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.6" },
    ".cm-content": { padding: "10px 0", caretColor: "var(--ink)", minHeight: "240px" },
    ".cm-gutters": {
      border: "none",
      backgroundColor: "transparent",
      color: "var(--ink-faint)",
    },
    "&.cm-focused .cm-matchingBracket": { backgroundColor: "var(--accent-soft)" },
    ".cm-tooltip": {
      border: "1px solid var(--line)",
      borderRadius: "var(--radius)",
      backgroundColor: "var(--raised)",
      color: "var(--ink)",
      boxShadow: "var(--shadow-high)",
      overflow: "hidden",
    },
    ".cm-tooltip.cm-tooltip-autocomplete > ul": { fontFamily: "var(--mono)", maxHeight: "220px" },
    ".cm-tooltip.cm-tooltip-autocomplete > ul > li": { padding: "3px 10px" },
    ".cm-tooltip-autocomplete ul li[aria-selected]": {
      backgroundColor: "var(--accent-soft)",
      color: "var(--ink)",
    },
    ".cm-completionDetail": { color: "var(--ink-soft)", fontStyle: "normal" },
    ".cm-diagnostic-error": { borderLeftColor: "var(--bad)", padding: "6px 10px" },
  }),
  syntaxHighlighting(
    HighlightStyle.define([
      { tag: [tags.keyword, tags.modifier, tags.operatorKeyword], color: KEYWORD },
      { tag: [tags.string, tags.regexp, tags.special(tags.string)], color: STRING },
      { tag: [tags.number, tags.bool, tags.null], color: VALUE },
      { tag: [tags.propertyName, tags.function(tags.variableName), tags.typeName], color: NAME },
      { tag: tags.comment, color: "var(--ink-faint)" },
    ]),
  ),
];
