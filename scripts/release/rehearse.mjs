// `npm run release:rehearse` goes through a whole release without the npm registry: it raises the versions from the changesets in
// a clone, builds it, publishes it to a registry on this machine, and uses it as its users do (`test/release`).
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { publishedPackages, ROOT, tagOf } from "./published.mjs";

function run(command, args, { cwd, env = {} }) {
  console.log(`── ${command} ${args.join(" ")}`);
  const { status } = spawnSync(command, args, {
    cwd,
    stdio: "inherit",
    env: { ...process.env, TURBO_TELEMETRY_DISABLED: "1", ...env },
    shell: process.platform === "win32",
  });
  if (status !== 0) throw new Error(`${command} ${args.join(" ")} exited with ${status}`);
}

if (!existsSync(join(ROOT, "test/release/node_modules"))) {
  console.error("release:rehearse: the registry is missing. Run `npm run release:install`.");
  process.exit(1);
}
const folder = mkdtempSync(join(tmpdir(), "sluice-rehearsal-"));
const tree = join(folder, "clone");
try {
  run("git", ["clone", "--quiet", "--local", ROOT, tree], { cwd: folder });
  // Links inside of it are relative, so that they lead to the clone's packages. No file of it is changed.
  run("cp", ["-al", join(ROOT, "node_modules"), tree], { cwd: folder });
  const nested = publishedPackages().map((one) => join(one.folder, "node_modules"));
  for (const modules of nested.filter((path) => existsSync(join(ROOT, path))))
    run("cp", ["-al", join(ROOT, modules), join(tree, modules)], { cwd: folder });
  run("npx", ["--no", "changeset", "version"], { cwd: tree });
  run("git", ["diff", "--stat", "--", "*package.json", "*CHANGELOG.md"], { cwd: tree });
  run("npx", ["--no", "turbo", "run", "build", "--output-logs=errors-only"], { cwd: tree });
  console.log(`── ${publishedPackages(`${tree}/`).map(tagOf).join(", ")}`);
  run(
    "npx",
    ["--no", "vitest", "run", "--config", "vitest.workspace.ts", "--project", "repository", "rehearsal"],
    {
      cwd: ROOT,
      env: { CI: "true", SLUICE_RELEASE_TREE: tree },
    },
  );
} finally {
  rmSync(folder, { recursive: true, force: true });
}
console.log("release:rehearse: passed");
