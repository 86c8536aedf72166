import type { FlushResult } from "../reporting/reports.js";
import { refusedAmong } from "../reporting/reports.js";
import type { SendReport } from "../sending/outcome.js";

/** Which optional counts a result has. */
export interface FlushCounts {
  readonly spooled: boolean;
  readonly queued: boolean;
}

/** One call of `flush()`: counts how the messages end that were held at the call. */
export class FlushWatch {
  readonly done: Promise<FlushResult>;
  readonly #upTo: number;
  #remaining: number;
  #resolve: (result: FlushResult) => void = () => {};
  #delivered = 0;
  #failed = 0;
  #refused = 0;
  #spooled = 0;
  readonly #counts: FlushCounts;

  /** Watches the `held` messages whose sequence is at most `upTo`. */
  constructor(upTo: number, held: number, counts: FlushCounts) {
    this.#upTo = upTo;
    this.#remaining = held;
    this.#counts = counts;
    this.done = new Promise((resolve) => {
      this.#resolve = resolve;
    });
    this.#resolveIfDone();
  }

  get isDone(): boolean {
    return this.#remaining <= 0;
  }

  /** Counts the messages of a batch that were held at the call. */
  count({ batch, outcome }: SendReport): void {
    // A batch is in order, so the messages that were held at the call are its first ones.
    const later = batch.findIndex(({ sequence }) => sequence > this.#upTo);
    const covered = later === -1 ? batch.length : later;
    switch (outcome.kind) {
      case "delivered": {
        const refused = refusedAmong(outcome.rejected, covered);
        this.#refused += refused;
        this.#delivered += covered - refused;
        break;
      }
      case "dropped":
        break;
      case "hook_refused":
        this.#refused += covered;
        break;
      case "spooled":
        this.#spooled += covered;
        break;
      case "rejected":
      case "exhausted":
      case "abandoned":
      case "spool_failed":
        this.#failed += covered;
        break;
      default:
        outcome satisfies never;
    }
    this.#remaining -= covered;
    this.#resolveIfDone();
  }

  /** Resolves now: messages that have not ended are counted as queued. */
  expire(): void {
    this.#resolve(this.#result());
  }

  #resolveIfDone(): void {
    if (this.isDone) this.#resolve(this.#result());
  }

  #result(): FlushResult {
    return {
      delivered: this.#delivered,
      failed: this.#failed,
      refused: this.#refused,
      ...(this.#counts.spooled && { spooled: this.#spooled }),
      ...(this.#counts.queued && { queued: this.#remaining }),
    };
  }
}
