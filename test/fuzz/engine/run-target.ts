import { existsSync, readFileSync } from "node:fs";
import { inspect } from "node:util";
import fc from "fast-check";
import { type Coverage, Reached, startCoverage, stepsOf } from "./coverage.js";
import { mutate } from "./mutate.js";
import { type Random, seededRandom } from "./random.js";
import { shrink } from "./shrink.js";
import type { FuzzTarget, TextTarget, ValueTarget } from "./target.js";

export interface RunOptions {
  readonly runs: number;
  readonly seed: number;
  /** Measures which code inputs reach, and changes those that reached new code. Slower for each input, and finds more in long runs. */
  readonly isGuided: boolean;
  /** One input to replay, as a failure printed it. */
  readonly input?: string;
  /** The place of a failure among the values of a seed, as a failure printed it. */
  readonly path?: string;
}

export interface RunReport {
  readonly runs: number;
  /** Inputs that reached new code, those of the corpus included. Absent if that was not measured. */
  readonly kept?: readonly string[];
}

/** Runs a target. Throws a `FuzzFailure` for the first input that breaks its rule. */
export async function runTarget(target: FuzzTarget, options: RunOptions): Promise<RunReport> {
  const close = await target.open?.();
  try {
    return target.kind === "text" ? await runText(target, options) : await runValues(target, options);
  } finally {
    await close?.();
  }
}

export class FuzzFailure extends Error {
  override readonly name = "FuzzFailure";

  constructor({ name, rule }: FuzzTarget, cause: unknown, input: string, replay: string) {
    const reason = cause instanceof Error ? (cause.stack ?? cause.message) : String(cause);
    super(
      `${name} breaks its rule: ${rule}\n\nInput: ${input}\n\nReplay: npm run fuzz -- --target ${name} ${replay}\n\n${reason}`,
      { cause },
    );
  }
}

// ── Values ───────────────────────────────────────────────────────────────────────────────────────────────

async function runValues(target: ValueTarget, { runs, seed, path }: RunOptions): Promise<RunReport> {
  const property = fc.asyncProperty(target.values, async (value) => {
    await target.check(value);
  });
  const details = await fc.check(property, { numRuns: runs, seed, ...(path === undefined ? {} : { path }) });
  if (!details.failed) return { runs: details.numRuns };
  const shown = inspect(details.counterexample?.[0], {
    depth: 20,
    maxArrayLength: 200,
    maxStringLength: 5_000,
  });
  throw new FuzzFailure(
    target,
    details.errorInstance,
    shown,
    `--seed ${details.seed} --path ${JSON.stringify(details.counterexamplePath)}`,
  );
}

// ── Text ─────────────────────────────────────────────────────────────────────────────────────────────────

/** Inputs between two readings of the coverage, because a reading takes as long as some hundred inputs. */
const BATCH = 256;
const MAX_LENGTH = 4_096;

async function runText(target: TextTarget, options: RunOptions): Promise<RunReport> {
  const { runs, seed, input } = options;
  const known = input === undefined ? ["", ...corpusOf(target.name)] : [JSON.parse(input) as string];
  const guide = options.isGuided ? new Guide(target, seed) : undefined;
  const random = seededRandom(seed);
  const kept = [...known];
  try {
    if (guide === undefined) await runAll(target, known, seed);
    else await guide.newOnesOf(known);
    let done = known.length;
    while (input === undefined && done < runs) {
      const batch = nextBatch(kept, random, target, Math.min(BATCH, runs - done));
      await runAll(target, batch, seed);
      done += batch.length;
      if (guide?.hasNewCode()) kept.push(...(await guide.newOnesOf(batch)));
    }
    return { runs: done, ...(guide === undefined ? {} : { kept }) };
  } finally {
    guide?.stop();
  }
}

async function runAll(target: TextTarget, inputs: readonly string[], seed: number): Promise<void> {
  for (const input of inputs) {
    try {
      await target.check(input);
    } catch (error) {
      await failWith(target, input, seed, error);
    }
  }
}

