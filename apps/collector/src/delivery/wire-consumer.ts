import type { ConsumerState, Offset, Settlement } from "@sluice/event-log";
import type { Clock } from "@sluice/resilience";
import type { Tracing } from "../process/telemetry/tracing.js";
import type { Transformations } from "../transformations/transformations.js";
import type { DeliveryPolicy, DeliveryStore } from "./delivery-stage.js";
import { LogFeed } from "./log-feed.js";
import { PerUserQueue } from "./ordering/per-user-queue.js";
import { type CursorTracker, cursorTracker } from "./reading/cursor-tracker.js";
import { LogWindow, type LogWindowOptions } from "./reading/log-window.js";
import type { MessageLoader } from "./reading/message-loader.js";
import type { SharedReader } from "./reading/shared-reader.js";
import { RetryFeed, StoreRetry } from "./retry-feed.js";
import type { Routing } from "./routing/match.js";
import { RangeUnderWay } from "./sending/range-under-way.js";
import type { DeliveryEvents } from "./settling/delivery-events.js";
import { Ledger } from "./settling/ledger.js";
import { RetryQueue } from "./settling/retry-queue.js";
import type { RetryPolicy } from "./settling/retry-schedule.js";
import { type Settler, settler } from "./settling/settler.js";
import { WakeTimer } from "./wake-timer.js";

export interface ConsumerOptions {
  readonly destinationId: string;
  readonly store: DeliveryStore;
  readonly reader: SharedReader;
  readonly loader: MessageLoader;
  readonly clock: Clock;
  readonly policy: DeliveryPolicy;
  readonly events: DeliveryEvents;
  /** Takes the spans of traced messages. */
  readonly tracing?: Tracing | undefined;
  readonly transformations: Pick<Transformations, "documentOf">;
  /** A target answered 410. */
  readonly onGone: (url: string) => void;
  /** What was sent again with earlier settings has ended: the destination may be opened with its present settings. */
  readonly onRangeEnded: () => void;
}

/** What the parts of a consumer ask it, and tell it. Called only after its constructor has returned. */
export interface ConsumerCalls extends Pick<LogWindowOptions, "concerns"> {
  /** The current routing. */
  readonly routing: () => Routing;
  /** The destination's current policy. */
  readonly policy: () => RetryPolicy;
  /** Something may start now. */
  readonly pump: () => void;
  readonly stored: (settlement: Settlement, leftOut: readonly Offset[]) => void;
  /** The store failed. `again` is to be called later. */
  readonly onFailure: (error: unknown, again?: () => void) => void;
}

/** The parts of a consumer, each made of the ones before it. */
export interface ConsumerParts {
  /** Repeats what failed in the store. */
  readonly storeRetry: StoreRetry;
  /** Pumps when the next thing is due. */
  readonly timer: WakeTimer;
  readonly cursor: CursorTracker;
  /** The log's messages, read ahead. */
  readonly window: LogWindow;
  /** The failed messages. */
  readonly retries: RetryQueue;
  /** Stores results together with the cursor. */
  readonly settler: Settler;
  /** The messages that are sent together. */
  readonly range: RangeUnderWay;
  /** Records results. */
  readonly ledger: Ledger;
  /** Keeps the order of users' messages. */
  readonly users: PerUserQueue;
  /** New work, from `window`. */
  readonly feed: LogFeed;
  /** Repeated work, from `retries`. */
  readonly retryFeed: RetryFeed;
}

/** Whether two settings of a destination are the same. */
export function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

export function wireConsumer(
  { destinationId, store, reader, loader, clock, events }: ConsumerOptions,
  stored: ConsumerState,
  { routing, policy, pump, concerns, stored: onStored, onFailure }: ConsumerCalls,
): ConsumerParts {
  const itsStore = { consumerId: destinationId, consumers: store.consumers, clock, onFailure };
  const storeRetry = new StoreRetry(clock, pump);
  const answered = (): void => {
    storeRetry.succeeded();
    pump();
  };
  const timer = new WakeTimer(clock, pump);
  const cursor = cursorTracker(stored.cursor);
  const window = new LogWindow({ reader, start: stored.cursor, concerns, onRead: answered, onFailure });
  const retries = new RetryQueue({ ...itsStore, stored: stored.retries, onReady: answered });
  const itsSettler = settler({ ...itsStore, cursor: () => cursor.cursor, onStored });
  const range = new RangeUnderWay({
    ...{ ...itsStore, loader, settler: itsSettler, stored },
    isInForce: (settings) => isSame(settings, routing().document.settings),
  });
  const ledger = new Ledger({ destinationId, settler: itsSettler, retries, clock, events });
  const users = new PerUserQueue({ ...itsStore, ledger, cursor, retries, policy });
  const { settledAhead } = stored;
  const isFull = (): boolean => itsSettler.full;
  const feed = new LogFeed({ window, cursor, users, ledger, settledAhead, routing, isFull });
  const retryFeed = new RetryFeed({ loader, feed, users, ledger, clock, policy });
  return {
    ...{ storeRetry, timer, cursor, window, retries, settler: itsSettler, range },
    ...{ ledger, users, feed, retryFeed },
  };
}
