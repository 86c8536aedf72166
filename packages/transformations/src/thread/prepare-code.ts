import { stripTypeScriptTypes } from "node:module";
import type { CodeCheck, TransformLanguage } from "../transform.js";

/** Longer code is refused. */
const MAX_CODE_BYTES = 102_400;

export interface PreparedCode {
  readonly ok: true;
  /** A module whose default export evaluates the author's file and answers its function. */
  readonly source: string;
  /** Characters before the first line of the author's. */
  readonly shift: number;
}

export type SyntaxProblem = Omit<Extract<CodeCheck, { ok: false }>, "ok">;

/** Says what is wrong with a module that does nothing when it is evaluated. `shift`: characters that are not the author's. */
export type Compile = (source: string, shift: number) => SyntaxProblem | undefined;

/** In front of a module, it keeps everything behind it from running. */
const STANDSTILL = "await new Promise(() => {});";
const OPENING = 'export default () => {"use strict";';
const EXPORT = /\bexport(\s+)default\b/g;
const FUNCTION = /^(\s*(?:async\s+)?function\b)(\s*\*)?\s*([\p{ID_Start}$_][\p{ID_Continue}$]*)?/u;

/**
 * Makes a function of the author's file: called for each message, it evaluates the file afresh, so that a variable of one message is not
 * there for the next. Types become blanks, and what is replaced keeps its length, so lines and columns stay those of the file.
 */
export function prepareCode(
  code: string,
  language: TransformLanguage,
  compile: Compile,
): PreparedCode | Extract<CodeCheck, { ok: false }> {
  if (Buffer.byteLength(code) > MAX_CODE_BYTES)
    return { ok: false, message: `The code is longer than ${MAX_CODE_BYTES / 1_024} KB` };
  const stripped = language === "typescript" ? withoutTypes(code) : { ok: true as const, text: code };
  if (!stripped.ok) return stripped;
  const { text } = stripped;
  const problem = compile(STANDSTILL + text, STANDSTILL.length);
  if (problem !== undefined)
    return { ok: false, ...(problem.message.includes("load module") ? notAlone(text, problem) : problem) };

  const exports = [...text.matchAll(EXPORT)].slice(0, 20);
  if (exports.length === 0)
    return {
      ok: false,
      message: "There is no default export: write `export default function transform(message) { … }`",
    };
  let reason: SyntaxProblem | undefined;
  for (const found of exports) {
    const source = withFunction(text, found);
    const inside = compile(source, OPENING.length);
    if (inside === undefined) return { ok: true, source, shift: OPENING.length };
    // Wherever the text is in a comment or a string, the true export is left, and a function cannot contain it.
    reason = inside;
  }
  return { ok: false, ...notAlone(text, reason as SyntaxProblem) };
}

function withoutTypes(code: string): { ok: true; text: string } | Extract<CodeCheck, { ok: false }> {
  try {
    return { ok: true, text: stripTypeScriptTypes(code) };
  } catch (error) {
    return { ok: false, ...typeProblem(error as Error) };
  }
}

/** Node.js tells the place only in the stack: the line after a colon, the column as marks below the line. */
function typeProblem({ message, stack = "" }: Error): SyntaxProblem {
  const line = /^[^\n]*:(\d+)\n/.exec(stack)?.[1];
  const marks = /^( *)\^+$/m.exec(stack)?.[1];
  return {
    message: message.split("\n")[0] ?? message,
    ...(line === undefined ? {} : { line: Number(line) }),
    ...(line === undefined || marks === undefined ? {} : { column: marks.length + 1 }),
  };
}

function withFunction(text: string, found: RegExpMatchArray): string {
  const before = text.slice(0, found.index);
  const rest = text.slice((found.index as number) + found[0].length);
  const [head = "", start = "", star, own] = FUNCTION.exec(rest) ?? [];
  const free = unusedName(text);
  const name = own !== undefined && start !== "" ? own : free;
  /** As long as `old`, and on as many lines. */
  const fill = (old: string, replaced: string): string =>
    old.replaceAll(/[^\n]/g, "").concat(replaced.padStart(old.replaceAll("\n", "").length));
  const after = `\nreturn ${name}\n}`;
  if (start === "" || star !== undefined)
    return `${OPENING}${before}${fill(found[0], `var ${name}=`)}${rest}${after}`;
  if (own !== undefined) return `${OPENING}${before}${fill(found[0], "")}${rest}${after}`;
  const keyword = start.includes("async") ? "async function" : "function";
  return `${OPENING}${before}${fill(found[0] + head, `${keyword} ${name}`)}${rest.slice(head.length)}${after}`;
}

function unusedName(text: string): string {
  for (let n = 0; ; n++) if (!text.includes(`_own${n}`)) return `_own${n}`;
}

const IMPORT = /^\s*import\b(?!\s*[.(])/m;
const OTHER_EXPORT = /^\s*export\s+(?!default\b)/m;

/** A module that is none once it is in a function: it imports, exports more, or waits at its top. */
function notAlone(text: string, found: SyntaxProblem): SyntaxProblem {
  const at = (pattern: RegExp): { line: number } | undefined => {
    const index = pattern.exec(text)?.index;
    if (index === undefined) return undefined;
    const start = index + (/^\s*/.exec(text.slice(index))?.[0].length ?? 0);
    return { line: text.slice(0, start).split("\n").length };
  };
  const imported = at(IMPORT);
  if (imported !== undefined)
    return { message: "A transformation imports nothing but types: `import type { … }`", ...imported };
  const exported = at(OTHER_EXPORT);
  if (exported !== undefined)
    return { message: "A transformation exports one function, by default", ...exported };
  return found;
}