async function failWith(target: TextTarget, input: string, seed: number, error: unknown): Promise<never> {
  let cause = error;
  const smallest = await shrink(input, async (candidate) => {
    try {
      await target.check(candidate);
      return false;
    } catch (smaller) {
      cause = smaller;
      return true;
    }
  });
  throw failureOf(target, smallest, seed, cause);
}

function failureOf(target: TextTarget, input: string, seed: number, cause: unknown): FuzzFailure {
  const json = JSON.stringify(input);
  const shown = `${json} (found with seed ${seed})`;
  return new FuzzFailure(target, cause, shown, `--input '${json.replaceAll("'", "\\u0027")}'`);
}

/** The inputs of `corpus/NAME.json`. */
export function corpusOf(name: string): readonly string[] {
  const file = new URL(`../corpus/${name}.json`, import.meta.url);
  return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as string[]) : [];
}

function nextBatch(kept: readonly string[], random: Random, target: TextTarget, length: number): string[] {
  const { alphabet, dictionary = [], maxLength = MAX_LENGTH } = target;
  return Array.from({ length }, () => {
    // One in two comes from the latest finds: there is the most left to find around them.
    const base = random.chance(2) ? random.pick(kept.slice(-16)) : random.pick(kept);
    return mutate(base, kept, random, { alphabet, dictionary, maxLength });
  });
}

/** Runs inputs, and knows which code they have reached together. */
class Guide {
  readonly #target: TextTarget;
  readonly #seed: number;
  readonly #coverage: Coverage = startCoverage();
  readonly #reached = new Reached();

  constructor(target: TextTarget, seed: number) {
    this.#target = target;
    this.#seed = seed;
  }

  stop(): void {
    this.#coverage.stop();
  }

  hasNewCode(): boolean {
    return this.#reached.hasNewCode(this.#coverage.take());
  }

  /** The inputs of a batch that reach new code. Searches by halves, because a reading is slow. */
  async newOnesOf(batch: readonly string[]): Promise<string[]> {
    await runAll(this.#target, batch, this.#seed);
    const reached = this.#coverage.take();
    if (!this.#reached.hasNewCode(reached)) return [];
    const [only] = batch;
    if (batch.length === 1 && only !== undefined) {
      this.#reached.add(reached);
      if (this.#target.isLinear !== false) await this.#checkGrowth(only);
      return [only];
    }
    const middle = Math.ceil(batch.length / 2);
    return [
      ...(await this.newOnesOf(batch.slice(0, middle))),
      ...(await this.newOnesOf(batch.slice(middle))),
    ];
  }

  /** Repeats parts of an input: twice as many repetitions may take about twice as many steps. */
  async #checkGrowth(input: string): Promise<void> {
    for (const { before, middle, after } of partsOf(input)) {
      const times = Math.ceil(500 / middle.length);
      const steps: number[] = [];
      for (const count of [times, times * 4]) {
        await runAll(this.#target, [before + middle.repeat(count) + after], this.#seed);
        steps.push(stepsOf(this.#coverage.take()));
      }
      const [short = 0, long = 0] = steps;
      // Four times the input: linear work takes four times the steps, quadratic work sixteen times.
      if (long > 7 * short + 20_000) {
        const cause = new Error(
          `Not linear: ${times} repetitions take ${short} steps, ${times * 4} take ${long}`,
        );
        throw failureOf(this.#target, before + middle.repeat(times * 4) + after, this.#seed, cause);
      }
    }
  }
}

/** Parts of an input to repeat: the whole, and its middle. */
function partsOf(input: string): { before: string; middle: string; after: string }[] {
  if (input === "") return [];
  const at = Math.floor(input.length / 2);
  return [
    { before: "", middle: input, after: "" },
    { before: input.slice(0, at), middle: input.slice(at, at + 2), after: input.slice(at + 2) },
    { before: input.slice(0, -1), middle: input.slice(-1), after: "" },
  ];
}
