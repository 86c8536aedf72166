import { type FinalOutcome, type RetriedOutcome, reportsOf, type SendReport, type Split } from "./outcome.js";
import type { Sender } from "./sender.js";

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
