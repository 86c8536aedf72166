import type { FinalState } from "../../ports/consumers.js";
import { ByteReader, type ByteWriter } from "../calls/bytes.js";
import { FINAL_STATES } from "../calls/settle-request.js";
import type { Strings } from "./strings.js";

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
