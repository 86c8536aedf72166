// `npm run verify` runs all checks. Contributors run it before a push, and CI runs it for every push.
// `npm run verify -- --only types,lint` runs some steps, `--except tests` skips some.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { cleanCommit, noteVerified } from "./release/verified.mjs";

const published = ["packages", "apps"]
  .flatMap((parent) => readdirSync(parent).map((name) => `${parent}/${name}`))
  .filter((folder) => {
    const manifest = JSON.parse(readFileSync(`${folder}/package.json`, "utf8"));
    return manifest.private !== true && manifest.exports !== undefined;
  });

const typed = ["packages", "apps", "test"]
  .flatMap((parent) => readdirSync(parent).map((name) => `${parent}/${name}`))
  .filter((folder) => existsSync(`${folder}/tsconfig.json`));

/**
 * TypeScript 7, a sixth of the time of TypeScript 6. That one stays for the tools which need the
 * compiler's JavaScript interface: tsup for declarations, and the tests that read sources.
 */
const NATIVE_COMPILER = "node_modules/typescript-native/bin/tsc";

/** Commands of a step that run at the same time. They wait for files and for npm more than they compute. */
const AT_ONCE = 2;

/** The steps and their commands. The first command that fails ends its step. */
const STEPS = {
  lint: [["biome", "ci", "--error-on-warnings", "."]],
  types: typed.map((folder) => ["node", NATIVE_COMPILER, "-p", folder]),
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

/** What commands print at the same time would be mixed, so with several it comes when a command ends. */
async function run([command, ...args], isAlone) {
  const child = spawn(command, args, {
    stdio: isAlone ? "inherit" : ["ignore", "pipe", "pipe"],
    env: { ...process.env, TURBO_TELEMETRY_DISABLED: "1" },
  });
  const printed = [];
  for (const output of [child.stdout, child.stderr]) output?.on("data", (chunk) => printed.push(chunk));
  const [status] = await once(child, "close").catch((error) => [error.message]);
  process.stdout.write(Buffer.concat(printed));
  if (status !== 0) console.error(`verify: ${command} ${args.join(" ")} exited with ${status}`);
  return status === 0;
}

async function runAll(commands) {
  const left = [...commands];
  let isGood = true;
  const worker = async () => {
    for (let next = left.shift(); isGood && next !== undefined; next = left.shift())
      if (!(await run(next, commands.length === 1))) isGood = false;
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return isGood;
}

const steps = requestedSteps(process.argv.slice(2));
const commit = cleanCommit(".");
const failed = [];
for (const name of steps) {
  const startedAt = performance.now();
  console.log(`\n── ${name}`);
  const isGood = await runAll(STEPS[name]);
  console.log(
    `── ${name}: ${isGood ? "passed" : "FAILED"} in ${((performance.now() - startedAt) / 1_000).toFixed(1)} s`,
  );
  if (!isGood) failed.push(name);
}
if (failed.length > 0) {
  console.error(`\nverify: ${failed.join(", ")} failed`);
  process.exit(1);
}
if (steps.length === Object.keys(STEPS).length) noteVerified(".", commit);
console.log("\nverify: all steps passed");
