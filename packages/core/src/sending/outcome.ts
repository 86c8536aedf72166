import type { RejectedMessage } from "@sluice/protocol";
import type { Settled } from "../message/accept.js";
import type { Batch } from "../message/batch.js";
import type { Abandoned } from "./pauses.js";

/** The server answered 2xx. `rejected` are the messages of the batch that it refused. */
interface Delivered {
  readonly kind: "delivered";
  readonly status: number;
  readonly rejected: readonly RejectedMessage[];
}

/** The server refused the request, and would refuse it again. */
interface Rejected {
  readonly kind: "rejected";
  readonly status: number;
  readonly reason: string;
}

/** The request may succeed later. `retryAfterMs` is the wait that the server asked for. `status` is -1 if no answer came. */
interface Retryable {
  readonly kind: "retryable";
  readonly status: number;
  readonly reason: string;
  readonly retryAfterMs?: number | undefined;
}

/** The server answered 413: the batch may succeed in parts. */
interface TooLarge {
  readonly kind: "too_large";
  readonly status: number;
  readonly reason: string;
}

/** Every attempt failed. `status` is that of the last answer, or -1. */
interface Exhausted {
  readonly kind: "exhausted";
  readonly status: number;
  readonly reason: string;
  readonly attempts: number;
}

/** The batch is on disk and will be sent later. */
interface Spooled {
  readonly kind: "spooled";
}

/** The batch could not be written to disk. */
interface SpoolFailed {
  readonly kind: "spool_failed";
  readonly reason: string;
}

/** Its `beforeSend` functions dropped the message, after the call. */
interface Dropped {
  readonly kind: "dropped";
}

/** Its `beforeSend` functions failed after the call, or took too long. */
interface HookRefused {
  readonly kind: "hook_refused";
  readonly refusal: Extract<Settled, { kind: "refused" }>;
}

/** How one request ended. */
export type AttemptOutcome = Delivered | Rejected | Retryable | TooLarge;

/** How a batch ended after its retries. */
export type RetriedOutcome = Delivered | Rejected | TooLarge | Exhausted | Abandoned;

/** How a batch, or a part of one, ended for good. */
export type FinalOutcome =
  | Delivered
  | Rejected
  | Exhausted
  | Abandoned
  | Spooled
  | SpoolFailed
  | Dropped
  | HookRefused;

/** The batch was sent in parts. `parts` has every message once, in order. */
export interface Split {
  readonly kind: "split";
  readonly parts: readonly SendReport[];
}

/** A batch, or a part of one, and how it ended. */
export interface SendReport {
  readonly batch: Batch;
  readonly outcome: FinalOutcome;
}

/** One report for each part that ended by itself. */
export function reportsOf(batch: Batch, outcome: FinalOutcome | Split): readonly SendReport[] {
  return outcome.kind === "split" ? outcome.parts : [{ batch, outcome }];
}
