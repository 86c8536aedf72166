import { BEFORE_FIRST, type Lane, type Store, type StoredMessage } from "@sluice/event-log";
import type { MessageLoader } from "../reading/message-loader.js";

/** Retries, or lanes, per call of the store. */
const PAGE = 500;

/** Which messages keep their order per user: all, or only those that the collector made itself. */
export type Order = "none" | "user";

export interface RestoreDeps {
  readonly store: Pick<Store, "consumers">;
  readonly loader: MessageLoader;
}

export interface RestoreTarget {
  /** The lane of a message whose order counts. */
  laneOf(stored: StoredMessage): number | undefined;
  /** The retries of one user that wait in the store. */
  restore(lane: Lane): void;
}

/**
 * Tells a consumer which users have waiting retries, so that their later messages wait too. Needed after a restart, and when a destination
 * starts to ask for order.
 */
export async function restoreOrder(
  deps: RestoreDeps,
  consumerId: string,
  target: RestoreTarget,
): Promise<void> {
  const { store } = deps;
  await putIntoLanes(deps, consumerId, target);
  for (let after: number | undefined; ; ) {
    const lanes = await store.consumers.lanes(consumerId, PAGE, after);
    for (const lane of lanes) target.restore(lane);
    after = lanes.at(-1)?.lane;
    if (after === undefined) return;
  }
}

/** Retries that were stored while the order did not count have no lane. */
async function putIntoLanes(
  { store, loader }: RestoreDeps,
  consumerId: string,
  target: RestoreTarget,
): Promise<void> {
  const { retries } = await store.consumers.backlog(consumerId);
  if (retries === 0) return;
  for (let after = BEFORE_FIRST; ; ) {
    const page = await store.consumers.withoutLane(consumerId, after, PAGE);
    const last = page.at(-1);
    if (last === undefined) return;
    after = last.offset;
    const lanes = [];
    for (const { offset } of page) {
      const stored = await loader.load(offset);
      const lane = stored && target.laneOf(stored);
      if (lane !== undefined) lanes.push({ offset, lane });
    }
    if (lanes.length === 0) continue;
    await store.consumers.settle(consumerId, {
      cursor: BEFORE_FIRST,
      outcomes: [],
      retries: [],
      attempts: [],
      lanes,
    });
  }
}
