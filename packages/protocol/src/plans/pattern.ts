/**
 * A regular expression as a program for `match-pattern.ts`. JavaScript's own engine backtracks: a pattern such as `(a+)+$` takes
 * exponential time on a text that a sender chooses. So patterns have only what a matcher without backtracking can do.
 */
export interface Pattern {
  readonly source: string;
  readonly program: readonly Instruction[];
}

export type Instruction =
  /** Takes one character that is in the set. */
  | { readonly kind: "take"; readonly set: CharacterSet }
  /** Goes on at both. */
  | { readonly kind: "fork"; readonly first: number; readonly second: number }
  | { readonly kind: "jump"; readonly to: number }
  /** Goes on only at the beginning or at the end of the text. */
  | { readonly kind: "start" }
  | { readonly kind: "end" }
  | { readonly kind: "match" };

/** Pairs of code points, from and to, both included. */
export interface CharacterSet {
  readonly ranges: readonly (readonly [from: number, to: number])[];
  readonly isNegated: boolean;
}

/** A pattern that cannot be used, with the reason. */
export class PatternError extends Error {}

/** Instructions of a program. A counted group is written out, so `(a{99}){99}` would be long. */
const MAX_INSTRUCTIONS = 1_000;
const MAX_GROUPS_DEEP = 20;

type Node =
  | { readonly kind: "set"; readonly set: CharacterSet }
  | { readonly kind: "start" | "end" }
  | { readonly kind: "sequence"; readonly items: readonly Node[] }
  | { readonly kind: "either"; readonly branches: readonly Node[] }
  | { readonly kind: "repeat"; readonly item: Node; readonly least: number; readonly most: number };

/** Throws a `PatternError`. */
export function compilePattern(source: string): Pattern {
  const node = new PatternReader([...source]).read();
  const program: Instruction[] = [];
  emit(node, program);
  program.push({ kind: "match" });
  return { source, program };
}

const DIGIT: CharacterSet["ranges"] = [[0x30, 0x39]];
const WORD: CharacterSet["ranges"] = [
  [0x30, 0x39],
  [0x41, 0x5a],
  [0x5f, 0x5f],
  [0x61, 0x7a],
];
const SPACE: CharacterSet["ranges"] = [
  [0x09, 0x0d],
  [0x20, 0x20],
  [0xa0, 0xa0],
  [0x1680, 0x1680],
  [0x2000, 0x200a],
  [0x2028, 0x2029],
  [0x202f, 0x202f],
  [0x205f, 0x205f],
  [0x3000, 0x3000],
  [0xfeff, 0xfeff],
];
const ANY: CharacterSet = {
  ranges: [
    [0x0a, 0x0a],
    [0x0d, 0x0d],
    [0x2028, 0x2029],
  ],
  isNegated: true,
};
const CLASSES: Readonly<Record<string, CharacterSet>> = {
  d: { ranges: DIGIT, isNegated: false },
  D: { ranges: DIGIT, isNegated: true },
  w: { ranges: WORD, isNegated: false },
  W: { ranges: WORD, isNegated: true },
  s: { ranges: SPACE, isNegated: false },
  S: { ranges: SPACE, isNegated: true },
};
const CONTROLS: Readonly<Record<string, number>> = { t: 0x09, n: 0x0a, v: 0x0b, f: 0x0c, r: 0x0d, "0": 0x00 };

/** A recursive descent over the characters of a pattern. */
class PatternReader {
  readonly #characters: readonly string[];
  #at = 0;
  #depth = 0;

  constructor(characters: readonly string[]) {
    this.#characters = characters;
  }

  read(): Node {
    const node = this.#either();
    if (this.#at < this.#characters.length) throw new PatternError("`)` closes no group");
    return node;
  }

  get #next(): string | undefined {
    return this.#characters[this.#at];
  }

  #skip(character: string): boolean {
    if (this.#next !== character) return false;
    this.#at++;
    return true;
  }

