import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { FinalState } from "../../ports/consumers.js";
import { ByteReader, type ByteWriter } from "../calls/bytes.js";
import { FINAL_STATES } from "../calls/settle-request.js";

/** Maximum number of shared texts. Further texts are written out. Greater numbers have another meaning: see `attempt-codec.ts`. */
export const MOST_STRINGS = 10_000;
const LONGEST_STRING = 256;
export const WRITTEN_OUT = 0;

/**
 * The texts that many messages share: reasons, URLs, addresses, error codes and sets of request headers. They are stored once and referred
 * to by number. They come from settings and from our own code, never from a message or a response, so the deletion of a user does not
 * change them.
 */
export class Strings {
  readonly #put: StatementSync;
  readonly #all: StatementSync;
  readonly #numbers = new Map<string, number>();
  readonly #texts = new Map<number, string>();
  #next = 1;

  constructor(database: DatabaseSync) {
    this.#put = database.prepare("INSERT INTO strings (no, text) VALUES (?, ?)");
    this.#all = database.prepare("SELECT no, text FROM strings ORDER BY no");
    this.reload();
  }

  /** Reads the table again. Call after a rollback. */
  reload(): void {
    this.#numbers.clear();
    this.#texts.clear();
    this.#next = 1;
    for (const row of this.#all.all()) {
      const { no, text } = row as unknown as { no: number; text: string };
      this.#texts.set(no, text);
      this.#numbers.set(text, no);
      this.#next = Math.max(this.#next, no + 1);
    }
  }

  /** Writes a reference to a text, or the text itself. Within a transaction. */
  write(text: string, to: ByteWriter): void {
    const no = this.#numbers.get(text) ?? this.#add(text);
    if (no !== undefined) {
      to.varint(no);
      return;
    }
    to.varint(WRITTEN_OUT);
    to.text(text);
  }

  #add(text: string): number | undefined {
    if (text.length > LONGEST_STRING || this.#next > MOST_STRINGS) return undefined;
    const no = this.#next;
    this.#put.run(no, text);
    this.#next += 1;
    this.#numbers.set(text, no);
    this.#texts.set(no, text);
    return no;
  }

  read(from: ByteReader): string {
    const no = from.varint();
    return no === WRITTEN_OUT ? from.text() : this.textOf(no);
  }

  /** The text with this number, or "(damaged)" if the table has lost it. */
  textOf(no: number): string {
    return this.#texts.get(no) ?? "(damaged)";
  }
}

export interface OutcomeEntry {
  readonly offset: number;
  readonly state: FinalState;
  readonly reason: string;
  readonly atMs: number;
}

const SAME_REASON = 1 << 3;
const STATE_BITS = 0b111;

/** Writes consecutive outcomes, each as its difference from the previous one. */
export class OutcomeEncoder {
  readonly #strings: Strings;
  #lastOffset: number;
  #lastAtMs = 0;
  #lastReason: string | undefined;

  constructor(strings: Strings, base: number) {
    this.#strings = strings;
    this.#lastOffset = base;
  }

  write({ offset, state, reason, atMs }: OutcomeEntry, to: ByteWriter): void {
    const isSame = this.#lastReason === reason;
    to.byte(FINAL_STATES.indexOf(state) | (isSame ? SAME_REASON : 0));
    to.signed(offset - this.#lastOffset);
    to.signed(atMs - this.#lastAtMs);
    if (!isSame) this.#strings.write(reason, to);
    this.#lastOffset = offset;
    this.#lastAtMs = atMs;
    this.#lastReason = reason;
  }
}

/** Throws a `RangeError` if the bytes are not outcomes. */
export function readOutcomes(data: Uint8Array, base: number, strings: Strings): OutcomeEntry[] {
  const reader = new ByteReader(data);
  const outcomes: OutcomeEntry[] = [];
  let offset = base;
  let atMs = 0;
  let reason = "";
  while (!reader.done) {
    const head = reader.byte();
    offset += reader.signed();
    atMs += reader.signed();
    if (!(head & SAME_REASON)) reason = strings.read(reader);
    const state = FINAL_STATES[head & STATE_BITS];
    if (state === undefined) throw new RangeError("an outcome has an unknown state");
    outcomes.push({ offset, state, reason, atMs });
  }
  return outcomes;
}
