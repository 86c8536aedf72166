import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { FinalState } from "../../ports/consumers.js";
import { FINAL_STATES } from "../calls/settle-request.js";
import { DamagedData, reading } from "../database/damage.js";
import { readStoredAttempts, type StoredAttempt } from "./attempt-codec.js";
import type { Strings } from "./strings.js";

export interface LateAttempt extends StoredAttempt {
  readonly no: number;
}

/** Outcomes and attempts that came long after those of neighbouring messages. Each has its own row. */
export class LateRows {
  readonly #strings: Strings;
  readonly #putOutcome: StatementSync;
  readonly #outcomeAt: StatementSync;
  readonly #putAttempt: StatementSync;
  readonly #attemptsOf: StatementSync;
  readonly #attemptAt: StatementSync;
  readonly #attemptNos: StatementSync;
  readonly #replaceAttempt: StatementSync;

  constructor(database: DatabaseSync, strings: Strings) {
    this.#strings = strings;
    this.#putOutcome = database.prepare(
      "INSERT OR REPLACE INTO late_outcomes (consumer, offset, state, reason, at_ms) VALUES (?, ?, ?, ?, ?)",
    );
    this.#outcomeAt = database.prepare(
      "SELECT state, reason, at_ms FROM late_outcomes WHERE consumer = ? AND offset = ?",
    );
    this.#putAttempt = database.prepare(
      "INSERT INTO late_attempts (consumer, offset, data) VALUES (?, ?, ?)",
    );
    this.#attemptsOf = database.prepare(
      "SELECT no, offset, data FROM late_attempts WHERE consumer = ? AND offset = ? ORDER BY no",
    );
    this.#attemptAt = database.prepare("SELECT no, offset, data FROM late_attempts WHERE no = ?");
    this.#attemptNos = database.prepare(
      `SELECT consumer, offset, no FROM late_attempts INDEXED BY late_attempts_by_offset
       WHERE (consumer, offset, no) > (?, ?, ?) ORDER BY consumer, offset, no LIMIT ?`,
    );
    this.#replaceAttempt = database.prepare("UPDATE late_attempts SET data = ? WHERE no = ?");
  }

  /** Within a transaction. */
  putOutcome(consumerNo: number, offset: number, state: FinalState, reason: string, atMs: number): void {
    this.#putOutcome.run(consumerNo, offset, FINAL_STATES.indexOf(state), reason, atMs);
  }

  outcomeAt(
    consumerNo: number,
    offset: number,
  ): { state: FinalState; reason: string; atMs: number } | undefined {
    const row = reading(
      () => `late outcomes near the message ${offset}`,
      () =>
        this.#outcomeAt.get(consumerNo, offset) as unknown as
          | { state: number; reason: string; at_ms: number }
          | undefined,
    );
    return row && { state: FINAL_STATES[row.state] ?? "failed", reason: row.reason, atMs: row.at_ms };
  }

  /** Within a transaction. */
  putAttempt(consumerNo: number, offset: number, data: Uint8Array): void {
    this.#putAttempt.run(consumerNo, offset, data);
  }

  /** Replaces an attempt's data. Within a transaction. */
  replaceAttempt(no: number, data: Uint8Array): void {
    this.#replaceAttempt.run(data, no);
  }

  /** Oldest first. Throws `DamagedData` if one cannot be read. */
  attemptsOf(consumerNo: number, offset: number): LateAttempt[] {
    const rows = reading(
      () => `late attempts near the message ${offset}`,
      () => this.#attemptsOf.all(consumerNo, offset),
    );
    return rows.flatMap((row) => this.#read(row));
  }

  /** Returns a function that returns the next page of all attempt numbers, at the end an empty one. */
  attemptNumbers(): (most: number) => number[] {
    let place = [-1, 0, 0];
    return (most) => {
      const rows = this.#attemptNos
        .all(...place, most)
        .map(({ consumer, offset, no }) => [consumer, offset, no]);
      place = (rows.at(-1) ?? place) as number[];
      return rows.map(([, , no]) => no as number);
    };
  }

  /** The attempt in an array, empty if there is none. Throws `DamagedData` if it cannot be read. */
  attemptAt(no: number): LateAttempt[] {
    const row = this.#attemptAt.get(no);
    return row === undefined ? [] : this.#read(row);
  }

  #read(row: Record<string, unknown>): LateAttempt[] {
    const { no, offset, data } = row as { no: number; offset: number; data: Uint8Array };
    try {
      return readStoredAttempts(data, offset, this.#strings).map((stored) => ({ ...stored, no }));
    } catch (error) {
      throw new DamagedData(`attempts of the message ${offset}`, error);
    }
  }
}
