import type { FlushResult } from "../reporting/reports.js";
import { lossIn } from "../reporting/verdicts.js";
import type { SendReport } from "../sending/sender.js";

/** One call of `flush()`: counts what becomes of the messages that were held when it was made. */
export class FlushWatch {
  readonly done: Promise<FlushResult>;
  readonly #upTo: number;
  #remaining: number;
  #resolve: (result: FlushResult) => void = () => {};
  #delivered = 0;
  #failed = 0;
  #refused = 0;
  #spooled = 0;
  readonly #countsSpooled: boolean;

  /** Watches the `held` messages whose sequence is not above `upTo`. */
  constructor(upTo: number, held: number, countsSpooled: boolean) {
    this.#upTo = upTo;
    this.#remaining = held;
    this.#countsSpooled = countsSpooled;
    this.done = new Promise((resolve) => {
      this.#resolve = resolve;
    });
    this.#settleWhenDone();
  }

  get isDone(): boolean {
    return this.#remaining <= 0;
  }

  /** Takes the part of a batch into account that this flush is about. */
  count({ batch, outcome }: SendReport): void {
    const first = batch[0]?.sequence ?? Number.POSITIVE_INFINITY;
    // A batch has no gaps: its first `covered` messages are those that were held at the call.
    const covered = Math.min(batch.length, this.#upTo - first + 1);
    if (covered <= 0 || this.isDone) return;
    switch (outcome.kind) {
      case "delivered": {
        const refused = lossIn(outcome.rejected, covered);
        this.#refused += refused;
        this.#delivered += covered - refused;
        break;
      }
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
    this.#settleWhenDone();
  }

  #settleWhenDone(): void {
    if (!this.isDone) return;
    this.#resolve({
      delivered: this.#delivered,
      failed: this.#failed,
      refused: this.#refused,
      ...(this.#countsSpooled && { spooled: this.#spooled }),
    });
  }
}
