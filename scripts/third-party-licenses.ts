/**
 * The licences of third-party code that a bundler put into a bundle. The input is what the bundler reports, not what the
 * manifests say: code that was shaken out needs no notice, and nothing that was bundled can be missing.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

export const LICENSES_FILE = "THIRD-PARTY-LICENSES.txt";

/** Licences that ask for no more than their notice. */
const PERMISSIVE = new Set([
  "0BSD",
  "Apache-2.0",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "BlueOak-1.0.0",
  "ISC",
  "MIT",
  "MIT-0",
  "OFL-1.1",
  "Unlicense",
]);

/** Licences that ask for nothing, so that a package may come without their text. */
const WITHOUT_NOTICE = new Set(["0BSD", "MIT-0", "Unlicense"]);

const NOTICE = /^(licen[cs]e|copying|notice)([.-].*)?$/i;

export interface ThirdPartyPackage {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  readonly notices: readonly string[];
}

/** The packages that own these modules, sorted by name. Modules outside of `node_modules` are ours. */
export function thirdPartyPackages(modules: Iterable<string>): ThirdPartyPackage[] {
  const packages = new Map<string, ThirdPartyPackage>();
  for (const module of modules) {
    const folder = packageFolder(module);
    if (folder === undefined || packages.has(folder)) continue;
    packages.set(folder, readPackage(folder));
  }
  return [...packages.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** The folder of the package that a module belongs to; undefined for our own. Bundlers mark virtual modules with \0. */
function packageFolder(module: string): string | undefined {
  const path = resolve(module.replace(/^\0/, "").replace(/\?.*$/, ""));
  const found = /^.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+/.exec(path)?.[0];
  // A workspace is linked into `node_modules`, and bundlers resolve the link.
  return found !== undefined && existsSync(join(found, "package.json")) ? found : undefined;
}

function readPackage(folder: string): ThirdPartyPackage {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Omit<
    ThirdPartyPackage,
    "notices"
  >;
  if (!PERMISSIVE.has(license))
    throw new Error(
      `${name}@${version} is bundled, but its licence (${license}) is not one of ${[...PERMISSIVE].join(", ")}`,
    );
  const notices = readdirSync(folder)
    .filter((file) => NOTICE.test(file))
    .sort()
    .map((file) => readFileSync(join(folder, file), "utf8").trim());
  if (notices.length === 0 && !WITHOUT_NOTICE.has(license))
    throw new Error(`${name}@${version} is bundled, but ${folder} has no licence file`);
  return { name, version, license, notices };
}

export function licensesText(packages: readonly ThirdPartyPackage[]): string {
  const sections = packages.map(
    ({ name, version, license, notices }) =>
      `${"=".repeat(80)}\n${name} ${version} (${license})\n${"=".repeat(80)}\n\n${notices.join("\n\n")}\n`,
  );
  return `This bundle contains code of the packages below.\n\n${sections.join("\n")}`;
}

/** Writes the file into a build's folder, or removes it if the build contains only our code. */
export function writeLicenses(folder: string, modules: Iterable<string>): void {
  const file = join(folder, LICENSES_FILE);
  const packages = thirdPartyPackages(modules);
  if (packages.length === 0) {
    rmSync(file, { force: true });
    return;
  }
  // In a fresh clone the bundler has not made the folder yet.
  mkdirSync(folder, { recursive: true });
  writeFileSync(file, licensesText(packages));
}
