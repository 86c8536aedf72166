import { parseArgs } from "node:util";
import { INVARIANTS } from "./invariants/index.js";
import type { Scenario } from "./scenario/scenario.js";

export const USAGE = `npm run simulate -- [options]

  --seeds N       how many seeds to run (default: 100)
  --seed S        the first seed (default: 1)
  --replay S      run one seed and print everything that happens
  --scenario F    the same for a scenario in a file, as a failure leaves it
  --store S       the store of all runs: memory, embedded or replicated (default: the seed decides)
  --workers N     how many threads of the collector work in runs with the embedded store (default: the seed decides)
  --theme T       what all runs are about: any, people, deletions or waits (default: the seed decides)
  --invariant I   only this invariant
  --keep-going    do not stop at the first seed that fails
  --no-shrink     do not look for the smallest scenario that fails`;

export interface Options {
  readonly seeds: number;
  readonly seed: number;
  readonly replay: number | undefined;
  readonly scenario: string | undefined;
  readonly store: Scenario["store"] | undefined;
  readonly theme: Scenario["theme"] | undefined;
  /** Undefined: the seed decides. */
  readonly workers: number | undefined;
  readonly invariant: string | undefined;
  readonly keepsGoing: boolean;
  readonly shrinks: boolean;
  readonly wantsHelp: boolean;
}

const STORES: readonly Scenario["store"][] = ["memory", "embedded", "replicated"];
const THEMES: readonly Scenario["theme"][] = ["any", "people", "deletions", "waits"];
const NAMES: readonly string[] = INVARIANTS.map(({ name }) => name);

/** Throws an error with a sentence for the user: a misspelled option must not look like a run in which nothing failed. */
export function readOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      seeds: { type: "string", default: "100" },
      seed: { type: "string", default: "1" },
      replay: { type: "string" },
      scenario: { type: "string" },
      store: { type: "string" },
      theme: { type: "string" },
      workers: { type: "string" },
      invariant: { type: "string" },
      "keep-going": { type: "boolean", default: false },
      "no-shrink": { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  const { replay, scenario, store, theme, workers, invariant } = values;
  return {
    seeds: wholeNumber("seeds", values.seeds),
    seed: wholeNumber("seed", values.seed),
    replay: replay === undefined ? undefined : wholeNumber("replay", replay),
    scenario,
    store: store === undefined ? undefined : oneOf("store", store, STORES),
    theme: theme === undefined ? undefined : oneOf("theme", theme, THEMES),
    workers: workers === undefined ? undefined : wholeNumber("workers", workers),
    invariant: invariant === undefined ? undefined : oneOf("invariant", invariant, NAMES),
    keepsGoing: values["keep-going"],
    shrinks: !values["no-shrink"],
    wantsHelp: values.help,
  };
}

function wholeNumber(name: string, text: string): number {
  if (!/^[1-9]\d{0,14}$/.test(text))
    throw new Error(`--${name} is ${text}; it must be a whole number from 1`);
  return Number(text);
}

function oneOf<T extends string>(name: string, text: string, known: readonly T[]): T {
  const found = known.find((one) => one === text);
  if (found === undefined) throw new Error(`--${name} is ${text}; it must be one of ${known.join(", ")}`);
  return found;
}
