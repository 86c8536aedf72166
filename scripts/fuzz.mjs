// `npm run fuzz` gives parsers many inputs. `npm run fuzz -- --target urls,csv-round-trip --runs 100000 --seed 7`; a failure
// prints the command that replays it. With `--blind` it does not measure which code the inputs reach: many more inputs, changed at random.
import { spawnSync } from "node:child_process";
import { parseArgs } from "node:util";

const { values } = parseArgs({
  options: {
    target: { type: "string" },
    runs: { type: "string", default: "20000" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    input: { type: "string" },
    path: { type: "string" },
    blind: { type: "boolean", default: false },
  },
});
const { target, runs, seed, input, path, blind } = values;
for (const [name, value] of Object.entries({ runs, seed })) {
  if (/^-?\d{1,15}$/.test(value)) continue;
  console.error(`fuzz: --${name} must be a whole number, got ${value}`);
  process.exit(2);
}
console.log(`Seed ${seed}, ${runs} inputs for each target`);
const { status } = spawnSync(
  "vitest",
  ["run", "--config", "vitest.workspace.ts", "--project", "repository", "--maxWorkers=1", "test/fuzz/"],
  {
    stdio: "inherit",
    shell: process.platform === "win32",
    env: {
      ...process.env,
      SLUICE_FUZZ_RUNS: runs,
      SLUICE_FUZZ_SEED: seed,
      ...(blind ? { SLUICE_FUZZ_BLIND: "1" } : {}),
      ...(target === undefined ? {} : { SLUICE_FUZZ_TARGETS: target }),
      ...(input === undefined ? {} : { SLUICE_FUZZ_INPUT: input }),
      ...(path === undefined ? {} : { SLUICE_FUZZ_PATH: path }),
    },
  },
);
process.exitCode = status ?? 1;
