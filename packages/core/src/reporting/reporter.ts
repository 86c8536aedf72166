import { contained } from "../errors.js";
import type { Batch, LostMessage } from "../message/batch.js";
import type { Platform } from "../platform.js";
import type { RequestReport } from "../sending/http-sender.js";
import type { FinalOutcome, SendReport } from "../sending/outcome.js";
import type { DeadlineCode } from "../sending/pauses.js";
import type { SpooledBatch } from "../sending/sender.js";
import { refusalWarning } from "./operator-lines.js";
import type { AnalyticsEvents, ErrorDetail, OnError, Refusal, WithheldReason } from "./reports.js";
import { refusedOf } from "./reports.js";

const UNAUTHORIZED = 401;

type Listener = (event: never) => unknown;

/**
 * Counts how messages end, and calls `onError` and the listeners. Errors thrown by them are swallowed. A handler never runs inside
 * itself: if it makes a call that is refused, it is called again in a later turn of the event loop, so it cannot recurse without end.
 */
export class Reporter {
  readonly #onError: OnError | undefined;
  readonly #platform: Pick<Platform, "defer" | "warn">;
  readonly #listeners = new Map<keyof AnalyticsEvents, Set<Listener>>();
  /** Whether a handler runs now. */
  #isReporting = false;
  #hasWarned = false;
  #delivered = 0;
  #failed = 0;
  #refused = 0;
  #dropped = 0;
  #disabled = 0;
  /** Losses that neither `onError` nor a listener was told. */
  #unheard: { readonly messages: number; readonly reason: string } | undefined;

  constructor(onError: OnError | undefined, platform: Pick<Platform, "defer" | "warn">) {
    this.#onError = onError;
    this.#platform = platform;
  }

