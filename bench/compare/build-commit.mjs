import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/**
 * Builds a commit in a folder of its own below the system's temporary folder, and returns the folder. A commit is built once. Throws if
 * there is no such commit, or if its build fails.
 */
export function buildCommit(name) {
  const commit = execFileSync("git", ["rev-parse", "--verify", `${name}^{commit}`], {
    encoding: "utf8",
  }).trim();
  const folder = join(tmpdir(), "sluice-bench", commit);
  const done = join(folder, ".built");
  if (existsSync(done)) return { commit, folder };
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const files = execFileSync("git", ["archive", commit], { maxBuffer: 2 ** 30 });
  execFileSync("tar", ["-x", "-C", folder], { input: files });
  const run = (command, args) => execFileSync(command, args, { cwd: folder, stdio: ["ignore", 2, 2] });
  run("npm", ["ci", "--no-audit", "--no-fund"]);
  run("npx", ["turbo", "run", "build", "--filter=@sluice/collector", "--filter=@sluice/node"]);
  writeFileSync(done, "");
  return { commit, folder };
}
