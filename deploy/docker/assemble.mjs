/**
 * Puts what a collector needs at run time into a folder: the command line with its dependencies, as `npm ci` installed them, and nothing
 * else. Usage, in a clone after `npm ci` and `npm run build`: node deploy/docker/assemble.mjs FOLDER [PACKAGE …]. Each PACKAGE, such as
 * @sluice/opentelemetry, is added with its dependencies.
 */
import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync, realpathSync, symlinkSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));
const [, , given, ...added] = process.argv;
if (given === undefined) throw new Error("Usage: node deploy/docker/assemble.mjs FOLDER [PACKAGE …]");
const modules = join(resolve(given), "node_modules");

const manifestOf = (folder) => JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));

/** The folder from which Node.js loads a package for the files of another one. */
function find(name, from) {
  for (let folder = from; ; folder = dirname(folder)) {
    const candidate = join(folder, "node_modules", name);
    if (existsSync(join(candidate, "package.json"))) return realpathSync(candidate);
    if (folder === dirname(folder))
      throw new Error(`${name}, which ${from} needs, is not installed: run npm ci`);
  }
}

/** Without declarations and source maps: no process reads them. */
const isNeeded = (path) => !/\.(map|d\.[cm]?ts)$/.test(path) && basename(path) !== "node_modules";

function copyPackage(source, target) {
  const { files } = manifestOf(source);
  // Our packages are linked to their workspaces, which hold sources and tests too.
  const isWorkspace = !source.includes("/node_modules/");
  const parts = isWorkspace ? ["package.json", ...files] : ["."];
  for (const part of parts) {
    if (!existsSync(join(source, part)))
      throw new Error(`${join(source, part)} is missing: run npm run build`);
    cpSync(join(source, part), join(target, part), {
      recursive: true,
      filter: (path) => path === source || isNeeded(path),
    });
  }
}

/** Versions at the top level, by name. Another version of the same package goes below the one that needs it. */
const placed = new Map();

function place(name, from, parent) {
  const source = find(name, from);
  const { version, dependencies = {} } = manifestOf(source);
  let target = join(modules, name);
  if (placed.has(name) && placed.get(name) !== version) target = join(parent, "node_modules", name);
  else if (placed.has(name)) return;
  else placed.set(name, version);
  copyPackage(source, target);
  for (const dependency of Object.keys(dependencies)) place(dependency, source, target);
}

place("sluice", root, modules);
for (const name of added) place(name, root, join(modules, "sluice"));
cpSync(join(root, "LICENSE"), join(resolve(given), "LICENSE"));
const bin = join(resolve(given), "bin");
mkdirSync(bin, { recursive: true });
symlinkSync("../node_modules/sluice/bin/sluice.cjs", join(bin, "sluice"));
chmodSync(join(modules, "sluice/bin/sluice.cjs"), 0o755);
console.log([...placed].map(([name, version]) => `${name} ${version}`).join("\n"));
