// `npm run release` checks every condition of a release, packs it, and says what it would do. `-- --publish` does it: it
// publishes what the registry does not have yet, each package after its dependencies, and tags the commit.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { CONDITIONS } from "./conditions.mjs";
import { pack, publish } from "./publish.mjs";
import { publishedPackages, ROOT, tagOf } from "./published.mjs";
import { missingVerification } from "./verified.mjs";

const { values } = parseArgs({
  options: { publish: { type: "boolean" }, "set-repository": { type: "string" } },
});
const packages = publishedPackages();

function output(command, ...args) {
  const { status, stdout } = spawnSync(command, args, { cwd: ROOT, encoding: "utf8" });
  return status === 0 ? stdout.trim() : undefined;
}

/** GitHub Actions offers a token that npm accepts and that signs the provenance. */
// biome-ignore lint/suspicious/noUndeclaredEnvVars: a release is no task of Turborepo
const canSign = process.env.ACTIONS_ID_TOKEN_REQUEST_URL !== undefined;

/** Whether the registry has the version. Any answer but "not found" is an error: a guess would publish twice, or nothing. */
function isPublished(release) {
  const args = ["view", release, "version", "--json"];
  const { status, stdout } = spawnSync("npm", args, { cwd: ROOT, encoding: "utf8" });
  if (status === 0) return stdout.trim() !== "";
  const { error } = JSON.parse(stdout || "{}");
  if (error?.code === "E404") return false;
  throw new Error(`The registry did not answer for ${release}: ${error?.summary ?? stdout}`);
}

function userOf() {
  return canSign ? "the release workflow" : output("npm", "whoami");
}

/** @returns {import("./conditions.mjs").Facts} */
function facts() {
  const releases = packages.map(tagOf).filter((release) => !isPublished(release));
  return {
    branch: output("git", "branch", "--show-current") ?? "",
    missingVerification: missingVerification(ROOT),
    changesets: readdirSync(join(ROOT, ".changeset")).filter((name) => name.endsWith(".md")),
    withoutChangelog: packages
      .filter(({ folder, manifest }) => {
        const text = readFileSync(join(ROOT, folder, "CHANGELOG.md"), "utf8");
        return !text.split("\n").includes(`## ${manifest.version}`);
      })
      .map(({ manifest }) => manifest.name),
    repositories: packages.map(({ folder, manifest }) => ({
      name: manifest.name,
      folder,
      url: manifest.repository?.url,
      directory: manifest.repository?.directory,
    })),
    tags: (output("git", "tag") ?? "").split("\n"),
    releases,
    user: values.publish ? userOf() : undefined,
    isDryRun: !values.publish,
  };
}

function setRepository(url) {
  for (const { folder, manifest } of packages) {
    const repository = { type: "git", url: `git+${url.replace(/(\.git)?$/, ".git")}`, directory: folder };
    const { name, version, description, license, ...rest } = manifest;
    const changed = { name, version, description, license, ...rest, repository };
    writeFileSync(join(ROOT, folder, "package.json"), `${JSON.stringify(changed, null, 2)}\n`);
  }
  console.log(`release: ${packages.length} manifests name ${url}. Commit them.`);
}

/** Prints each condition and its problem. Answers whether all hold. */
function check(known) {
  let isGood = true;
  for (const { name, problem } of CONDITIONS) {
    const said = problem(known);
    console.log(said === undefined ? `  ok      ${name}` : `  refused ${name}\n          ${said}`);
    if (said !== undefined) isGood = false;
  }
  return isGood;
}

function release(releases, folder) {
  const wanted = packages.filter((one) => releases.includes(tagOf(one)));
  const packed = pack(
    wanted.map((one) => one.folder),
    { root: ROOT, to: folder },
  );
  for (const { name, version, file, size } of packed) {
    const what = `${name}@${version} (${Math.round(size / 1_024)} KB)`;
    if (!values.publish) {
      console.log(`  would publish ${what}`);
      continue;
    }
    // A package at a time, with its tag: after a failure, the next run continues with the rest.
    publish(file, { cwd: ROOT, provenance: canSign, stdio: "inherit" });
    if (output("git", "tag", `${name}@${version}`) === undefined)
      throw new Error(`${what} is published, but its tag could not be made`);
    console.log(`  published ${what}`);
  }
}

if (values["set-repository"] !== undefined) {
  setRepository(values["set-repository"]);
} else {
  console.log(
    `release: ${values.publish ? "publishing" : "dry run; `npm run release -- --publish` publishes"}`,
  );
  const known = facts();
  if (!check(known)) {
    console.error("release: nothing was published");
    process.exit(1);
  }
  const folder = mkdtempSync(join(tmpdir(), "sluice-release-"));
  try {
    release(known.releases, folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  console.log(
    values.publish ? "release: done. Push the tags: git push --tags" : "release: nothing was published",
  );
}
