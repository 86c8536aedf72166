/** The packages that a release publishes. */
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

export const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** @typedef {{ folder: string, manifest: Record<string, any> }} Published */

/**
 * The published packages of a tree, each after those that it depends on: whoever installs in the middle of a release finds all
 * dependencies of what is there.
 * @param {string} root the folder of the tree, with a slash at its end
 * @returns {Published[]}
 */
export function publishedPackages(root = ROOT) {
  const left = ["packages", "apps"]
    .flatMap((parent) => readdirSync(`${root}${parent}`).map((name) => `${parent}/${name}`))
    .map((folder) => ({
      folder,
      manifest: JSON.parse(readFileSync(`${root}${folder}/package.json`, "utf8")),
    }))
    .filter(({ manifest }) => manifest.private !== true);
  const names = new Set(left.map(({ manifest }) => manifest.name));
  const ordered = [];
  const isReady = ({ manifest }) =>
    Object.keys(manifest.dependencies ?? {}).every(
      (name) => !names.has(name) || ordered.some((other) => other.manifest.name === name),
    );
  while (left.length > 0) {
    const at = left.findIndex(isReady);
    if (at < 0) throw new Error(`these packages depend on each other: ${left.map(({ folder }) => folder)}`);
    ordered.push(...left.splice(at, 1));
  }
  return ordered;
}

export const tagOf = ({ manifest }) => `${manifest.name}@${manifest.version}`;
