import type { DatabaseSync, StatementSync } from "node:sqlite";
import { ofUsers } from "../../is-of-user.js";
import type { Rejection } from "../../store.js";
import type { PurgeOperations, RejectionOperations } from "../operations.js";
import type { WorkerOptions } from "../tuning.js";

/** Expired ones that are deleted in one step: a few milliseconds' worth. */
const EXPIRED_AT_ONCE = 1_000;

/** Those that a deletion looks at in one step: each has up to 4 KB of text. */
const LOOKED_AT_AT_ONCE = 100;

/** The newest refused messages, up to a bound and an age. */
export class Rejections {
  readonly #kept: number;
  readonly #maxAgeMs: number | undefined;
  readonly #put: StatementSync;
  readonly #prune: StatementSync;
  readonly #find: StatementSync;
  readonly #after: StatementSync;
  readonly #drop: StatementSync;
  readonly #dropOldest: StatementSync;

  constructor(
    database: DatabaseSync,
    { rejectionsKept, retention }: Pick<WorkerOptions, "rejectionsKept" | "retention">,
  ) {
    this.#kept = rejectionsKept;
    this.#maxAgeMs = retention.maxAgeMs;
    this.#put = database.prepare(
      "INSERT INTO rejections (source, at_ms, message_id, json) VALUES (?, ?, ?, ?)",
    );
    this.#prune = database.prepare("DELETE FROM rejections WHERE no <= (SELECT max(no) FROM rejections) - ?");
    this.#after = database.prepare("SELECT no, json FROM rejections WHERE no > ? ORDER BY no LIMIT ?");
    this.#drop = database.prepare("DELETE FROM rejections WHERE no = ?");
    this.#dropOldest = database.prepare(
      "DELETE FROM rejections WHERE no = (SELECT min(no) FROM rejections) AND at_ms < ?",
    );
    this.#find = database.prepare(
      `SELECT no, json FROM rejections WHERE no < :before
       AND (:messageId IS NULL OR message_id = :messageId) AND (:sourceId IS NULL OR source = :sourceId)
       AND (:fromMs IS NULL OR at_ms >= :fromMs) AND (:toMs IS NULL OR at_ms < :toMs)
       ORDER BY no DESC LIMIT :limit`,
    );
  }

  add(rejections: readonly Rejection[]): void {
    for (const rejection of rejections.slice(-this.#kept)) {
      const { sourceId, receivedAtMs, messageId } = rejection;
      this.#put.run(sourceId, Math.round(receivedAtMs), messageId ?? null, JSON.stringify(rejection));
    }
    this.#prune.run(this.#kept);
  }

  /** Removes those that are older than messages may be, the oldest first; many take several calls. Within a transaction. */
  expire(nowMs: number): void {
    if (this.#maxAgeMs === undefined) return;
    const beforeMs = nowMs - this.#maxAgeMs;
    for (let left = EXPIRED_AT_ONCE; left > 0; left--) {
      if (Number(this.#dropOldest.run(beforeMs).changes) === 0) return;
    }
  }

  /**
   * Removes those of these users among the next ones after `after`. Tells where the next step goes on; undefined at the end.
   * Within a transaction.
   */
  purgeNext({ identities, after }: PurgeOperations["purgeRejections"]["request"]): number | undefined {
    const isOfThem = ofUsers(identities);
    const rows = this.#after.all(after, LOOKED_AT_AT_ONCE);
    for (const { no, json } of rows) {
      if (isOfThem(JSON.parse(json as string) as Rejection)) this.#drop.run(no as number);
    }
    return rows.length < LOOKED_AT_AT_ONCE ? undefined : (rows.at(-1)?.no as number);
  }

  find({ query, before, limit }: RejectionOperations["findRejections"]["request"]): {
    no: number;
    rejection: Rejection;
  }[] {
    const rows = this.#find.all({
      before: Math.min(before, Number.MAX_SAFE_INTEGER),
      messageId: query.messageId ?? null,
      sourceId: query.sourceId ?? null,
      fromMs: query.fromMs ?? null,
      toMs: query.toMs ?? null,
      limit,
    });
    return rows.map(({ no, json }) => ({
      no: no as number,
      rejection: JSON.parse(json as string) as Rejection,
    }));
  }
}
