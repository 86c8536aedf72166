import type { Batch } from "../message/batch.js";
import type { RetriedOutcome } from "./retrying-sender.js";
import type { Sender, SendReport } from "./sender.js";

/** Sends a batch that the server finds too large in halves, and those in halves, down to single messages. */
export function splittingSender(
  send: (batch: Batch, signal: AbortSignal) => Promise<RetriedOutcome>,
): Sender {
  const sender: Sender = {
    async send(batch, signal) {
      const outcome = await send(batch, signal);
      if (outcome.kind !== "too_large") return [{ batch, outcome }];
      if (batch.length === 1) {
        return [{ batch, outcome: { kind: "rejected", status: outcome.status, reason: outcome.reason } }];
      }
      const middle = Math.ceil(batch.length / 2);
      // One after the other: the order of messages is kept, and so is the number of requests outstanding.
      const reports: SendReport[] = [];
      for (const half of [batch.slice(0, middle), batch.slice(middle)]) {
        reports.push(...(await sender.send(half, signal)));
      }
      return reports;
    },
  };
  return sender;
}
