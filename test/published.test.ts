import { readdirSync, readFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

interface Manifest {
  readonly name: string;
  readonly dependencies?: Record<string, string>;
  readonly peerDependencies?: Record<string, string>;
}

/** The published packages. An application that installs one gets only its declared dependencies. */
const PUBLISHED = [
  "packages/protocol",
  "packages/core",
  "packages/node",
  "packages/webhooks",
  "packages/testing",
  "packages/cli",
  "apps/collector",
];

/** The bundler writes imports at the start of a line. Imports in texts for people are elsewhere. */
const IMPORT = /(?:^(?:import|export)\b[^'";]*|\b(?:require|import)\()['"]([@.\w][\w./:@-]*)['"]/gm;

describe.each(PUBLISHED)("dist of %s", (place) => {
  const folder = fileURLToPath(new URL(`../${place}/`, import.meta.url));
  const { name, dependencies, peerDependencies } = JSON.parse(
    readFileSync(`${folder}package.json`, "utf8"),
  ) as Manifest;
  const allowed = new Set(Object.keys({ ...dependencies, ...peerDependencies }));
  const files = readdirSync(`${folder}dist`).filter((file) => /\.(d\.)?c?ts$|\.c?js$/.test(file));

  it.each(files)("%s only imports declared dependencies", (file) => {
    const text = readFileSync(`${folder}dist/${file}`, "utf8");
    const imported = [...text.matchAll(IMPORT)].map(([, source]) => String(source));
    const relative = imported.filter((source) => source.startsWith("."));
    expect(
      relative.filter(
        (source) =>
          !files.includes(source.slice(2).replace(/\.(c?)js$/, file.includes(".d.") ? ".d.$1ts" : ".$1js")),
      ),
    ).toEqual([]);
    const packages = imported
      .filter((source) => !source.startsWith(".") && !isBuiltin(source))
      .map((source) =>
        source
          .split("/")
          .slice(0, source.startsWith("@") ? 2 : 1)
          .join("/"),
      );
    // Examples in docstrings import the package itself.
    expect(packages.filter((source) => !allowed.has(source) && source !== name)).toEqual([]);
  });
});
