import {
  autocompletion,
  type CompletionContext,
  closeBrackets,
  closeBracketsKeymap,
  completionKeymap,
} from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { javascript, javascriptLanguage, typescriptLanguage } from "@codemirror/lang-javascript";
import { bracketMatching, HighlightStyle, indentOnInput, syntaxHighlighting } from "@codemirror/language";
import { type Diagnostic, lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { Compartment, EditorState, type Extension } from "@codemirror/state";
import { EditorView, hoverTooltip, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { useEffect, useId, useLayoutEffect, useRef } from "react";
import { completionsAt, type KnownFields, type KnownName } from "./completions.js";
import type { Mistake } from "./types/checked-code.js";
import type { AskedTypes } from "./types/use-code-types.js";

const KEYWORD = "light-dark(oklch(0.44 0.14 300), oklch(0.83 0.09 305))";
const STRING = "light-dark(oklch(0.43 0.1 155), oklch(0.83 0.1 155))";
const VALUE = "light-dark(oklch(0.46 0.14 40), oklch(0.83 0.1 65))";
const NAME = "light-dark(oklch(0.42 0.1 250), oklch(0.83 0.07 235))";

/** The dashboard's colours and font, light and dark. */
const codeTheme = [
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
    ".cm-type": {
      fontFamily: "var(--mono)",
      padding: "6px 10px",
      maxWidth: "60ch",
      maxHeight: "220px",
      overflow: "auto",
      whiteSpace: "pre-wrap",
    },
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

type Language = "typescript" | "javascript";

/** Something wrong in the code. Without a line, it is not marked. */
export interface CodeProblem {
  readonly message: string;
  readonly line?: number;
  readonly column?: number;
}

interface Props {
  readonly label: string;
  readonly value: string;
  readonly language: Language;
  readonly problems: readonly CodeProblem[];
  readonly known: KnownFields;
  /** Of TypeScript. Mistakes do not keep the code from running. */
  readonly types: AskedTypes;
  readonly mistakes: readonly Mistake[];
  readonly onChange: (value: string) => void;
}

/** CodeMirror. `value` replaces its text only if that differs. */
export function CodeEditor(props: Props) {
  const { label, value, language, problems, mistakes } = props;
  const hintId = useId();
  const place = useRef<HTMLDivElement>(null);
  const editor = useRef<EditorView>(null);
  const latest = useRef(props);
  latest.current = props;
  // Before the first paint, so that nothing moves.
  useLayoutEffect(() => {
    if (place.current === null) return;
    const view = new EditorView({
      parent: place.current,
      doc: latest.current.value,
      extensions: [
        ...extensions(latest),
        EditorView.contentAttributes.of({
          "aria-label": label,
          "aria-describedby": hintId,
          tabindex: "0",
        }),
      ],
    });
    view.setTabFocusMode(true);
    editor.current = view;
    return () => view.destroy();
  }, [label, hintId]);
  useEffect(() => {
    const view = editor.current;
    if (view === null || view.state.doc.toString() === value) return;
    view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: value } });
  }, [value]);
  useEffect(() => {
    editor.current?.dispatch({ effects: LANGUAGE.reconfigure(languageOf(language, latest)) });
  }, [language]);
  const marked = JSON.stringify([problems, mistakes]);
  useEffect(() => {
    const view = editor.current;
    const [ran, typed] = JSON.parse(marked);
    if (view !== null) view.dispatch(setDiagnostics(view.state, diagnosticsOf(view.state, ran, typed)));
  }, [marked]);
  return (
    <div>
      <div ref={place} className="code-editor" />
      <p className="field-hint" id={hintId}>
        Tab indents while you type. Escape, then Tab, leaves the editor.
      </p>
    </div>
  );
}

const LANGUAGE = new Compartment();

interface Latest {
  readonly current: Props;
}

function extensions(latest: Latest): readonly Extension[] {
  return [
    lineNumbers(),
    lintGutter(),
    history(),
    indentOnInput(),
    bracketMatching(),
    closeBrackets(),
    autocompletion({ icons: false }),
    EditorState.tabSize.of(2),
    hoverTooltip(async (view, at) => {
      const code = view.state.doc.toString();
      const found = isTyped(latest) ? await latest.current.types.hover(code, at) : undefined;
      if (found === undefined || view.state.doc.toString() !== code) return null;
      return { pos: found.from, end: found.to, above: true, create: () => ({ dom: typeText(found.text) }) };
    }),
    LANGUAGE.of(languageOf(latest.current.language, latest)),
    keymap.of([
      ...closeBracketsKeymap,
      ...completionKeymap,
      ...lintKeymap,
      { key: "Escape", run: leaveWithTab },
      indentWithTab,
      ...historyKeymap,
      ...defaultKeymap,
    ]),
    EditorView.updateListener.of(({ docChanged, state, view }) => {
      if (!docChanged) return;
      // Who types wants to indent. Who only passes through with Tab is let through.
      view.setTabFocusMode(false);
      latest.current.onChange(state.doc.toString());
    }),
    EditorView.domEventHandlers({ beforeinput: replaceSelection }),
    EditorView.lineWrapping,
    codeTheme,
  ];
}

