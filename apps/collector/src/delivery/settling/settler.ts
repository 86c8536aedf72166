import type { Attempt, Consumers, Offset, Outcome, Retry, Settlement } from "@sluice/event-log";
import type { Clock } from "@sluice/resilience";

export interface SettlerOptions {
  readonly consumerId: string;
  readonly consumers: Pick<Consumers, "settle">;
  readonly clock: Clock;
  /** The cursor as of now: asked when a settlement is put together. */
  readonly cursor: () => Offset;
  readonly onStored: (settlement: Settlement) => void;
  readonly onFailure: (error: unknown) => void;
}

/**
 * Hands what a consumer found out to the store, one settlement at a time: what comes during one is the next. Nothing is
 * forgotten when the store fails; it is handed over again until it is stored.
 */
export interface Settler {
  /** So much waits to be stored that no further message should be begun. */
  readonly full: boolean;
  outcome(outcome: Outcome): void;
  retry(retry: Retry): void;
  attempt(attempt: Attempt): void;
  /** Stores the cursor although there is nothing else to store. */
  flush(): void;
  /** Stores what waits, unless the store fails; takes nothing more. */
  stop(): Promise<void>;
}

/** `failed`: a timer runs, after which what waits is handed over again. `stopped`: what comes now is forgotten. */
type State = "idle" | "storing" | "failed" | "stopped";

/**
 * A settlement is a synced commit, and costs as much for ten messages as for a hundred: at 6,000 deliveries a second, with one
 * after the other, more CPU went into commits than into all of sending. The price is that after a kill up to so much more
 * is sent twice.
 */
const GATHER_MS = 50;
const FULL_AT = 5_000;
const STORE_RETRY_MS = 1_000;

export function settler(options: SettlerOptions): Settler {
  const { consumerId, consumers, clock, cursor, onStored, onFailure } = options;
  let outcomes: Outcome[] = [];
  let retries: Retry[] = [];
  let attempts: Attempt[] = [];
  let cursorWanted = false;
  let state: State = "idle";
  const isStopped = (): boolean => state === "stopped";
  let current: Promise<void> = Promise.resolve();
  let storedAtMs = Number.NEGATIVE_INFINITY;
  /** Ends the wait before the next settlement. */
  let hurry = (): void => {};

  const store = async (): Promise<void> => {
    hurry = () => {};
    if (outcomes.length + retries.length + attempts.length > 0 || cursorWanted) {
      const settlement = { cursor: cursor(), outcomes, retries, attempts };
      [outcomes, retries, attempts, cursorWanted] = [[], [], [], false];
      try {
        await consumers.settle(consumerId, settlement);
      } catch (failure) {
        outcomes = [...settlement.outcomes, ...outcomes];
        retries = [...settlement.retries, ...retries];
        attempts = [...settlement.attempts, ...attempts];
        if (isStopped()) return;
        state = "failed";
        clock.after(STORE_RETRY_MS, () => state === "failed" && begin());
        onFailure(failure);
        return;
      }
      storedAtMs = clock.monotonic();
      onStored(settlement);
    }
    if (isStopped()) return;
    state = "idle";
    if (outcomes.length + retries.length + attempts.length > 0 || cursorWanted) begin();
  };
  const begin = (): void => {
    state = "storing";
    const waitMs = storedAtMs + GATHER_MS - clock.monotonic();
    current = new Promise<void>((resolve) => {
      // A turn of the event loop later, so that what ends in this one goes along; and not sooner after the last than this.
      if (waitMs <= 0) setImmediate(resolve);
      else {
        const cancel = clock.after(waitMs, resolve);
        hurry = () => {
          cancel();
          resolve();
        };
      }
    }).then(store);
  };
  const changed = (): void => {
    if (state === "idle") begin();
  };

  return {
    get full() {
      return state === "failed" || outcomes.length + retries.length > FULL_AT;
    },
    outcome(outcome) {
      outcomes.push(outcome);
      changed();
    },
    retry(retry) {
      retries.push(retry);
      changed();
    },
    attempt(attempt) {
      attempts.push(attempt);
      changed();
    },
    flush() {
      cursorWanted = true;
      changed();
    },
    async stop() {
      while (state === "storing") {
        hurry();
        await current;
      }
      state = "stopped";
    },
  };
}