  #either(): Node {
    const branches = [this.#sequence()];
    while (this.#skip("|")) branches.push(this.#sequence());
    return branches.length === 1 ? (branches[0] as Node) : { kind: "either", branches };
  }

  #sequence(): Node {
    const items: Node[] = [];
    while (this.#next !== undefined && this.#next !== "|" && this.#next !== ")") items.push(this.#repeated());
    return { kind: "sequence", items };
  }

  #repeated(): Node {
    const item = this.#single();
    const count = this.#count();
    if (count === undefined) return item;
    // Lazy or not makes no difference to whether a text matches.
    this.#skip("?");
    if (this.#count() !== undefined) throw new PatternError("two quantifiers follow each other");
    return { kind: "repeat", item, ...count };
  }

  #count(): { least: number; most: number } | undefined {
    if (this.#skip("*")) return { least: 0, most: Number.POSITIVE_INFINITY };
    if (this.#skip("+")) return { least: 1, most: Number.POSITIVE_INFINITY };
    if (this.#skip("?")) return { least: 0, most: 1 };
    if (this.#next !== "{") return undefined;
    const close = this.#characters.indexOf("}", this.#at);
    const text = this.#characters.slice(this.#at + 1, close === -1 ? this.#at : close).join("");
    const [, least = "", comma, most = ""] = /^(\d{1,4})(,)?(\d{0,4})$/.exec(text) ?? [];
    if (least === "") throw new PatternError("`{` must be escaped, or begin a count such as {2} or {1,3}");
    this.#at = close + 1;
    const count = {
      least: Number(least),
      most: most !== "" ? Number(most) : comma ? Number.POSITIVE_INFINITY : Number(least),
    };
    if (count.most < count.least) throw new PatternError(`{${text}} counts down`);
    return count;
  }

  #single(): Node {
    const character = this.#characters[this.#at++] as string;
    switch (character) {
      case "^":
        return { kind: "start" };
      case "$":
        return { kind: "end" };
      case ".":
        return { kind: "set", set: ANY };
      case "(":
        return this.#group();
      case "[":
        return { kind: "set", set: this.#class() };
      case "\\":
        return { kind: "set", set: this.#escape() };
      case "*":
      case "+":
      case "?":
      case "{":
        throw new PatternError(`there is nothing before \`${character}\` to repeat`);
      default:
        return { kind: "set", set: only(character.codePointAt(0) as number) };
    }
  }

  #group(): Node {
    if (this.#skip("?") && !this.#skip(":"))
      throw new PatternError(
        "groups that begin with `(?` are not supported, except `(?:`: no look-around, no names",
      );
    if (++this.#depth > MAX_GROUPS_DEEP) throw new PatternError("its groups are nested too deep");
    const node = this.#either();
    if (!this.#skip(")")) throw new PatternError("a group is not closed");
    this.#depth--;
    return node;
  }

  #class(): CharacterSet {
    const isNegated = this.#skip("^");
    const ranges: (readonly [number, number])[] = [];
    while (!this.#skip("]")) {
      const from = this.#member();
      if (this.#next === "-" && this.#characters[this.#at + 1] !== "]") {
        this.#at++;
        ranges.push(rangeOf(from, this.#member()));
      } else if (from.isNegated) throw new PatternError("a class may not hold \\D, \\W or \\S");
      else ranges.push(...from.ranges);
    }
    return { ranges, isNegated };
  }

  #member(): CharacterSet {
    const character = this.#characters[this.#at++];
    if (character === undefined) throw new PatternError("`[` is not closed");
    return character === "\\" ? this.#escape() : only(character.codePointAt(0) as number);
  }

  #escape(): CharacterSet {
    const character = this.#characters[this.#at++];
    if (character === undefined) throw new PatternError("it ends with a backslash");
    const named = CLASSES[character];
    if (named !== undefined) return named;
    const control = CONTROLS[character];
    if (control !== undefined) return only(control);
    if (character === "x") return only(this.#hex(2));
    if (character === "u") return only(this.#unicode());
    if (/[a-zA-Z1-9]/.test(character))
      throw new PatternError(
        `\`\\${character}\` is not supported: no back references, no word boundaries, no \\p`,
      );
    return only(character.codePointAt(0) as number);
  }

  /** The escapes of both halves of a surrogate pair are one character, as in JavaScript with the flag `u`. */
  #unicode(): number {
    const high = this.#hex(4);
    const after = this.#at;
    if (high < 0xd800 || high > 0xdbff || !this.#skip("\\") || !this.#skip("u")) {
      this.#at = after;
      return high;
    }
    const low = this.#hex(4);
    if (low >= 0xdc00 && low <= 0xdfff) return 0x10000 + (high - 0xd800) * 0x400 + (low - 0xdc00);
    this.#at = after;
    return high;
  }

  #hex(length: number): number {
    const digits = this.#characters.slice(this.#at, this.#at + length).join("");
    if (!/^[\da-fA-F]+$/.test(digits) || digits.length !== length)
      throw new PatternError("an escape lacks hex digits");
    this.#at += length;
    return Number.parseInt(digits, 16);
  }
}

function only(codePoint: number): CharacterSet {
  return { ranges: [[codePoint, codePoint]], isNegated: false };
}

function rangeOf(from: CharacterSet, to: CharacterSet): readonly [number, number] {
  const [first, ...moreFrom] = from.ranges;
  const [last, ...moreTo] = to.ranges;
  const isRange = first !== undefined && last !== undefined && moreFrom.length + moreTo.length === 0;
  if (!isRange || from.isNegated || to.isNegated || first[0] !== first[1] || last[0] !== last[1])
    throw new PatternError("a range in a class must go from one character to another");
  if (first[0] > last[0]) throw new PatternError("a range in a class is out of order");
  return [first[0], last[0]];
}

function emit(node: Node, program: Instruction[]): void {
  if (program.length > MAX_INSTRUCTIONS)
    throw new PatternError("it is too long when its counts are written out");
  switch (node.kind) {
    case "set":
      program.push({ kind: "take", set: node.set });
      return;
    case "start":
    case "end":
      program.push({ kind: node.kind });
      return;
    case "sequence":
      for (const item of node.items) emit(item, program);
      return;
    case "either":
      emitEither(node.branches, program);
      return;
    case "repeat":
      emitRepeat(node, program);
      return;
    default:
      node satisfies never;
  }
}

function emitEither(branches: readonly Node[], program: Instruction[]): void {
  const ends: number[] = [];
  for (const [index, branch] of branches.entries()) {
    const fork = program.length;
    const isLast = index === branches.length - 1;
    if (!isLast) program.push({ kind: "jump", to: 0 });
    emit(branch, program);
    if (isLast) break;
    ends.push(program.length);
    program.push({ kind: "jump", to: 0 });
    program[fork] = { kind: "fork", first: fork + 1, second: program.length };
  }
  for (const end of ends) program[end] = { kind: "jump", to: program.length };
}

function emitRepeat(node: Extract<Node, { kind: "repeat" }>, program: Instruction[]): void {
  const { item, least, most } = node;
  for (let i = 0; i < least; i++) {
    const before = program.length;
    emit(item, program);
    // An empty group matches as often as wanted. Nested counts of it, such as `((){9999}){9999}`, would take forever to write out.
    if (program.length === before) break;
  }
  if (most === Number.POSITIVE_INFINITY) {
    const loop = program.length;
    program.push({ kind: "jump", to: 0 });
    emit(item, program);
    program.push({ kind: "jump", to: loop });
    program[loop] = { kind: "fork", first: loop + 1, second: program.length };
    return;
  }
  const forks: number[] = [];
  for (let i = least; i < most; i++) {
    forks.push(program.length);
    program.push({ kind: "jump", to: 0 });
    emit(item, program);
  }
  for (const fork of forks) program[fork] = { kind: "fork", first: fork + 1, second: program.length };
}
