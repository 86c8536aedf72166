import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { changeOf, judge, scoreOf } from "./judge.mjs";
import { MODULES, NOT_BRANCHES } from "./modules.mjs";
import {
  differenceFrom,
  rowOf,
  SCORES_PAGE,
  storedScores,
  TABLE_HEAD,
  totalOf,
  withScores,
} from "./stored-scores.mjs";

/**
 * `npm run mutate -- MODULE… --check`: mutates modules, or groups of them, in a copy of the sources, and prints what no test noticed.
 * `--write` stores the scores, `--workers 2` tests two mutants at a time. Without a name: the modules without a group.
 */
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    check: { type: "boolean", default: false },
    write: { type: "boolean", default: false },
    workers: { type: "string", default: "1" },
  },
});
const names = MODULES.map(({ name }) => name);
const groups = [...new Set(MODULES.flatMap(({ group }) => group ?? []))];
const unknown = positionals.find((name) => !names.includes(name) && !groups.includes(name));
if (unknown !== undefined)
  stop(`Unknown module "${unknown}". Modules: ${names.join(", ")}. Groups: ${groups.join(", ")}.`);
const isChosen = ({ name, group }) =>
  positionals.length === 0 ? group === undefined : positionals.some((one) => one === name || one === group);
const concurrency = Number(values.workers);
if (!Number.isInteger(concurrency) || concurrency < 1)
  stop(`--workers must be a whole number from 1, not "${values.workers}".`);
const { Stryker } = await import("@stryker-mutator/core").catch(() =>
  stop("Stryker is not installed. Run `npm run mutation:install`, which adds 63 MB to test/mutation."),
);
const explained = JSON.parse(readFileSync(new URL("explained.json", import.meta.url), "utf8"));

const scores = [];
for (const module of MODULES.filter(isChosen)) {
  console.error(`${module.name} …`);
  const mutants = await mutate(module);
  const score = scoreOf(module, mutants, explained);
  report(judge(mutants, explained, module.files), values.write ? undefined : differenceOf(score));
  scores.push(score);
  console.log(`${rowOf(score)}\n`);
  const on = new Date().toISOString().slice(0, 10);
  if (values.write) writeFileSync(SCORES_PAGE, withScores(scoresPage(), [{ ...score, on }], names));
}
console.log([...TABLE_HEAD, ...scores.map(rowOf), rowOf(totalOf(scores))].join("\n"));

function stop(message) {
  console.error(message);
  process.exit(2);
}

function scoresPage() {
  return readFileSync(SCORES_PAGE, "utf8");
}

function differenceOf(score) {
  return differenceFrom(storedScores(scoresPage()).get(score.name), score);
}

function report({ survivors, stale }, difference) {
  for (const { file, line, was, becomes } of survivors)
    console.log(`${file}:${line}\n  - ${was}\n  + ${becomes}\n`);
  for (const { file, was, becomes } of stale)
    console.log(`${file}: explained, but no such mutant survives\n  - ${was}\n  + ${becomes}\n`);
  if (difference !== undefined) console.log(`${difference}\n`);
  const isGood = survivors.length + stale.length === 0 && difference === undefined;
  if (values.check && !isGood) process.exitCode = 1;
}

/** One Stryker run a module: constants at the top of a file need all tests of the run for each of their mutants. */
async function mutate({ group, files, tests }) {
  const copy = mkdtempSync(join(tmpdir(), "sluice-mutation-"));
  process.env.SLUICE_MUTATION_TESTS = tests.join(",");
  try {
    const results = await new Stryker({
      mutate: [...files],
      testRunner: "vitest",
      plugins: [import.meta.resolve("@stryker-mutator/vitest-runner")],
      vitest: { configFile: "test/mutation/vitest.config.ts", related: false },
      ...(group === undefined ? {} : { mutator: { excludedMutations: NOT_BRANCHES } }),
      coverageAnalysis: "perTest",
      disableTypeChecks: false,
      concurrency,
      timeoutMS: 10_000,
      reporters: ["progress-append-only"],
      logLevel: "error",
      tempDirName: copy,
      ignorePatterns: [
        "**",
        "!packages/**",
        "!apps/collector/**",
        "!docs/**",
        "!test/mutation/**",
        "!scripts/**",
        "!*.ts",
        "!*.json",
      ],
    }).runMutationTest();
    return results.map((result) => ({
      ...changeOf(result, readFileSync(result.fileName, "utf8"), process.cwd()),
      status: result.status,
    }));
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}
