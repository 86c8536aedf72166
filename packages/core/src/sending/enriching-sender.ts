import type { Settled } from "../message/accept.js";
import type { Batch, HeldMessage } from "../message/batch.js";
import { hooked } from "../message/hooking.js";
import { type FinalOutcome, reportsOf, type SendReport, type Split } from "./outcome.js";
import { abandonedBy } from "./pauses.js";
import type { Sender } from "./sender.js";

/** Waits for the `beforeSend` functions of a batch's messages that return promises, and sends what they returned, in order. */
export function enrichingSender(inner: Sender<FinalOutcome | Split>): Sender<FinalOutcome | Split> {
  return {
    async send(batch, signal) {
      if (batch.every(({ hooking }) => hooking === undefined)) return inner.send(batch, signal);
      await untilHooked(batch, signal);
      const kept: HeldMessage[] = [];
      const parts: SendReport[] = [];
      for (const message of batch) {
        const ready = hooked(message);
        if (ready !== undefined) kept.push(ready);
        else parts.push({ batch: [message], outcome: outcomeOf(message.hooking?.settled, signal) });
      }
      if (kept.length > 0) parts.push(...reportsOf(kept, await inner.send(kept, signal)));
      return { kind: "split", parts };
    },
  };
}

/** Resolves when all functions have ended, or `signal` aborts. */
async function untilHooked(batch: Batch, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  let onAbort = (): void => {};
  const aborted = new Promise<void>((resolve) => {
    onAbort = resolve;
  });
  signal.addEventListener("abort", onAbort);
  await Promise.race([aborted, Promise.all(batch.map(({ hooking }) => hooking?.done))]);
  signal.removeEventListener("abort", onAbort);
}

function outcomeOf(settled: Settled | undefined, signal: AbortSignal): FinalOutcome {
  if (settled === undefined || settled.kind === "ready") return abandonedBy(signal);
  return settled.kind === "dropped" ? { kind: "dropped" } : { kind: "hook_refused", refusal: settled };
}
