import type { Batch, LostMessage } from "../message/batch.js";
import { type FinalOutcome, type RetriedOutcome, reportsOf, type SendReport, type Split } from "./outcome.js";

/**
 * Sends batches. Senders wrap one another, from the outside in: enriching ▷ spooling ▷ splitting ▷ retrying ▷ HTTP.
 *
 * `Outcome` lists how a send can end. Each wrapper handles some outcomes of the sender inside it, so fewer are left outside:
 *
 * | sender    | does                             | removes                  | adds                       |
 * | --------- | -------------------------------- | ------------------------ | -------------------------- |
 * | HTTP      | makes one request                |                          | `AttemptOutcome`           |
 * | retrying  | repeats it                       | `retryable`              | `exhausted`, `abandoned`   |
 * | splitting | sends halves                     | `too_large`              | `split`                    |
 * | spooling  | keeps what failed, sends it later | `exhausted`, `abandoned` | `spooled`, `spool_failed`  |
 * | enriching | waits for `beforeSend`           |                          | `dropped`, `hook_refused`  |
 */
export interface Sender<Outcome> {
  /**
   * Never throws or rejects. Ends soon after `signal` aborts.
   *
   * `attempt` counts the requests for this batch, from 1. Default: 1. Only the retrying sender passes another.
   */
  send(batch: Batch, signal: AbortSignal, attempt?: number): Promise<Outcome>;
}

/** Sends a batch that is too large for the server in halves, and those in halves, down to single messages. */
export function splittingSender(inner: Sender<RetriedOutcome>): Sender<FinalOutcome | Split> {
  const sender: Sender<FinalOutcome | Split> = {
    async send(batch, signal) {
      const outcome = await inner.send(batch, signal);
      if (outcome.kind !== "too_large") return outcome;
      if (batch.length === 1) return { kind: "rejected", status: outcome.status, reason: outcome.reason };
      const middle = Math.ceil(batch.length / 2);
      // One after the other: this keeps the order of messages and the number of requests in flight.
      const parts: SendReport[] = [];
      for (const half of [batch.slice(0, middle), batch.slice(middle)]) {
        parts.push(...reportsOf(half, await sender.send(half, signal)));
      }
      return { kind: "split", parts };
    },
  };
  return sender;
}

/** A batch that is kept on disk. */
export interface SpooledBatch {
  /** Empty if the whole file is damaged. */
  readonly batch: Batch;
  /** The path of its file, for error texts. */
  readonly file: string;
  /** Messages of the same file that cannot be read any more. The id is `""` if it is damaged, too. */
  readonly damaged: readonly LostMessage[];
  /** Deletes it from the disk. */
  remove(): Promise<void>;
}

/** Whether a batch was written, or why not. */
export type Kept = "kept" | { readonly reason: string };

/** Keeps batches on disk, in order, beyond the life of the process. No call throws or rejects. */
export interface Spool {
  /** Looks for batches of earlier processes. Nothing else may be called before it resolves. */
  open(): Promise<void>;
  /** Messages on disk now. */
  readonly messages: number;
  /** Adds a batch behind the others, or says why it cannot. */
  append(batch: Batch): Promise<Kept>;
  /** The oldest batch, or undefined if the spool is empty. Files that cannot be read are removed. */
  oldest(): Promise<SpooledBatch | undefined>;
  /** Lets other processes send what is on disk. `oldest` is not called any more; `append` may be. */
  release(): Promise<void>;
}