  get counts(): { delivered: number; failed: number; refused: number } {
    return { delivered: this.#delivered, failed: this.#failed, refused: this.#refused };
  }

  /** Calls that were withheld on purpose. */
  get withheld(): { readonly dropped: number; readonly disabled: number } {
    return { dropped: this.#dropped, disabled: this.#disabled };
  }

  /** The losses that nobody was told of, with the reason of the last one. Returns each loss once. */
  takeUnheard(): { readonly messages: number; readonly reason: string } | undefined {
    const unheard = this.#unheard;
    this.#unheard = undefined;
    return unheard;
  }

  /** Counts a call that was withheld. */
  withhold(reason: WithheldReason): void {
    if (reason === "dropped") this.#dropped += 1;
    else this.#disabled += 1;
  }

  /** Adds a listener and returns an unsubscribe function. */
  on<Name extends keyof AnalyticsEvents>(
    name: Name,
    listener: (event: AnalyticsEvents[Name]) => unknown,
  ): () => void {
    const listeners = this.#listeners.get(name) ?? new Set();
    this.#listeners.set(name, listeners);
    // Wrapped, so that a function that is added twice is called twice, and each addition has its own unsubscribe function.
    const entry: Listener = (event) => listener(event);
    listeners.add(entry);
    return () => listeners.delete(entry);
  }

  /** Reports one attempt. */
  request(report: RequestReport): void {
    this.#emit("request", report);
  }

  /** Reports a call whose message was not accepted. */
  refusal(refusal: Refusal, message: LostMessage): void {
    this.#refused += 1;
    const messages = [message];
    if (refusal.reason === "queue_full") {
      const { reason: code, bound } = refusal;
      this.#report("refused", -1, refusal.text, { code, bound, messages });
    } else this.#report("refused", -1, refusal.text, { code: refusal.reason, messages });
  }

  /** Reports the end of a batch. */
  outcome({ batch, outcome }: SendReport): void {
    switch (outcome.kind) {
      case "delivered":
        this.#reportDelivered(batch, outcome);
        return;
      case "dropped":
        this.#dropped += batch.length;
        return;
      case "hook_refused":
        for (const { messageId } of batch)
          this.refusal(outcome.refusal, { messageId, json: outcome.refusal.json });
        return;
      case "spooled":
        // Neither lost nor delivered yet: reported when it is sent from the spool.
        return;
      case "rejected":
        this.#reportLost(batch, outcome.status, outcome.reason, {
          code: "request_rejected",
          messages: lost(batch),
        });
        return;
      case "exhausted": {
        const { status, reason, attempts } = outcome;
        const text = `Given up after ${attempts} attempts: ${reason}`;
        this.#reportLost(batch, status, text, {
          code: "retries_exhausted",
          attempts,
          messages: lost(batch),
        });
        return;
      }
      case "abandoned":
        this.#reportLost(batch, -1, DEADLINE_TEXTS[outcome.deadline], {
          code: outcome.deadline,
          messages: lost(batch),
        });
        return;
      case "spool_failed":
        this.#reportLost(batch, -1, outcome.reason, { code: "spool_failed", messages: lost(batch) });
        return;
      default:
        outcome satisfies never;
    }
  }

  /** Reports messages of the spool that cannot be read any more. */
  damaged({ file, damaged }: SpooledBatch): void {
    this.#failed += damaged.length;
    const count = damaged.length === 1 ? "1 message" : `${damaged.length} messages`;
    const text = `${count} in the spool file ${file} cannot be read: the file is damaged`;
    this.#report("failed", -1, text, { code: "spool_damaged", messages: damaged });
  }

  #reportDelivered(batch: Batch, { status, rejected }: Extract<FinalOutcome, { kind: "delivered" }>): void {
    const refused = refusedOf(batch, rejected);
    const delivered = batch.length - refused.size;
    this.#refused += refused.size;
    this.#delivered += delivered;
    if (delivered > 0 && this.#hasListener("delivered")) {
      const messageIds = batch.filter((_, index) => !refused.has(index)).map(({ messageId }) => messageId);
      this.#emit("delivered", { messageIds });
    }
    const [first] = refused.values();
    if (!first) return;
    const text = `${refused.size} of ${batch.length} messages refused; the first: ${first.reason}: ${first.text}`;
    this.#report("refused", status, text, { code: "messages_refused", messages: [...refused.values()] });
  }

  #reportLost(batch: Batch, status: number, text: string, detail: ErrorDetail): void {
    this.#failed += batch.length;
    this.#report("failed", status, text, detail);
  }

  #report(event: "failed" | "refused", status: number, message: string, detail: ErrorDetail): void {
    if (!this.#onError && !this.#hasListener(event)) {
      if (event === "refused") this.#warnOnce(message, detail);
      // The warning about the refused write key has said it, and what the application discards is no surprise.
      else if (status !== UNAUTHORIZED && detail.code !== "discarded") {
        const messages = (this.#unheard?.messages ?? 0) + detail.messages.length;
        this.#unheard = { messages, reason: message };
      }
      return;
    }
    if (this.#isReporting) {
      this.#platform.defer(() => this.#report(event, status, message, detail));
      return;
    }
    this.#isReporting = true;
    contained(this.#onError, status, message, detail);
    if (this.#hasListener(event)) this.#emit(event, { status, message, detail });
    this.#isReporting = false;
  }

  #warnOnce(message: string, { code }: ErrorDetail): void {
    if (this.#hasWarned) return;
    this.#hasWarned = true;
    contained(this.#platform.warn, refusalWarning(code, message));
  }

  #hasListener(name: keyof AnalyticsEvents): boolean {
    return (this.#listeners.get(name)?.size ?? 0) > 0;
  }

  #emit<Name extends keyof AnalyticsEvents>(name: Name, event: AnalyticsEvents[Name]): void {
    for (const listener of this.#listeners.get(name) ?? []) contained(listener, event as never);
  }
}

const DEADLINE_TEXTS: Readonly<Record<DeadlineCode, string>> = {
  close_deadline: "Not delivered before the deadline of close()",
  exit_deadline: "Not delivered before the process had to end",
  discarded: "Discarded by setEnabled(false, { discardQueued: true })",
};

function lost(batch: Batch): readonly LostMessage[] {
  return batch.map(({ messageId, json, hooking }) => (hooking ? { messageId } : { messageId, json }));
}
