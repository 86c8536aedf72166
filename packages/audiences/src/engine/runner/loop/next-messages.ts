import type { Offset, StoredBatch } from "@sluice/event-log";
import { type Cursors, cursorIn } from "../../../profiles/partition-offsets.js";
import { type PartitionLog, type PartitionLogs, unlessAway } from "../partition-logs.js";
import { READ_LIMITS } from "./read-limits.js";

/** Messages of several partitions are counted in the order of their receipt, but for so much, in milliseconds. */
const SLACK_MS = 1_000;

/** Messages of one partition. */
export interface NextMessages {
  readonly log: PartitionLog;
  readonly batches: readonly StoredBatch[];
}

/** When the next message of a partition was received. */
interface NextReceipt {
  readonly after: Offset;
  readonly receivedAtMs: number;
}

/**
 * Reads on in the partition whose next message is the oldest, until shortly after the next one of another partition. So messages are
 * counted about in the order of their receipt, also after a partition could not be read for a while. A log alone is read as it is.
 */
export class NextMessagesReader {
  readonly #logs: PartitionLogs;
  readonly #receipts = new Map<number, NextReceipt>();

  constructor(logs: PartitionLogs) {
    this.#logs = logs;
  }

  /** Undefined: everything that can be read is counted. */
  async read(cursors: Cursors): Promise<NextMessages | undefined> {
    const waiting = this.#logs.all.filter((log) => log.isReadable && this.#logs.behind(log, cursors) > 0);
    const [first = this.#logs.own, ...others] = waiting;
    if (others.length === 0) return this.#readFrom(first, cursors, Number.POSITIVE_INFINITY);
    const byReceipt: { readonly log: PartitionLog; readonly receivedAtMs: number }[] = [];
    for (const log of waiting) {
      const receivedAtMs = await this.#nextReceipt(log, cursorIn(cursors, log.partition));
      if (receivedAtMs !== undefined) byReceipt.push({ log, receivedAtMs });
    }
    byReceipt.sort((one, other) => one.receivedAtMs - other.receivedAtMs);
    const [oldest, next] = byReceipt;
    if (oldest === undefined) return undefined;
    return this.#readFrom(oldest.log, cursors, next?.receivedAtMs ?? Number.POSITIVE_INFINITY);
  }

  async #nextReceipt(log: PartitionLog, after: Offset): Promise<number | undefined> {
    const known = this.#receipts.get(log.partition);
    if (known?.after === after) return known.receivedAtMs;
    const [batch] = (await unlessAway(log, () => log.read(after, { messages: 1, bytes: 1 }))) ?? [];
    if (batch === undefined) return undefined;
    this.#receipts.set(log.partition, { after, receivedAtMs: batch.receivedAtMs });
    return batch.receivedAtMs;
  }

  async #readFrom(
    log: PartitionLog,
    cursors: Cursors,
    nextReceiptMs: number,
  ): Promise<NextMessages | undefined> {
    const after = cursorIn(cursors, log.partition);
    const batches = (await unlessAway(log, () => log.read(after, READ_LIMITS))) ?? [];
    const end = batches.findIndex(
      ({ receivedAtMs }, index) => index > 0 && receivedAtMs > nextReceiptMs + SLACK_MS,
    );
    return batches.length === 0 ? undefined : { log, batches: end < 0 ? batches : batches.slice(0, end) };
  }
}
