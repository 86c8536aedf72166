import type { RejectedMessage } from "@sluice/protocol";
import type { Batch } from "../message/batch.js";

/** Which time ran out: that of `close()`, or that of a process which ends. */
export type DeadlineCode = "close_deadline" | "exit_deadline";

/** The reason of the signal that ends all sending. */
export class DeadlineReached extends Error {
  readonly code: DeadlineCode;

  constructor(code: DeadlineCode) {
    super(code);
    this.code = code;
  }
}

/** The outcome of a batch whose signal has aborted. */
export function abandonedBy(signal: AbortSignal): FinalOutcome {
  const reason: unknown = signal.reason;
  return { kind: "abandoned", deadline: reason instanceof DeadlineReached ? reason.code : "close_deadline" };
}

/** How the sending of a batch ended for good. */
export type FinalOutcome =
  | { readonly kind: "delivered"; readonly status: number; readonly rejected: readonly RejectedMessage[] }
  | { readonly kind: "rejected"; readonly status: number; readonly reason: string }
  /** Every attempt failed. `status` is the last answer's, or -1. */
  | {
      readonly kind: "exhausted";
      readonly status: number;
      readonly reason: string;
      readonly attempts: number;
    }
  /** Time ran out before it was delivered. */
  | { readonly kind: "abandoned"; readonly deadline: DeadlineCode }
  /** Kept on disk, to be sent later. */
  | { readonly kind: "spooled" }
  /** To be kept on disk, and could not. */
  | { readonly kind: "spool_failed"; readonly reason: string };

export interface SendReport {
  readonly batch: Batch;
  readonly outcome: FinalOutcome;
}

/** Sends a batch to its end. Never throws. More than one report where it was sent in parts. */
export interface Sender {
  send(batch: Batch, signal: AbortSignal): Promise<readonly SendReport[]>;
}
