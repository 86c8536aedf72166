import { contained } from "../errors/contained.js";
import type { Batch } from "../message/batch.js";
import type { FinalOutcome, SendReport } from "../sending/sender.js";
import type { SpooledBatch } from "../sending/spool.js";
import type {
  AnalyticsEvents,
  ErrorDetail,
  LostMessage,
  OnError,
  RefusalReason,
  RequestReport,
} from "./reports.js";
import { refusedOf } from "./verdicts.js";

type Listener = (event: never) => unknown;

/**
 * Counts what becomes of messages and tells whoever wants to know. The host's code runs contained, and not within itself:
 * a handler that makes another call which is refused hears of that in a later turn, so that it cannot recurse without end.
 */
export class Reporter {
  readonly #onError: OnError | undefined;
  readonly #defer: (task: () => void) => void;
  readonly #listeners = new Map<keyof AnalyticsEvents, Set<Listener>>();
  #isTelling = false;
  #delivered = 0;
  #failed = 0;
  #refused = 0;

  constructor(onError: OnError | undefined, defer: (task: () => void) => void) {
    this.#onError = onError;
    this.#defer = defer;
  }

  get counts(): { delivered: number; failed: number; refused: number } {
    return { delivered: this.#delivered, failed: this.#failed, refused: this.#refused };
  }

  on<Name extends keyof AnalyticsEvents>(
    name: Name,
    listener: (event: AnalyticsEvents[Name]) => unknown,
  ): () => void {
    const listeners = this.#listeners.get(name) ?? new Set();
    this.#listeners.set(name, listeners);
    // Wrapped, so that a function registered twice is called twice and each registration can be taken back.
    const entry: Listener = (event) => listener(event);
    listeners.add(entry);
    return () => listeners.delete(entry);
  }

  request(report: RequestReport): void {
    this.#emit("request", report);
  }

  /** A call whose message was not taken. */
  refusal(reason: RefusalReason, text: string, message: LostMessage): void {
    this.#refused += 1;
    this.#tell("refused", -1, text, { code: reason, messages: [message] });
  }

  /** A batch that has ended. */
  settled({ batch, outcome }: SendReport): void {
    switch (outcome.kind) {
      case "delivered":
        this.#deliveredWith(batch, outcome);
        return;
      case "spooled":
        // Not lost, and not delivered yet: told when it is sent from the spool.
        return;
      case "rejected":
        this.#lost(batch, outcome.status, outcome.reason, {
          code: "request_rejected",
          messages: lost(batch),
        });
        return;
      case "exhausted": {
        const { status, reason, attempts } = outcome;
        const text = `Given up after ${attempts} attempts: ${reason}`;
        this.#lost(batch, status, text, { code: "retries_exhausted", attempts, messages: lost(batch) });
        return;
      }
      case "abandoned":
        this.#lost(batch, -1, DEADLINE_TEXTS[outcome.deadline], {
          code: outcome.deadline,
          messages: lost(batch),
        });
        return;
      case "spool_failed":
        this.#lost(batch, -1, outcome.reason, { code: "spool_failed", messages: lost(batch) });
        return;
      default:
        outcome satisfies never;
    }
  }

  /** Messages that the spool had kept and cannot read any more. */
  damaged({ file, damaged }: SpooledBatch): void {
    this.#failed += damaged.length;
    const count = damaged.length === 1 ? "1 message" : `${damaged.length} messages`;
    const text = `${count} in the spool file ${file} cannot be read: the file is damaged`;
    this.#tell("failed", -1, text, { code: "spool_damaged", messages: damaged });
  }

  #deliveredWith(batch: Batch, { status, rejected }: Extract<FinalOutcome, { kind: "delivered" }>): void {
    const refused = refusedOf(batch, rejected);
    const delivered = batch.length - refused.size;
    this.#refused += refused.size;
    this.#delivered += delivered;
    if (delivered > 0 && this.#listens("delivered")) {
      const messageIds = batch.filter((_, index) => !refused.has(index)).map(({ messageId }) => messageId);
      this.#emit("delivered", { messageIds });
    }
    const [first] = refused.values();
    if (!first) return;
    const text = `${refused.size} of ${batch.length} messages refused; the first: ${first.reason}: ${first.text}`;
    this.#tell("refused", status, text, { code: "messages_refused", messages: [...refused.values()] });
  }

  #lost(batch: Batch, status: number, text: string, detail: ErrorDetail): void {
    this.#failed += batch.length;
    this.#tell("failed", status, text, detail);
  }

  #tell(event: "failed" | "refused", status: number, message: string, detail: ErrorDetail): void {
    if (!this.#onError && !this.#listens(event)) return;
    if (this.#isTelling) {
      this.#defer(() => this.#tell(event, status, message, detail));
      return;
    }
    this.#isTelling = true;
    contained(this.#onError, status, message, detail);
    if (this.#listens(event)) this.#emit(event, { status, message, detail });
    this.#isTelling = false;
  }

  #listens(name: keyof AnalyticsEvents): boolean {
    return (this.#listeners.get(name)?.size ?? 0) > 0;
  }

  #emit<Name extends keyof AnalyticsEvents>(name: Name, event: AnalyticsEvents[Name]): void {
    for (const listener of this.#listeners.get(name) ?? []) contained(listener, event as never);
  }
}

const DEADLINE_TEXTS = {
  close_deadline: "Not delivered before the deadline of close()",
  exit_deadline: "Not delivered before the process had to end",
} as const;

function lost(batch: Batch): readonly LostMessage[] {
  return batch.map(({ messageId, json }) => ({ messageId, json }));
}
