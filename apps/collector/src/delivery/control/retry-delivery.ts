import type { Offset, Store } from "@sluice/event-log";
import type { Clock } from "@sluice/resilience";

const ANY_STATE = [
  "delivered",
  "failed",
  "filtered",
  "skipped",
  "suppressed",
  "discarded",
  "pending",
] as const;

/**
 * Tries one delivery now: a pending one before it is due, a finished one again. Resolves with false if the destination has no
 * delivery of that message.
 */
export async function retryDelivery(
  { store, clock }: { readonly store: Store; readonly clock: Clock },
  destinationId: string,
  offset: Offset,
): Promise<boolean> {
  if ((await store.consumers.outcomesOf(offset, destinationId)).length === 0) return false;
  const options = { dueAtMs: clock.monotonic(), states: ANY_STATE };
  return (await store.consumers.retryNow(destinationId, [offset], options)).length > 0;
}
