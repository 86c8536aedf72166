import type { CharacterSet, Instruction, Pattern } from "./pattern.js";

/**
 * Whether the pattern is found anywhere in the text. Follows all branches side by side, so it takes at most (characters ×
 * instructions) steps; each is reported to `spend`, which throws when there have been enough.
 */
export function matchesPattern(text: string, { program }: Pattern, spend: (steps: number) => void): boolean {
  const threads = new Threads(program, text.length);
  for (let at = 0; ; ) {
    threads.add(0, at);
    spend(threads.takeSteps());
    const codePoint = text.codePointAt(at);
    if (threads.isMatched || codePoint === undefined) return threads.isMatched;
    at += codePoint > 0xffff ? 2 : 1;
    for (const index of threads.takeWaiting()) {
      const instruction = program[index];
      if (instruction?.kind === "take" && isIn(codePoint, instruction.set)) threads.add(index + 1, at);
    }
  }
}

/** The branches of a match: the instructions that wait for the next character. */
class Threads {
  isMatched = false;
  readonly #program: readonly Instruction[];
  readonly #end: number;
  /** For each instruction, the position at which it was added last. */
  readonly #addedAt: Int32Array;
  #waiting: number[] = [];
  #steps = 0;

  constructor(program: readonly Instruction[], end: number) {
    this.#program = program;
    this.#end = end;
    this.#addedAt = new Int32Array(program.length).fill(-1);
  }

  takeSteps(): number {
    const steps = this.#steps;
    this.#steps = 0;
    return steps;
  }

  takeWaiting(): readonly number[] {
    const waiting = this.#waiting;
    this.#waiting = [];
    return waiting;
  }

  /** Adds an instruction, or those that it leads to without taking a character. */
  add(from: number, at: number): void {
    const pending = [from];
    for (let index = pending.pop(); index !== undefined; index = pending.pop()) {
      this.#steps++;
      if (this.#addedAt[index] === at) continue;
      this.#addedAt[index] = at;
      this.#follow(index, at, pending);
    }
  }

  #follow(index: number, at: number, pending: number[]): void {
    const instruction = this.#program[index];
    switch (instruction?.kind) {
      case "jump":
        pending.push(instruction.to);
        return;
      case "fork":
        pending.push(instruction.second, instruction.first);
        return;
      case "start":
        if (at === 0) pending.push(index + 1);
        return;
      case "end":
        if (at === this.#end) pending.push(index + 1);
        return;
      case "take":
        // Looking a character up in a long class takes longer.
        this.#steps += instruction.set.ranges.length >> 3;
        this.#waiting.push(index);
        return;
      default:
        this.isMatched = true;
    }
  }
}

function isIn(codePoint: number, { ranges, isNegated }: CharacterSet): boolean {
  for (const [from, to] of ranges) if (codePoint >= from && codePoint <= to) return !isNegated;
  return isNegated;
}
