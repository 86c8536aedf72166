import type { DestinationStatusView } from "@sluice/control-api";
import type { Offset, Versioned } from "@sluice/event-log";
import { formatTime } from "@sluice/protocol";
import type { DestinationStatus } from "../../delivery/delivery-stage.js";
import { type Health, judgeHealth } from "../../delivery/health/judge-health.js";
import { UnreadMessages } from "../../delivery/reading/unread-messages.js";
import { withoutType } from "../../destinations/catalog.js";
import type { DestinationDocument } from "../../documents/documents.js";
import type { AdminContext } from "../context.js";
import { withoutUndefined } from "../document-resource.js";

type Context = Pick<AdminContext, "store" | "delivery" | "catalog" | "clock">;

/** How a destination is doing now. */
export async function destinationStatus(
  destination: Versioned<DestinationDocument>,
  context: Context,
): Promise<DestinationStatusView> {
  const status =
    (await context.delivery.status(destination.id)) ?? (await withoutConsumer(destination, context));
  const { state, urls, failingSinceMs, disabledTargets, behind, skipped, retries } = status;
  return withoutUndefined({
    destinationId: destination.id,
    state,
    ...healthView(status),
    urls: urls.map(({ url, ...one }) => ({ url, ...healthView(one) })),
    failingSince: timeOf(failingSinceMs),
    disabledUrls: disabledTargets.length === 0 ? undefined : disabledTargets,
    behind,
    oldestUnreadAt: timeOf(status.oldestUnreadMs),
    retries,
    waiting: retries + behind - skipped,
    nextAttemptAt: timeOf(status.nextProbeAtMs),
    lastError: status.lastError,
  });
}

/** A health with its time as text. */
export function healthView<H extends string>({
  health,
  reason,
  sinceMs,
}: Health<H>): {
  readonly health: H;
  readonly reason: string;
  readonly since?: string;
} {
  return { health, reason, ...(sinceMs === undefined ? {} : { since: formatTime(sinceMs) }) };
}

/** A destination has no consumer for a moment after it was created, and none at all if the collector does not know its type. */
async function withoutConsumer(
  { id, value }: Versioned<DestinationDocument>,
  { store, catalog, clock }: Context,
): Promise<DestinationStatus> {
  const { behind: ofAllSources, retries } = await store.consumers.backlog(id);
  const passed = Math.max(0, store.log.head() - ofAllSources) as Offset;
  const { unread: behind, skipped } = await new UnreadMessages(id, store.log).after(passed, value);
  const isUnknown = catalog.get(value.type) === undefined;
  const nowMs = clock.now();
  const error = withoutType(value.type, catalog);
  const health = judgeHealth({
    isEnabled: value.enabled,
    cannotOpen: isUnknown,
    isBackingOff: false,
    tried: {
      last: isUnknown ? { kind: "failed", error, sinceMs: nowMs, inARow: 1 } : { kind: "nothing" },
      recent: { rounds: 0, failed: 0 },
    },
    urls: [],
    waiting: behind - skipped + retries,
    oldestUnreadMs: undefined,
    nowMs,
  });
  const state = value.enabled ? "delivering" : "disabled";
  const { sinceMs: _, ...known } = health;
  const lastError = isUnknown ? { lastError: error } : {};
  return {
    state,
    ...known,
    urls: [],
    disabledTargets: [],
    behind,
    skipped,
    retries,
    inFlight: 0,
    ...lastError,
  };
}

function timeOf(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : formatTime(ms);
}
