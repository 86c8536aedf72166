import { type Delivery, type Offset, type Store, StoreError } from "@sluice/event-log";
import type { Clock } from "@sluice/resilience";
import type { Discarding as Discarded } from "../delivery/destination-delivery.js";
import type { DeliveryRuntime } from "../delivery/start-delivery.js";
import type { OperationDocument } from "./operation.js";
import { statesFor } from "./select-deliveries.js";

export interface ApplyParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly delivery: Pick<DeliveryRuntime, "requeued" | "discard">;
  readonly signal: AbortSignal;
}

/** Applies an operation to some deliveries of one destination. Resolves with those that were started or discarded. */
export async function applyOperation(
  { kind, filter, createdBy, createdAt }: OperationDocument,
  destinationId: string,
  offsets: readonly Offset[],
  parts: ApplyParts,
): Promise<readonly Offset[]> {
  const states = statesFor(kind, filter?.state);
  if (kind === "discard")
    return discard(parts, destinationId, offsets, {
      states,
      reason: `discarded by ${createdBy.tokenName}`,
      sinceMs: Date.parse(createdAt),
    });
  const { store, clock, delivery } = parts;
  const started = await store.consumers
    .retryNow(destinationId, offsets, { dueAtMs: clock.monotonic(), states })
    .catch(noneIfGone);
  if (started.length > 0) delivery.requeued(destinationId);
  return started;
}

/** The destination was deleted meanwhile. */
function noneIfGone(error: unknown): readonly Offset[] {
  if (error instanceof StoreError && error.code === "not_found") return [];
  throw error;
}

interface Discarding {
  readonly states: readonly Delivery["state"][];
  readonly reason: string;
  /** When the operation began. */
  readonly sinceMs: number;
}

/** Resolves when the store has them. A batch that a crash interrupted can be repeated: those that it discarded count again. */
async function discard(
  parts: ApplyParts,
  destinationId: string,
  offsets: readonly Offset[],
  { states, reason, sinceMs }: Discarding,
): Promise<readonly Offset[]> {
  const { store, delivery } = parts;
  const already: Offset[] = [];
  // Asked together, so that the store answers them in one go.
  const found = await Promise.all(
    offsets.map(async (offset): Promise<Discarded[]> => {
      const [now] = await store.consumers.outcomesOf(offset, destinationId);
      if (now?.state === "discarded" && now.reason === reason && now.atMs >= sinceMs) already.push(offset);
      if (now === undefined || !states.includes(now.state)) return [];
      return [{ offset, isPending: now.state === "pending" }];
    }),
  );
  const discarded = await delivery.discard(destinationId, found.flat(), reason);
  await stored(discarded.at(-1), destinationId, parts);
  return [...already, ...discarded];
}

const STORED_AFTER_MS = 20;
const MOST_CHECKS = 100;

/** Waits until a discarded delivery, and those before it, are stored: some 50 ms, longer while the store is busy. */
async function stored(
  offset: Offset | undefined,
  destinationId: string,
  { store, clock, signal }: ApplyParts,
): Promise<void> {
  if (offset === undefined) return;
  for (let checks = 0; checks < MOST_CHECKS && !signal.aborted; checks++) {
    const [now] = await store.consumers.outcomesOf(offset, destinationId);
    if (now === undefined || now.state === "discarded") return;
    await clock.sleep(STORED_AFTER_MS, signal).catch(() => {});
  }
}
