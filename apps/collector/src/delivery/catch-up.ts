import type { Clock } from "@sluice/resilience";
import type { Offset } from "../store/store.js";
import type { Ledger } from "./ledger.js";
import { messagesOf, type SharedReader } from "./shared-reader.js";

/** Puts a source's messages of a span that the cursor has passed already into the retry queue, as due now. */
export async function takeIn(
  span: { readonly sourceId: string; readonly after: Offset; readonly upTo: Offset },
  {
    reader,
    steady,
    ledger,
  }: { readonly reader: SharedReader; readonly steady: Clock; readonly ledger: Ledger },
): Promise<void> {
  for await (const { offset } of messagesOf(reader, span.sourceId, span.after, span.upTo)) {
    const nowMs = steady.now();
    ledger.queue({
      offset,
      rounds: 0,
      firstAttemptAtMs: nowMs,
      dueAtMs: nowMs,
      reason: "queued",
      doneUrls: [],
      replay: false,
    });
  }
}
