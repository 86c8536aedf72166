import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { FinalState } from "../../ports/consumers.js";
import type { UsageDay } from "../../ports/documents.js";
import { dayOf } from "../../rules/in-wall-time.js";
import { DamagedData, isDamage } from "../database/damage.js";

const DAYS_GIVEN = 90;
const DAY_MS = 86_400_000;

interface Counts {
  readonly sourceNo: number;
  readonly day: number;
  accepted: number;
  filtered: number;
  delivered: number;
}

/** Counts in memory during a commit, and writes one row for each source and day of the commit. */
export class Usage {
  readonly #add: StatementSync;
  #isReadable = true;
  readonly #days: StatementSync;
  readonly #counts = new Map<string, Counts>();
  /** The counts that were used last: the next message nearly always has the same source and day. */
  #last: Counts | undefined;

  /** Calls `damaged` if the table cannot be read. Then nothing is counted, and messages are accepted as usual. */
  constructor(database: DatabaseSync, damaged: (error: unknown) => void = () => {}) {
    this.#add = database.prepare(
      `INSERT INTO usage (source, day, accepted, filtered, delivered) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (source, day) DO UPDATE SET accepted = accepted + excluded.accepted,
         filtered = filtered + excluded.filtered, delivered = delivered + excluded.delivered`,
    );
    this.#days = database.prepare(
      `SELECT day, accepted, filtered, delivered FROM usage JOIN sources ON sources.no = source
       WHERE sources.id = ? ORDER BY day DESC LIMIT ${DAYS_GIVEN}`,
    );
    try {
      database.prepare("SELECT sum(accepted) FROM usage").get();
    } catch (error) {
      if (!isDamage(error)) throw error;
      this.#isReadable = false;
      damaged(new DamagedData("counts of messages", error));
    }
  }

  #countsOf(sourceNo: number, atMs: number): Counts {
    const day = Math.floor(atMs / DAY_MS);
    if (this.#last?.sourceNo === sourceNo && this.#last.day === day) return this.#last;
    const key = `${sourceNo} ${day}`;
    const counts = this.#counts.get(key) ?? { sourceNo, day, accepted: 0, filtered: 0, delivered: 0 };
    this.#counts.set(key, counts);
    this.#last = counts;
    return counts;
  }

  accepted(sourceNo: number, atMs: number, messages: number): void {
    this.#countsOf(sourceNo, atMs).accepted += messages;
  }

  settled(sourceNo: number, atMs: number, state: FinalState): void {
    if (state === "filtered" || state === "delivered") this.#countsOf(sourceNo, atMs)[state] += 1;
  }

  /** Writes the counts. Within the transaction of the counted messages. */
  flush(): void {
    if (!this.#isReadable) {
      this.forget();
      return;
    }
    for (const { sourceNo, day, accepted, filtered, delivered } of this.#counts.values()) {
      this.#add.run(sourceNo, dayOf(day * DAY_MS), accepted, filtered, delivered);
    }
    this.#counts.clear();
    this.#last = undefined;
  }

  /** Discards the counts of a failed commit. */
  forget(): void {
    this.#counts.clear();
    this.#last = undefined;
  }

  days(sourceId: string): UsageDay[] {
    return this.#days.all(sourceId).map((row) => ({ ...row })) as unknown as UsageDay[];
  }
}
