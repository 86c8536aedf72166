import { causeOf, type DeliveryGroupView, describeCause } from "@sluice/control-api";
import { type DeliveryTally, DOCUMENT_KINDS, type Offset, type Store } from "@sluice/event-log";
import { formatTime } from "@sluice/protocol";
import type { Clock } from "@sluice/resilience";

/** Failed and retried deliveries of one destination with one cause. */
export interface DeliveryGroup {
  readonly id: string;
  readonly destinationId: string;
  readonly cause: string;
  readonly failed: number;
  readonly pending: number;
  readonly firstAtMs: number;
  readonly lastAtMs: number;
  readonly newest: Offset;
}

export interface GroupedDeliveries {
  /** Largest first. */
  readonly groups: readonly DeliveryGroup[];
  readonly isExact: boolean;
}

/** Stretches of the log that are counted for one destination: more than 13 million messages. */
const MOST_PARTS = 200;

/** Groups all failed and retried deliveries by destination and cause. The store reads no messages for it. */
export async function groupDeliveries({ config, consumers }: Store): Promise<GroupedDeliveries> {
  const groups = new Map<string, DeliveryGroup>();
  let isExact = true;
  for (const { id } of await config.list(DOCUMENT_KINDS.destination)) {
    let before: number | undefined;
    for (let parts = 0; ; parts++) {
      const part = await consumers.tally(id, before);
      for (const tally of part.items) addTally(groups, id, tally);
      before = part.before;
      if (before === undefined) break;
      if (parts >= MOST_PARTS) {
        isExact = false;
        break;
      }
    }
  }
  const sizeOf = ({ failed, pending }: DeliveryGroup): number => failed + pending;
  return {
    groups: [...groups.values()].sort((a, b) => sizeOf(b) - sizeOf(a) || (a.id < b.id ? -1 : 1)),
    isExact,
  };
}

function addTally(groups: Map<string, DeliveryGroup>, destinationId: string, tally: DeliveryTally): void {
  const cause = causeOf(tally.reason);
  if (cause === undefined) return;
  const id = `${destinationId}.${cause}`;
  const before = groups.get(id);
  const { state, count, firstAtMs, lastAtMs, newest } = tally;
  groups.set(id, {
    id,
    destinationId,
    cause,
    failed: (before?.failed ?? 0) + (state === "failed" ? count : 0),
    pending: (before?.pending ?? 0) + (state === "pending" ? count : 0),
    firstAtMs: Math.min(before?.firstAtMs ?? firstAtMs, firstAtMs),
    lastAtMs: Math.max(before?.lastAtMs ?? lastAtMs, lastAtMs),
    newest: Math.max(before?.newest ?? newest, newest) as Offset,
  });
}

/** The last answer of `groupDeliveries`. It is read again after a second, or ten times as long as reading took. */
export function groupReader(store: Store, clock: Clock): () => Promise<GroupedDeliveries> {
  let last: { freshUntilMs: number; readonly answer: Promise<GroupedDeliveries> } | undefined;
  return () => {
    const nowMs = clock.monotonic();
    if (last === undefined || nowMs >= last.freshUntilMs) {
      const answer = groupDeliveries(store);
      const asked = { freshUntilMs: Number.POSITIVE_INFINITY, answer };
      last = asked;
      const isRead = (): void => {
        const readMs = clock.monotonic();
        asked.freshUntilMs = readMs + Math.min(MAX_FRESH_MS, Math.max(MIN_FRESH_MS, 10 * (readMs - nowMs)));
      };
      answer.then(isRead, () => {
        asked.freshUntilMs = 0;
      });
    }
    return last.answer;
  };
}

const MIN_FRESH_MS = 1_000;
const MAX_FRESH_MS = 15_000;

/** A group without its example. */
export function groupView({ firstAtMs, lastAtMs, newest: _, ...group }: DeliveryGroup): DeliveryGroupView {
  const { failed, pending, cause } = group;
  return {
    ...group,
    ...describeCause(cause),
    count: failed + pending,
    firstSeenAt: formatTime(firstAtMs),
    lastSeenAt: formatTime(lastAtMs),
  };
}
