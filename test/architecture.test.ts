import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import ts from "typescript";
import { describe, expect, it } from "vitest";

/**
 * Compares the import tables of ARCHITECTURE.md with the code. A row names a folder or a package and what it imports. An import
 * without a permission fails, and so does a permission that nothing uses.
 */
const root = resolve(import.meta.dirname, "..");
const page = readFileSync(join(root, "ARCHITECTURE.md"), "utf8");

/** The rows of the table under a heading. Cells are text without backticks. */
function tableUnder(heading: string): string[][] {
  const section = page.split(/^## /m).find((text) => text.startsWith(`${heading}\n`));
  if (section === undefined) throw new Error(`ARCHITECTURE.md has no section "${heading}"`);
  return section
    .split("\n")
    .filter((line) => line.startsWith("| `"))
    .map((line) =>
      line
        .split("|")
        .slice(1, -1)
        .map((cell) => cell.replaceAll("`", "").trim()),
    );
}

function listOf(cell: string | undefined): string[] {
  return (cell ?? "")
    .split(",")
    .flatMap((name) => (name.trim() === "" || name.trim() === "—" ? [] : [name.trim()]));
}

function sourcesOf(folder: string): string[] {
  return globSync(`${folder}/**/*.{ts,tsx}`, { cwd: root }).filter((file) => !file.endsWith(".d.ts"));
}

/** The specifiers of a file's imports and re-exports, including types. */
function importsOf(file: string): string[] {
  const { importedFiles } = ts.preProcessFile(readFileSync(join(root, file), "utf8"), true, true);
  return importedFiles.map(({ fileName }) => fileName);
}

/** The source file behind a relative import. */
function fileBehind(from: string, specifier: string): string | undefined {
  const path = resolve(root, dirname(from), specifier);
  const candidates = [path, path.replace(/\.js$/, ".ts"), path.replace(/\.js$/, ".tsx")];
  const found = candidates.find((candidate) => existsSync(candidate));
  return found && relative(root, found);
}

interface Arrow {
  readonly from: string;
  readonly to: string;
  readonly file: string;
}

/** Whether one folder is, or contains, another. `""` is the source folder itself. */
function contains(folder: string, other: string): boolean {
  return folder === "" || folder === other || other.startsWith(`${folder}/`);
}

/** Imports between the folders below `source`. A file in a folder composes its sub-folders, so imports between those do not count. */
function folderArrows(source: string, depth = 1): Arrow[] {
  const folderOf = (file: string): string =>
    relative(source, dirname(file)).split("/").slice(0, depth).join("/");
  return sourcesOf(source).flatMap((file) =>
    importsOf(file)
      .filter((specifier) => specifier.startsWith("."))
      .flatMap((specifier) => {
        const target = fileBehind(file, specifier);
        if (target === undefined || !target.startsWith(`${source}/`)) return [];
        const from = folderOf(file);
        const to = folderOf(target);
        return contains(from, to) || contains(to, from) ? [] : [{ from, to, file }];
      }),
  );
}

/** The folders of a circle, in order. Undefined if there is none. */
function circleIn(arrows: readonly Arrow[]): string[] | undefined {
  const next = new Map<string, Set<string>>();
  for (const { from, to } of arrows) next.set(from, (next.get(from) ?? new Set()).add(to));
  const finished = new Set<string>();
  const visit = (folder: string, path: readonly string[]): string[] | undefined => {
    if (path.includes(folder)) return [...path.slice(path.indexOf(folder)), folder];
    if (finished.has(folder)) return undefined;
    for (const target of next.get(folder) ?? []) {
      const circle = visit(target, [...path, folder]);
      if (circle !== undefined) return circle;
    }
    finished.add(folder);
    return undefined;
  };
  for (const folder of next.keys()) {
    const circle = visit(folder, []);
    if (circle !== undefined) return circle;
  }
  return undefined;
}

function folderRules(heading: string, source: string): void {
  const allowed = new Map(
    tableUnder(heading).map(([folder, , may]) => [folder?.replace(/\/$/, ""), listOf(may)]),
  );
  const arrows = folderArrows(source);

  it("allows every import between folders", () => {
    const forbidden = arrows
      .filter(({ from, to }) => allowed.get(from)?.includes(to) !== true)
      .map(({ file, to }) => `${file} imports ${to}/`);
    expect(forbidden).toEqual([]);
  });

  it("allows nothing that no import uses", () => {
    const used = new Set(arrows.map(({ from, to }) => `${from} → ${to}`));
    const unused = [...allowed].flatMap(([from, targets]) =>
      targets.filter((to) => !used.has(`${from} → ${to}`)).map((to) => `${from} → ${to}`),
    );
    expect(unused).toEqual([]);
  });
}

describe("packages", () => {
  const rows = tableUnder("Packages");

  it.each(rows)("%s declares the dependencies of its row", (folder, name, _, may) => {
    const manifest = JSON.parse(readFileSync(join(root, folder as string, "package.json"), "utf8"));
    const ours = Object.keys({ ...manifest.dependencies, ...manifest.devDependencies })
      .filter((dependency) => dependency.startsWith("@sluice/"))
      .map((dependency) => dependency.replace("@sluice/", ""));
    const imported = new Set(
      sourcesOf(`${folder}/src`)
        .flatMap(importsOf)
        .flatMap((specifier) => /^@sluice\/([^/]+)/.exec(specifier)?.[1] ?? [])
        // An entry point may use its own package, as an application does.
        .filter((imported) => `@sluice/${imported}` !== manifest.name),
    );
    expect(manifest.name).toBe(name);
    expect([...imported].sort()).toEqual(listOf(may).sort());
    expect(ours).toEqual(expect.arrayContaining([...imported]));
  });
});

describe.each([
  ["The collector", "apps/collector/src"],
  ["The event log", "packages/event-log/src"],
  ["Audiences", "packages/audiences/src"],
])("folders: %s", folderRules);

describe.each(["apps/collector/src", "packages/event-log/src", "packages/audiences/src"])(
  "circles: %s",
  (source) => {
    it.each([1, 2])("has none between folders, %i deep", (depth) => {
      expect(circleIn(folderArrows(source, depth))).toBeUndefined();
    });
  },
);
