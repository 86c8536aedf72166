import type fc from "fast-check";
import type { Alphabet } from "./mutate.js";

interface AnyTarget {
  readonly name: string;
  /** What must hold for every input, in one sentence. */
  readonly rule: string;
  /** Inputs of the short form, which `npm test` runs. Choose them so that a target takes about a second. */
  readonly runs: number;
  /** Called once before the first input. The result closes what it opened. */
  readonly open?: () => Promise<() => Promise<void>>;
}

/** A parser of text or bytes. New inputs are changed copies of those that reached new code. */
export interface TextTarget extends AnyTarget {
  readonly kind: "text";
  readonly alphabet: Alphabet;
  readonly dictionary?: readonly string[];
  readonly maxLength?: number;
  /** Throws if the rule is broken. For `bytes`, each character is a byte. */
  readonly check: (input: string) => void | Promise<void>;
  /** Twice the input may take about twice the steps. `false` where the work is bounded in another way. Default: true. */
  readonly isLinear?: boolean;
}

/** Something that takes values. fast-check makes and shrinks them. */
export interface ValueTarget<T = unknown> extends AnyTarget {
  readonly kind: "values";
  readonly values: fc.Arbitrary<T>;
  readonly check: (input: T) => void | Promise<void>;
}

export type FuzzTarget = TextTarget | ValueTarget;

export function textTarget(target: Omit<TextTarget, "kind">): FuzzTarget {
  return { kind: "text", ...target };
}

export function valueTarget<T>(target: Omit<ValueTarget<T>, "kind">): FuzzTarget {
  return { kind: "values", ...target } as FuzzTarget;
}
