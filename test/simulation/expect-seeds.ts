import { expect } from "vitest";
import { explainFailure } from "./explain-failure.js";
import { runScenario } from "./run-scenario.js";
import { generate } from "./scenario/generate.js";
import type { Scenario } from "./scenario/scenario.js";

/** Runs the seeds from the first to the last. Every invariant holds in each of them. */
export async function expectSeeds(first: number, last: number): Promise<void> {
  const run = (scenario: Scenario) => runScenario(scenario);
  for (let seed = first; seed <= last; seed++) {
    const scenario = generate(seed);
    const result = await run(scenario);
    if (result.violations.length > 0) expect.fail(await explainFailure(scenario, result, run));
  }
}
