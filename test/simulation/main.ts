import { readFileSync } from "node:fs";
import { triedIn } from "./count-steps.js";
import { explainFailure, replayCommand, violationLines } from "./explain-failure.js";
import { type Options, readOptions, USAGE } from "./read-options.js";
import { type RunResult, runScenario } from "./run-scenario.js";
import { generate } from "./scenario/generate.js";
import type { Scenario } from "./scenario/scenario.js";

const DAY_MS = 86_400_000;
const options = optionsOrEnd();

function optionsOrEnd(): Options {
  try {
    return readOptions(process.argv.slice(2));
  } catch (error) {
    console.error(`simulate: ${(error as Error).message}\n\n${USAGE}`);
    process.exit(2);
  }
}

/** A run that throws is a failure, too. */
async function run(scenario: Scenario, print?: (line: string) => void): Promise<RunResult> {
  try {
    const result = await runScenario(scenario, print === undefined ? {} : { print });
    const { invariant: only } = options;
    const violations = result.violations.filter(({ invariant }) => only === undefined || invariant === only);
    return { ...result, violations };
  } catch (error) {
    const violations = [{ invariant: "runs-to-its-end", what: String(error) }];
    return { seed: scenario.seed, violations, traceHash: "", simulatedMs: 0, messages: 0, posts: 0 };
  }
}

function show({ violations }: RunResult): void {
  for (const line of violationLines(violations)) console.log(line);
}

async function replay(scenario: Scenario): Promise<void> {
  const result = await run(scenario, (line) => console.log(line));
  console.log(`trace ${result.traceHash}; ${result.messages} messages, ${result.posts} requests to webhooks`);
  show(result);
  if (result.violations.length > 0) process.exitCode = 1;
}

async function reportFailure(scenario: Scenario, failed: RunResult): Promise<void> {
  process.exitCode = 1;
  if (!options.shrinks) {
    console.log(`seed ${scenario.seed} fails:`);
    show(failed);
    console.log(`replay it: ${replayCommand(scenario)}`);
  } else console.log(await explainFailure(scenario, failed, (candidate) => run(candidate)));
}

async function runSeeds(first: number, count: number): Promise<void> {
  const beganMs = performance.now();
  const sum = { simulatedMs: 0, messages: 0, posts: 0 };
  const played: Scenario[] = [];
  for (let seed = first; seed < first + count; seed++) {
    const scenario = generate(seed, options);
    const result = await run(scenario);
    played.push(scenario);
    sum.simulatedMs += result.simulatedMs;
    sum.messages += result.messages;
    sum.posts += result.posts;
    if (result.violations.length === 0) continue;
    await reportFailure(scenario, result);
    if (!options.keepsGoing) break;
  }
  const tookS = (performance.now() - beganMs) / 1_000;
  const days = sum.simulatedMs / DAY_MS;
  console.log(
    `${played.length} seeds, ${days.toFixed(0)} simulated days in ${tookS.toFixed(1)} s: ${(days / tookS).toFixed(1)} days a second; ` +
      `${sum.messages} messages, ${sum.posts} requests to webhooks`,
  );
  for (const line of triedIn(played)) console.log(line);
}

if (options.wantsHelp) console.log(USAGE);
else if (options.scenario !== undefined)
  await replay(JSON.parse(readFileSync(options.scenario, "utf8")) as Scenario);
else if (options.replay !== undefined) await replay(generate(options.replay, options));
else await runSeeds(options.seed, options.seeds);
