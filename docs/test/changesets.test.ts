import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ROOT } from "./running-collector.js";

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly private?: boolean;
}

const published = ["packages", "apps"]
  .flatMap((parent) => readdirSync(join(ROOT, parent)).map((name) => `${parent}/${name}`))
  .map((folder) => ({
    folder,
    manifest: JSON.parse(readFileSync(join(ROOT, folder, "package.json"), "utf8")) as Manifest,
  }))
  .filter(({ manifest }) => manifest.private !== true);

const names = published.map(({ manifest }) => manifest.name);

const changesets = readdirSync(join(ROOT, ".changeset")).filter((name) => name.endsWith(".md"));

// `changeset version` fails as a whole if one changeset names a package that does not exist.
test.each(changesets)("the changeset %s names published packages and says what changes", (name) => {
  const text = readFileSync(join(ROOT, ".changeset", name), "utf8");
  const [, front = "", body = ""] = /^---\n([\s\S]*?)---\n([\s\S]*)$/.exec(text) ?? [];
  const bumps = [...front.matchAll(/^"(.+)": (major|minor|patch)$/gm)].map(([, one]) => one);
  expect(bumps.length).toBe(front.trim().split("\n").length);
  expect(names).toEqual(expect.arrayContaining(bumps));
  expect(body.trim()).not.toBe("");
});

test.each(published)("$folder has a changelog of its version", ({ folder, manifest }) => {
  const changelog = readFileSync(join(ROOT, folder, "CHANGELOG.md"), "utf8");
  expect(changelog).toMatch(new RegExp(`^# ${manifest.name}\n\n## ${manifest.version}\n`));
});
