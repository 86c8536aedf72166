// `npm run verify` runs all checks. Contributors run it before a push, and CI runs it for every push.
// `npm run verify -- --only types,lint` runs some steps, `--except tests` skips some.
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";

const published = ["packages", "apps"]
  .flatMap((parent) => readdirSync(parent).map((name) => `${parent}/${name}`))
  .filter((folder) => {
    const manifest = JSON.parse(readFileSync(`${folder}/package.json`, "utf8"));
    return manifest.private !== true && manifest.exports !== undefined;
  });

/** The steps and their commands. The first command that fails ends its step. */
const STEPS = {
  lint: [["biome", "ci", "--error-on-warnings", "."]],
  types: [["turbo", "run", "types", "--output-logs=errors-only"]],
  boundaries: [["turbo", "boundaries"]],
  unused: [["knip"]],
  build: [["turbo", "run", "build", "--output-logs=errors-only"]],
  exports: published.flatMap((folder) => [
    ["publint", "--strict", folder],
    ["attw", "--pack", folder, "--profile", readProfile(folder)],
  ]),
  tests: [["vitest", "run", "--config", "vitest.workspace.ts"]],
  examples: [["node", "examples/demo/src/main.mjs", "--kill"]],
};

/** Packages without `main` are ESM only; the others also support CommonJS. */
function readProfile(folder) {
  return JSON.parse(readFileSync(`${folder}/package.json`, "utf8")).main === undefined
    ? "esm-only"
    : "node16";
}

function requestedSteps(args) {
  const names = Object.keys(STEPS);
  const listAfter = (flag) => {
    const at = args.indexOf(flag);
    return at < 0 ? undefined : (args[at + 1] ?? "").split(",");
  };
  const only = listAfter("--only");
  const except = listAfter("--except") ?? [];
  const unknown = [...(only ?? []), ...except].filter((name) => !names.includes(name));
  if (unknown.length > 0) {
    console.error(`verify: unknown step ${unknown.join(", ")}; the steps are ${names.join(", ")}`);
    process.exit(2);
  }
  return (only ?? names).filter((name) => !except.includes(name));
}

const failed = [];
for (const name of requestedSteps(process.argv.slice(2))) {
  const startedAt = performance.now();
  console.log(`\n── ${name}`);
  const isGood = STEPS[name].every(([command, ...args]) => {
    const { status } = spawnSync(command, args, {
      stdio: "inherit",
      env: { ...process.env, TURBO_TELEMETRY_DISABLED: "1" },
    });
    if (status !== 0) console.error(`verify: ${command} ${args.join(" ")} exited with ${status}`);
    return status === 0;
  });
  console.log(
    `── ${name}: ${isGood ? "passed" : "FAILED"} in ${((performance.now() - startedAt) / 1_000).toFixed(1)} s`,
  );
  if (!isGood) failed.push(name);
}
if (failed.length > 0) {
  console.error(`\nverify: ${failed.join(", ")} failed`);
  process.exit(1);
}
console.log("\nverify: all steps passed");
