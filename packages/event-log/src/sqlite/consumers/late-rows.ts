import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { Attempt, FinalState } from "../../ports/consumers.js";
import { FINAL_STATES } from "../calls/settle-request.js";
import { DamagedData, reading } from "../database/damage.js";
import { readAttempts } from "./attempt-codec.js";
import type { Strings } from "./outcome-codec.js";

export interface LateAttempt {
  readonly no: number;
  readonly attempt: Attempt;
}

/** Outcomes and attempts that came long after those of neighbouring messages. Each has its own row. */
export class LateRows {
  readonly #strings: Strings;
  readonly #putOutcome: StatementSync;
  readonly #outcomeAt: StatementSync;
  readonly #putAttempt: StatementSync;
  readonly #attemptsOf: StatementSync;
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

  #read(row: Record<string, unknown>): LateAttempt[] {
    const { no, offset, data } = row as { no: number; offset: number; data: Uint8Array };
    try {
      return readAttempts(data, offset, this.#strings).map((attempt) => ({ attempt, no }));
    } catch (error) {
      throw new DamagedData(`attempts of the message ${offset}`, error);
    }
  }
}
