/**
 * How heavy the project is: lines of source without tests by workspace, files, large folders, circles between files, and words of
 * documents written by hand.
 *
 *   npm run weight
 */
import { globSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import ts from "typescript";

const MOST_FILES_IN_A_FOLDER = 14;
const sources = globSync(["packages/*/src/**/*.{ts,tsx}", "apps/*/src/**/*.{ts,tsx}"]);
const lineCount = (file) => readFileSync(file, "utf8").split("\n").length - 1;
const wordCount = (file) => readFileSync(file, "utf8").split(/\s+/).filter(Boolean).length;
const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);
const workspaceOf = (file) => file.split("/").slice(0, 2).join("/");

const known = new Set(sources);
/** The files that a file imports by a relative path, for types too. */
const next = new Map(
  sources.map((file) => [
    file,
    ts
      .preProcessFile(readFileSync(file, "utf8"), true, true)
      .importedFiles.map(({ fileName }) => fileName)
      .filter((name) => name.startsWith("."))
      .flatMap((name) => {
        const path = normalize(join(dirname(file), name));
        return [path, path.replace(/\.js$/, ".ts"), path.replace(/\.js$/, ".tsx")].filter((one) =>
          known.has(one),
        );
      }),
  ]),
);

/** Groups of files that reach each other (Tarjan's strongly connected components of more than one file). */
function circles() {
  const index = new Map();
  const low = new Map();
  const stack = [];
  const found = [];
  const visit = (file) => {
    index.set(file, index.size);
    low.set(file, index.get(file));
    stack.push(file);
    for (const target of next.get(file)) {
      if (!index.has(target)) visit(target);
      if (stack.includes(target)) low.set(file, Math.min(low.get(file), low.get(target)));
    }
    if (low.get(file) !== index.get(file)) return;
    const group = stack.splice(stack.indexOf(file));
    if (group.length > 1) found.push(group);
  };
  for (const file of sources) if (!index.has(file)) visit(file);
  return found;
}

const workspaces = Map.groupBy(sources, workspaceOf);
const rows = [...workspaces].map(([workspace, files]) => ({
  workspace,
  lines: sum(files.map(lineCount)),
  files: files.length,
}));
rows.push({ workspace: "all", lines: sum(rows.map(({ lines }) => lines)), files: sources.length });
console.table(rows);

const large = [...Map.groupBy(sources, dirname)].filter(([, files]) => files.length > MOST_FILES_IN_A_FOLDER);
console.log(`folders with over ${MOST_FILES_IN_A_FOLDER} files: ${large.length}`);
for (const [folder, files] of large) console.log(`  ${folder}: ${files.length}`);
const groups = circles();
console.log(`circles between files: ${groups.length}`);
for (const group of groups) console.log(`  ${group.join(" ⇄ ")}`);
const excepted = sources.filter((file) => readFileSync(file, "utf8").includes("noExcessiveLinesPerFunction"));
console.log(`files with a function over 60 lines, and the reason beside it: ${excepted.length}`);
const tests = globSync(
  ["packages/*/test/**/*.ts", "apps/*/test/**/*.{ts,tsx}", "test/**/*.ts", "docs/test/**/*.ts"],
  {
    exclude: (path) => String(path).includes("node_modules"),
  },
);
console.log(`lines of tests: ${sum(tests.map(lineCount))} in ${tests.length} files`);
const pages = globSync(
  ["*.md", "docs/**/*.md", "packages/*/README.md", "apps/*/README.md", "examples/**/README.md"],
  {
    exclude: (path) => String(path).includes("node_modules"),
  },
);
/** What a command writes: between a marker and the end, and the tables of other vendors' clients and of mutation scores. */
const generatedCount = (file) => {
  const text = readFileSync(file, "utf8");
  const parts = /(?:reference\/clients|contributing\/mutation)\.md$/.test(file)
    ? (text.match(/^\|.*$/gm) ?? [])
    : [...text.matchAll(/<!-- (?!end)[\w ]+ -->([\s\S]*?)<!-- end -->/g)].map(([, part]) => part);
  return sum(parts.map((part) => part.split(/\s+/).filter(Boolean).length));
};
const generated = sum(pages.map(generatedCount));
console.log(
  `words written by hand: ${sum(pages.map(wordCount)) - generated}, and by commands: ${generated}, on ${pages.length} pages`,
);
