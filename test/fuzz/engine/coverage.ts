import { Session } from "node:inspector";

type Range = readonly [start: number, end: number];

/** What ran of one function of our sources since the last reading. */
export interface FunctionRun {
  /** File and place. */
  readonly key: string;
  /** How many of its blocks ran, each as often as it ran. */
  readonly steps: number;
  /** The parts that did not run. */
  readonly skipped: readonly Range[];
}

/** Counts the blocks of our sources that run, with V8's precise coverage. A reading takes 2 ms in a small process, and 15 ms in Vitest's: V8 visits the whole heap. */
export interface Coverage {
  /** What ran since the last call. */
  take(): readonly FunctionRun[];
  stop(): void;
}

interface ScriptCoverage {
  readonly url: string;
  readonly functions: readonly {
    readonly ranges: readonly {
      readonly startOffset: number;
      readonly endOffset: number;
      readonly count: number;
    }[];
  }[];
}

const OURS = /\/(?:packages|apps)\/[^/]+\/src\//;

export function startCoverage(): Coverage {
  const session = new Session();
  session.connect();
  const call = (method: string, parameters?: object): unknown => {
    let result: unknown;
    // The inspector of its own thread answers before `post` returns.
    session.post(method, parameters, (error: Error | null, value: unknown) => {
      if (error !== null) throw error;
      result = value;
    });
    return result;
  };
  call("Profiler.enable");
  call("Profiler.startPreciseCoverage", { callCount: true, detailed: true });
  return {
    take() {
      const { result } = call("Profiler.takePreciseCoverage") as { result: readonly ScriptCoverage[] };
      return result.filter(({ url }) => OURS.test(url)).flatMap(functionsOf);
    },
    stop() {
      call("Profiler.stopPreciseCoverage");
      session.disconnect();
    },
  };
}

function functionsOf({ url, functions }: ScriptCoverage): FunctionRun[] {
  return functions.flatMap(({ ranges }) => {
    const [whole] = ranges;
    if (whole === undefined || whole.count === 0) return [];
    return {
      key: `${url}:${whole.startOffset}`,
      steps: ranges.reduce((sum, { count }) => sum + count, 0),
      skipped: ranges
        .filter(({ count }) => count === 0)
        .map(({ startOffset, endOffset }) => [startOffset, endOffset] as const),
    };
  });
}

/** The cost of an input, counted and not measured: how many blocks ran. */
export function stepsOf(functions: readonly FunctionRun[]): number {
  return functions.reduce((sum, { steps }) => sum + steps, 0);
}

/** Which code some inputs have reached together. */
export class Reached {
  /** By function: the parts that never ran. */
  readonly #skipped = new Map<string, readonly Range[]>();

  /** Whether a part ran that has not been added yet. */
  hasNewCode(functions: readonly FunctionRun[]): boolean {
    return functions.some(({ key, skipped }) => {
      const known = this.#skipped.get(key);
      return known === undefined || known.some((range) => !skipped.some((wider) => isWithin(range, wider)));
    });
  }

  add(functions: readonly FunctionRun[]): void {
    for (const { key, skipped } of functions) {
      const known = this.#skipped.get(key);
      this.#skipped.set(
        key,
        known === undefined ? skipped : known.flatMap((range) => common(range, skipped)),
      );
    }
  }
}

function isWithin([start, end]: Range, [widerStart, widerEnd]: Range): boolean {
  return widerStart <= start && end <= widerEnd;
}

function common([start, end]: Range, others: readonly Range[]): Range[] {
  return others
    .map(([otherStart, otherEnd]) => [Math.max(start, otherStart), Math.min(end, otherEnd)] as const)
    .filter(([from, to]) => from < to);
}
