import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { Rejection } from "../../ports/rejections.js";
import { ofUsers } from "../../rules/purging.js";
import type { PurgeOperations, RejectionOperations, RejectionsLeft } from "../calls/operations.js";
import type { WorkerOptions } from "../calls/tuning.js";
import type { DamageListener } from "../database/damage.js";
import { DamagedData } from "../database/damage.js";

/** Expired rows that one call deletes: a few milliseconds. */
const EXPIRED_AT_ONCE = 1_000;

/** Rows that one step of a user deletion checks. Each has up to 4 KB of text. */
const LOOKED_AT_AT_ONCE = 100;

/**
 * The newest refused messages, up to a maximum number and age. A row that is not JSON is damaged: searches skip it, and a user deletion
 * removes it, because its user is unknown.
 */
export class Rejections {
  readonly #damaged: DamageListener;
  readonly #kept: number;
  readonly #maxAgeMs: number | undefined;
  readonly #put: StatementSync;
  readonly #prune: StatementSync;
  readonly #find: StatementSync;
  readonly #newest: StatementSync;
  readonly #after: StatementSync;
  readonly #drop: StatementSync;
  readonly #dropOldest: StatementSync;

  constructor(
    database: DatabaseSync,
    { rejectionsKept, retention }: Pick<WorkerOptions, "rejectionsKept" | "retention">,
    damaged: DamageListener,
  ) {
    this.#damaged = damaged;
    this.#kept = rejectionsKept;
    this.#maxAgeMs = retention.maxAgeMs;
    this.#put = database.prepare(
      "INSERT INTO rejections (source, at_ms, message_id, json) VALUES (?, ?, ?, ?)",
    );
    this.#prune = database.prepare("DELETE FROM rejections WHERE no <= (SELECT max(no) FROM rejections) - ?");
    this.#newest = database.prepare("SELECT max(no) AS no FROM rejections");
    this.#after = database.prepare(
      "SELECT no, json FROM rejections WHERE no > ? AND no <= ? ORDER BY no LIMIT ?",
    );
    this.#drop = database.prepare("DELETE FROM rejections WHERE no = ?");
    this.#dropOldest = database.prepare(
      "DELETE FROM rejections WHERE no = (SELECT min(no) FROM rejections) AND at_ms < ?",
    );
    this.#find = database.prepare(
      `SELECT no, json FROM rejections WHERE no < :before
       AND (:messageId IS NULL OR message_id = :messageId) AND (:sourceId IS NULL OR source = :sourceId)
       AND (:fromMs IS NULL OR at_ms >= :fromMs) AND (:toMs IS NULL OR at_ms < :toMs)
       ORDER BY no DESC`,
    );
  }

  add(rejections: readonly Rejection[]): void {
    for (const rejection of rejections.slice(-this.#kept)) {
      const { sourceId, receivedAtMs, messageId } = rejection;
      this.#put.run(sourceId, Math.round(receivedAtMs), messageId ?? null, JSON.stringify(rejection));
    }
    this.#prune.run(this.#kept);
  }

  /** Removes refused messages that are past the age limit, `EXPIRED_AT_ONCE` of the oldest per call. Within a transaction. */
  expire(nowMs: number): void {
    if (this.#maxAgeMs === undefined) return;
    const beforeMs = nowMs - this.#maxAgeMs;
    for (let left = EXPIRED_AT_ONCE; left > 0; left--) {
      if (Number(this.#dropOldest.run(beforeMs).changes) === 0) return;
    }
  }

  /**
   * Checks the next rows after `after`, and removes those of these users and damaged ones. Returns the rest for the next step; undefined at
   * the end. The newest row of the first step is the last one to check. Within a transaction.
   */
  purgeNext({
    identities,
    requested,
    after,
    upTo = (this.#newest.get() as { no: number | null }).no ?? 0,
  }: PurgeOperations["purgeRejections"]["request"]): RejectionsLeft | undefined {
    const isOfThem = ofUsers(identities, requested);
    const rows = this.#after.all(after, upTo, LOOKED_AT_AT_ONCE) as unknown as Row[];
    for (const { no, json } of rows) {
      const rejection = this.#parse(no, json);
      if (rejection === undefined || isOfThem(rejection)) this.#drop.run(no);
    }
    const last = rows.at(-1);
    return rows.length < LOOKED_AT_AT_ONCE || last === undefined ? undefined : { after: last.no, upTo };
  }

  find({ query, before, limit }: RejectionOperations["findRejections"]["request"]): Found[] {
    const rows = this.#find.iterate({
      before: Math.min(before, Number.MAX_SAFE_INTEGER),
      messageId: query.messageId ?? null,
      sourceId: query.sourceId ?? null,
      fromMs: query.fromMs ?? null,
      toMs: query.toMs ?? null,
    });
    const found: Found[] = [];
    if (limit <= 0) return found;
    // The caller takes fewer than `limit` as the end, so damaged rows do not count.
    for (const row of rows) {
      const { no, json } = row as unknown as Row;
      const rejection = this.#parse(no, json);
      if (rejection !== undefined) found.push({ no, rejection });
      if (found.length >= limit) break;
    }
    return found;
  }

  /** Undefined if the row is damaged. */
  #parse(no: number, json: string): Rejection | undefined {
    try {
      const rejection: unknown = JSON.parse(json);
      if (isRejection(rejection)) return rejection;
      this.#damaged(new DamagedData(`refused messages (row ${no})`));
    } catch (error) {
      this.#damaged(new DamagedData(`refused messages (row ${no})`, error));
    }
    return undefined;
  }
}

interface Row {
  readonly no: number;
  readonly json: string;
}

interface Found {
  readonly no: number;
  readonly rejection: Rejection;
}

/** Checks the field that every version has written. */
function isRejection(value: unknown): value is Rejection {
  return (
    typeof value === "object" && value !== null && typeof (value as Partial<Rejection>).excerpt === "string"
  );
}