/**
 * Types over a selection. Left to it, the browser would keep the style of the replaced text in a style attribute, which the
 * page's security policy forbids.
 */
function replaceSelection(event: InputEvent, view: EditorView): boolean {
  const { data, inputType } = event;
  const { from, to, empty } = view.state.selection.main;
  if (inputType !== "insertText" || data === null || empty || view.composing) return false;
  const insert = () => view.state.update(view.state.replaceSelection(data), { userEvent: "input.type" });
  const isHandled = view.state
    .facet(EditorView.inputHandler)
    .some((handle) => handle(view, from, to, data, insert));
  if (!isHandled) view.dispatch(insert());
  return true;
}

/** From here, Tab moves the focus until something is typed again. */
function leaveWithTab(view: EditorView): boolean {
  view.setTabFocusMode(true);
  return true;
}

function languageOf(language: Language, latest: Latest): Extension {
  const isTypescript = language === "typescript";
  const complete = async ({ state, pos, explicit }: CompletionContext) => {
    const { from, text } = state.doc.lineAt(pos);
    const before = text.slice(0, pos - from);
    const known = completionsAt(before, latest.current.known);
    const typed = await typedNames(state.doc.toString(), pos, before, latest);
    const found = typed === undefined ? known : { ...typed, names: withKnown(typed.names, known?.names) };
    if (found === undefined || (found.names.length === 0 && !explicit)) return null;
    return { from: from + found.from, options: [...found.names], validFor: /^[\w$ ]*$/ };
  };
  const data = (isTypescript ? typescriptLanguage : javascriptLanguage).data;
  return [javascript({ typescript: isTypescript }), data.of({ autocomplete: complete })];
}

const isTyped = ({ current }: Latest): boolean => current.language === "typescript";

/** Names that a type has behind the dot; undefined if there is none, or nothing is known of it. */
async function typedNames(code: string, at: number, line: string, latest: Latest) {
  const [, name] = /\.\s*([\w$]*)$/.exec(line) ?? [];
  if (name === undefined || !isTyped(latest)) return undefined;
  const names = await latest.current.types.members(code, at - name.length);
  return names === undefined || names.length === 0 ? undefined : { from: line.length - name.length, names };
}

/** Names of types, and those that are known from messages. Where a type says more, it says all. */
function withKnown(typed: readonly KnownName[], known: readonly KnownName[] = []): readonly KnownName[] {
  const isUnion = typed.some(({ label }) => label === "receivedAt");
  const labels = new Set(typed.map(({ label }) => label));
  return isUnion ? [...typed, ...known.filter(({ label }) => !labels.has(label))] : typed;
}

function typeText(text: string): HTMLElement {
  const dom = document.createElement("div");
  dom.className = "cm-type";
  dom.textContent = text;
  return dom;
}

/** What failed when the code ran, and what its types forbid. A mistake of syntax is found by both: it is shown once. */
function diagnosticsOf(
  state: EditorState,
  problems: readonly CodeProblem[],
  mistakes: readonly Mistake[],
): Diagnostic[] {
  const ran = ranDiagnostics(state, problems);
  const lineOf = ({ from }: { from: number }) => state.doc.lineAt(from).number;
  const marked = new Set(ran.map(lineOf));
  const typed = mistakes
    .filter(({ to }) => to <= state.doc.length)
    .map(({ from, to, message }): Diagnostic => ({ from, to, severity: "error", message }));
  return [...ran, ...typed.filter((one) => !marked.has(lineOf(one)))].sort(
    (one, other) => one.from - other.from,
  );
}

function ranDiagnostics(state: EditorState, problems: readonly CodeProblem[]): Diagnostic[] {
  return problems.flatMap(({ message, line, column = 1 }) => {
    if (line === undefined || line < 1 || line > state.doc.lines) return [];
    const { from, to } = state.doc.line(line);
    const start = Math.min(from + Math.max(0, column - 1), to);
    const end = state.wordAt(start)?.to ?? to;
    return [{ from: start, to: Math.max(start, end), severity: "error" as const, message }];
  });
}
