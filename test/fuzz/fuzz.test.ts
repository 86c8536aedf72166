import { describe, it } from "vitest";
import { runTarget } from "./engine/run-target.js";
import { TARGETS } from "./targets/index.js";

/** Set by `npm run fuzz`; see scripts/fuzz.mjs. Without them: the short form. */
const { SLUICE_FUZZ_TARGETS, SLUICE_FUZZ_RUNS, SLUICE_FUZZ_SEED } = process.env;
const { SLUICE_FUZZ_INPUT, SLUICE_FUZZ_PATH, SLUICE_FUZZ_BLIND } = process.env;
const names = SLUICE_FUZZ_TARGETS?.split(",");
for (const name of names ?? []) {
  if (TARGETS.some((target) => target.name === name)) continue;
  throw new Error(`There is no target ${name}. Targets: ${TARGETS.map((target) => target.name).join(", ")}`);
}
const targets = TARGETS.filter(({ name }) => names?.includes(name) ?? true);

describe.each(targets)("$name", (target) => {
  it(target.rule, { timeout: SLUICE_FUZZ_RUNS === undefined ? 120_000 : 0 }, async () => {
    const startedAt = performance.now();
    const { runs, kept } = await runTarget(target, {
      runs: Number(SLUICE_FUZZ_RUNS ?? target.runs),
      seed: Number(SLUICE_FUZZ_SEED ?? 1),
      isGuided: SLUICE_FUZZ_RUNS !== undefined && SLUICE_FUZZ_BLIND === undefined,
      ...(SLUICE_FUZZ_INPUT === undefined ? {} : { input: SLUICE_FUZZ_INPUT }),
      ...(SLUICE_FUZZ_PATH === undefined ? {} : { path: SLUICE_FUZZ_PATH }),
    });
    const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
    if (SLUICE_FUZZ_RUNS === undefined) return;
    const found = kept === undefined ? "" : `, ${kept.length} of them reached new code`;
    process.stderr.write(`${target.name}: ${runs} inputs in ${seconds} s${found}\n`);
  });
});
