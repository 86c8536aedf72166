/**
 * `npm run verify` notes the commit for which all its steps passed. Publishing asks for that note, so that seven packages are
 * verified once and not seven times.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

const STAMP = "node_modules/.cache/sluice-verified";

function git(root, ...args) {
  const { status, stdout } = spawnSync("git", args, { cwd: root, encoding: "utf8" });
  return status === 0 ? stdout.trim() : undefined;
}

/** The commit whose files the tree has; undefined if a file differs, or outside of a repository. */
export function cleanCommit(root) {
  return git(root, "status", "--porcelain") === "" ? git(root, "rev-parse", "HEAD") : undefined;
}

/** Notes that all checks have passed. `commit` is what `cleanCommit` said before they ran. */
export function noteVerified(root, commit) {
  if (commit === undefined || cleanCommit(root) !== commit) return;
  const file = join(root, STAMP);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${commit}\n`);
}

/** What is missing before this tree may be published; undefined if nothing is. */
export function missingVerification(root) {
  const commit = cleanCommit(root);
  if (commit === undefined)
    return "The working tree has changes that are not committed. Commit them, then run `npm run verify`.";
  if (verifiedCommit(root) !== commit)
    return `\`npm run verify\` has not passed at this commit (${commit.slice(0, 9)}). Run it, all steps at once.`;
  return undefined;
}

function verifiedCommit(root) {
  try {
    return readFileSync(join(root, STAMP), "utf8").trim();
  } catch {
    return undefined;
  }
}
