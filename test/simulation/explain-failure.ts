import { writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { RunResult, Violation } from "./run-scenario.js";
import type { Scenario } from "./scenario/scenario.js";
import { shrink } from "./shrink.js";

/** How many violations of a run are shown. */
const SHOWN = 5;

export function violationLines(violations: readonly Violation[]): string[] {
  const lines = violations.slice(0, SHOWN).map(({ invariant, what }) => `  ${invariant}: ${what}`);
  return violations.length > SHOWN ? [...lines, `  and ${violations.length - SHOWN} more`] : lines;
}

/** Store and theme are named because a seed has others if it may choose. */
export function replayCommand({ seed, store, theme, workers }: Scenario): string {
  return `npm run simulate -- --store ${store} --theme ${theme} --workers ${workers} --replay ${seed}`;
}

/** Says what failed, the smallest scenario that still fails, and the command that replays it. */
export async function explainFailure(
  scenario: Scenario,
  failed: RunResult,
  run: (scenario: Scenario) => Promise<RunResult>,
): Promise<string> {
  const invariants = new Set(failed.violations.map(({ invariant }) => invariant));
  const smallest = await shrink(scenario, async (candidate) =>
    (await run(candidate)).violations.some(({ invariant }) => invariants.has(invariant)),
  );
  const file = join(tmpdir(), `sluice-simulation-seed-${scenario.seed}.json`);
  writeFileSync(file, `${JSON.stringify(smallest, null, 2)}\n`);
  return [
    `seed ${scenario.seed} fails:`,
    ...violationLines(failed.violations),
    `the smallest scenario that fails, ${smallest.steps.length} of ${scenario.steps.length} steps:`,
    ...smallest.steps.map((step) => `  ${JSON.stringify(step)}`),
    ...violationLines((await run(smallest)).violations),
    `replay it: npm run simulate -- --scenario ${file}`,
    `or all of it: ${replayCommand(scenario)}`,
  ].join("\n");
}
