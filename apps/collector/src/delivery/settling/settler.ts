import type { Attempt, Consumers, Offset, Outcome, Retry, SentRange, Settlement } from "@sluice/event-log";
import type { CancelTimer, Clock } from "@sluice/resilience";

export interface SettlerOptions {
  readonly consumerId: string;
  readonly consumers: Pick<Consumers, "settle">;
  readonly clock: Clock;
  /** The current cursor. Read when a settlement is built. */
  readonly cursor: () => Offset;
  /** `leftOut`: as `settle` of the store says. */
  readonly onStored: (settlement: Settlement, leftOut: readonly Offset[]) => void;
  readonly onFailure: (error: unknown) => void;
}

/**
 * Stores a consumer's results, one settlement at a time: what arrives during one goes into the next. When the store fails, nothing
 * is lost: the same results are handed over again until they are stored.
 */
export interface Settler {
  /** So much waits to be stored that no further message should start. */
  readonly full: boolean;
  /** Everything that was handed over is stored. */
  readonly isIdle: boolean;
  outcome(outcome: Outcome): void;
  retry(retry: Retry): void;
  attempt(attempt: Attempt): void;
  /** Stores what is sent from now on, at once, with what was handed over before. Resolves when it is stored. */
  fix(range: SentRange): Promise<void>;
  /** The results of that were handed over, in this turn of the event loop. */
  rangeEnded(): void;
  /** Stores the cursor even if there is nothing else to store. */
  flush(): void;
  /** Stores what waits, unless the store fails. Results that arrive later are dropped. */
  stop(): Promise<void>;
}

/**
 * - `idle`: nothing waits. Entered at the start and after a settlement that left nothing behind; any result leaves it.
 * - `settling`: a settlement starts after a pause, or when `startNow` is called, and is then with the store.
 * - `failed`: the last one failed. A timer starts the next; until then the settler counts as full.
 * - `stopped`: what arrives now is dropped. The end.
 */
type State =
  | { readonly kind: "idle" }
  | { readonly kind: "settling"; readonly startNow: () => void; readonly done: Promise<void> }
  | { readonly kind: "failed"; readonly cancelTimer: CancelTimer }
  | { readonly kind: "stopped" };

/** Results that wait to be stored. */
class Unstored {
  outcomes: Outcome[] = [];
  retries: Retry[] = [];
  attempts: Attempt[] = [];
  range: Settlement["range"];
  isCursorWanted = false;

  get isEmpty(): boolean {
    const count = this.outcomes.length + this.retries.length + this.attempts.length;
    return count === 0 && this.range === undefined && !this.isCursorWanted;
  }

  take(cursor: Offset): Settlement {
    const { outcomes, retries, attempts, range } = this;
    [this.outcomes, this.retries, this.attempts, this.isCursorWanted] = [[], [], [], false];
    this.range = undefined;
    return { cursor, outcomes, retries, attempts, ...(range === undefined ? {} : { range }) };
  }

  /** Puts a settlement that failed before what arrived since. */
  putBack({ outcomes, retries, attempts, range }: Settlement): void {
    if (this.range === undefined) this.range = range;
    this.outcomes = [...outcomes, ...this.outcomes];
    this.retries = [...retries, ...this.retries];
    this.attempts = [...attempts, ...this.attempts];
  }
}

/**
 * A settlement is a synced commit, which costs the same for ten messages as for a hundred. At 6,000 deliveries per second without
 * this pause, commits took more CPU than sending. The price: after a kill, this much more is sent twice.
 */
const GATHER_MS = 50;
const FULL_AT = 5_000;
const STORE_RETRY_MS = 1_000;

export function settler(options: SettlerOptions): Settler {
  const { clock, onStored, onFailure } = options;
  const unstored = new Unstored();
  let state: State = { kind: "idle" };
  let storedAtMs = Number.NEGATIVE_INFINITY;
  /** What waits until a range is stored. There is one at a time. */
  let fixing: { readonly range: SentRange; readonly resolve: () => void } | undefined;

  const store = async (): Promise<void> => {
    const settlement = unstored.take(options.cursor());
    let leftOut: readonly Offset[];
    try {
      leftOut = await options.consumers.settle(options.consumerId, settlement);
    } catch (failure) {
      unstored.putBack(settlement);
      state = { kind: "failed", cancelTimer: clock.after(STORE_RETRY_MS, gather) };
      onFailure(failure);
      return;
    }
    storedAtMs = clock.monotonic();
    state = { kind: "idle" };
    onStored(settlement, leftOut);
    if (settlement.range === fixing?.range) fixing?.resolve();
    if (!unstored.isEmpty) changed();
  };
  const gather = (): void => {
    const waitMs = storedAtMs + GATHER_MS - clock.monotonic();
    const started = Promise.withResolvers<void>();
    let startNow = started.resolve;
    // At least one turn of the event loop, so that everything that ends in this turn is included.
    if (waitMs <= 0) setImmediate(started.resolve);
    else {
      const cancel = clock.after(waitMs, started.resolve);
      startNow = () => {
        cancel();
        started.resolve();
      };
    }
    state = { kind: "settling", startNow, done: started.promise.then(store) };
  };
  const changed = (): void => {
    if (state.kind === "idle") gather();
  };

  const hand = (add: () => void): void => {
    add();
    changed();
  };

  return {
    get full() {
      return state.kind === "failed" || unstored.outcomes.length + unstored.retries.length > FULL_AT;
    },
    get isIdle() {
      return state.kind === "idle" && unstored.isEmpty;
    },
    outcome: (outcome) => hand(() => unstored.outcomes.push(outcome)),
    retry: (retry) => hand(() => unstored.retries.push(retry)),
    attempt: (attempt) => hand(() => unstored.attempts.push(attempt)),
    fix(range) {
      const { promise, resolve } = Promise.withResolvers<void>();
      fixing = { range, resolve };
      hand(() => Object.assign(unstored, { range }));
      if (state.kind === "settling") state.startNow();
      return promise;
    },
    rangeEnded: () => hand(() => Object.assign(unstored, { range: null })),
    flush: () => hand(() => Object.assign(unstored, { isCursorWanted: true })),
    async stop() {
      while (state.kind === "settling") {
        state.startNow();
        await state.done;
      }
      if (state.kind === "failed") state.cancelTimer();
      state = { kind: "stopped" };
    },
  };
}
