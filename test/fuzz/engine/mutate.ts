import type { Random } from "./random.js";

/** `bytes`: each character of an input stands for one byte. `text`: any UTF-16 code unit, lone surrogates too. */
export type Alphabet = "bytes" | "text";

export interface Mutator {
  readonly alphabet: Alphabet;
  /** Words that the parser knows: random characters would not find them. */
  readonly dictionary: readonly string[];
  readonly maxLength: number;
}

/** Characters that parsers treat differently from their neighbours. */
const EDGES = "\0\t\n\v\f\r\x1b !\"#$%&'()*+,-./0189:;<=>?@AZ[\\]^_`az{|}~\x7f\x80\x9b\xa0\xad\xff";
const WIDE_EDGES =
  "\u0130\u017f\u212a\u200b\u200f\u2028\u202e\ufeff\uff0e\u3002\u2460\ud83d\ude00\ud800\udfff\uffff";
const NUMBERS = [
  "0",
  "-0",
  "-1",
  "00",
  "007",
  "1e999",
  "1e-999",
  "9007199254740993",
  "99999999999999999999",
  "0x1f",
  "1.",
  ".5",
];

/** A changed copy of an input of the corpus. */
export function mutate(input: string, corpus: readonly string[], random: Random, mutator: Mutator): string {
  let text = input;
  const changes = 1 + (random.chance(2) ? 0 : random.int(6));
  for (let change = 0; change < changes; change++) text = changeOnce(text, corpus, random, mutator);
  return text.slice(0, mutator.maxLength);
}

function changeOnce(text: string, corpus: readonly string[], random: Random, mutator: Mutator): string {
  const at = random.int(text.length + 1);
  const length = random.chance(4)
    ? random.int(text.length - at + 1)
    : Math.min(text.length - at, random.int(5));
  const end = at + length;
  const put = (middle: string, from = at, to = end): string => text.slice(0, from) + middle + text.slice(to);
  switch (random.int(10)) {
    case 0:
      return put("");
    case 1:
      return put(character(random, mutator.alphabet), at, at + 1);
    case 2:
      return put(character(random, mutator.alphabet), at, at);
    case 3:
      return put(flipped(text, at, random, mutator.alphabet), at, at + 1);
    case 4:
      return put(text.slice(at, end).repeat(2 + random.int(random.chance(20) ? 60 : 3)));
    case 5: {
      const other = random.pick(corpus);
      const from = random.int(other.length + 1);
      return put(other.slice(from, from + 1 + random.int(40)), at, random.chance(2) ? at : end);
    }
    case 6:
      return put(random.pick(NUMBERS), at, random.chance(2) ? at : end);
    case 7: {
      const to = random.int(text.length + 1);
      return to < at
        ? text.slice(0, to) + text.slice(at, end) + text.slice(to, at) + text.slice(end)
        : put("");
    }
    default:
      if (mutator.dictionary.length === 0) return put(character(random, mutator.alphabet), at, at);
      return put(random.pick(mutator.dictionary), at, random.chance(2) ? at : end);
  }
}

function character(random: Random, alphabet: Alphabet): string {
  const edges = alphabet === "text" && random.chance(3) ? WIDE_EDGES : EDGES;
  if (!random.chance(3)) return edges[random.int(edges.length)] as string;
  return String.fromCharCode(random.int(alphabet === "bytes" || !random.chance(4) ? 0x100 : 0x10000));
}

function flipped(text: string, at: number, random: Random, alphabet: Alphabet): string {
  if (at >= text.length) return "";
  const code = text.charCodeAt(at) ^ (1 << random.int(8));
  return String.fromCharCode(alphabet === "bytes" ? code & 0xff : code);
}
