import { describe, expect, it } from "vitest";
import { explainFailure } from "./explain-failure.js";
import { runScenario } from "./run-scenario.js";
import { generate } from "./scenario/generate.js";
import type { Scenario } from "./scenario/scenario.js";

/** `npm run simulate` runs more. */
const LAST = 200;
const A_TEST = 50;

const run = (scenario: Scenario) => runScenario(scenario);

describe("the promises hold in a simulated world", { timeout: 300_000 }, () => {
  for (let first = 1; first <= LAST; first += A_TEST) {
    const last = first + A_TEST - 1;
    it(`with the seeds ${first} to ${last}`, async () => {
      for (let seed = first; seed <= last; seed++) {
        const scenario = generate(seed);
        const result = await run(scenario);
        if (result.violations.length > 0) expect.fail(await explainFailure(scenario, result, run));
      }
    });
  }
});
