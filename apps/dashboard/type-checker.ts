/**
 * TypeScript for the code editor, without what it does not need: `_tsc.js` of the package, from which the bundler keeps the parser, the
 * checker and what prints a type (1.7 MB; all of TypeScript would be 3.5 MB), and the library of the language as far as the sandbox of
 * transformations has it.
 */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Plugin } from "vite";

const FOLDER = new URL("lib/", import.meta.resolve("typescript/package.json"));
const COMPILER = new URL("_tsc.js", FOLDER);

/** What is used of the compiler. `CheckerApi` says what each is. */
const EXPORTS = [
  ...["createSourceFile", "createTypeChecker", "flattenDiagnosticMessageText"],
  ...[
    "forEachChild",
    "getTokenPosOfNode",
    "idText",
    "isIdentifier",
    "isPropertyAccessExpression",
    "symbolName",
  ],
];
/** Where the code of the command begins, which runs when the file is loaded. */
const COMMAND = "// src/tsc/tsc.ts";
/** Without its system, no files are read. */
const NODE = "if (isNodeLikeSystem())";

/** The text of the compiler as a module. */
export function compilerText(): string {
  const text = readFileSync(COMPILER, "utf8");
  const end = text.indexOf(COMMAND);
  if (end < 0 || !text.includes(NODE)) throw new Error(`${COMPILER.pathname} does not look as it is known`);
  return `${text.slice(0, end).replaceAll(NODE, "if (false)")}\nexport { ${EXPORTS.join(", ")} };\n`;
}

/** Libraries of what the sandbox does not have. */
const ABSENT_LIBRARIES = /sharedmemory|weakref/;
/** Globals and methods of the others that it does not have, or that throw. */
const ABSENT =
  /^(declare function eval|declare var (Function|WeakRef|FinalizationRegistry|ActiveXObject)\b| {4}random\(\): number;)/;
/** What `Intl` has besides types. */
const VALUES = /\n {4}(var|const|function) [\s\S]*?(\n {4}\};|;(?=\n))/g;

/** The library of the language by the names of its files, without comments. */
export function libraryTexts(): { readonly [name: string]: string } {
  const texts: { [name: string]: string } = { console: CONSOLE };
  const add = (name: string): void => {
    if (Object.hasOwn(texts, name) || ABSENT_LIBRARIES.test(name)) return;
    const text = readFileSync(new URL(`lib.${name}.d.ts`, FOLDER), "utf8");
    texts[name] = shortened(text);
    for (const [, other = ""] of text.matchAll(/^\/\/\/ <reference lib="([^"]+)"/gm)) add(other);
  };
  add("es2025");
  return texts;
}

const CONSOLE = `declare var console: import("@sluice/transformations").Log & {
  log(...values: unknown[]): void;
  debug(...values: unknown[]): void;
};`;

function shortened(text: string): string {
  return text
    .replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, "")
    .replaceAll(/\n\s*\n+/g, "\n")
    .replaceAll(/declare namespace Intl \{[\s\S]*?\n\}/g, (block) => block.replaceAll(VALUES, ""))
    .split("\n")
    .filter((line) => !ABSENT.test(line))
    .join("\n");
}

const MODULES: { readonly [name: string]: () => string } = {
  "virtual:type-checker": compilerText,
  "virtual:type-library": () => `export default ${JSON.stringify(libraryTexts())};`,
};

/** Provides `virtual:type-checker` and `virtual:type-library`. */
export function typeChecker(): Plugin {
  return {
    name: "type-checker",
    resolveId: (id) => (Object.hasOwn(MODULES, id) ? `\0${id}` : undefined),
    load: (id) => (id.startsWith("\0virtual:type-") ? MODULES[id.slice(1)]?.() : undefined),
  };
}

/** For its licence. */
export const COMPILER_PATH = fileURLToPath(COMPILER);
