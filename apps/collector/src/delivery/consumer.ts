import type { ConsumerState, Offset, Retry, Settlement, Store, StoredMessage } from "@sluice/event-log";
import { StoreError } from "@sluice/event-log";
import type { CancelTimer, CircuitBreaker, Clock } from "@sluice/resilience";
import type { Destination, RoundOutcome } from "../destinations/destination.js";
import { addedConnections } from "./control/connections.js";
import { failedAgain, type LastTried } from "./control/health.js";
import type { DeliveryEvents } from "./delivery-events.js";
import type { DeliveryPolicy } from "./delivery-policy.js";
import { UserLines } from "./ordering/user-lines.js";
import { catchUp } from "./reading/catch-up.js";
import { type CursorTracker, cursorTracker } from "./reading/cursor-tracker.js";
import { LogFeed } from "./reading/log-feed.js";
import { LogWindow } from "./reading/log-window.js";
import type { MessageLoader } from "./reading/message-loader.js";
import type { SharedReader } from "./reading/shared-reader.js";
import type { Routing } from "./routing/match.js";
import { DestinationGate } from "./sending/destination-gate.js";
import { MessageRound, outgoing, type RoundListener } from "./sending/message-round.js";
import { OpenDestination } from "./sending/open-destination.js";
import { Ledger } from "./settling/ledger.js";
import { RetryFeed } from "./settling/retry-feed.js";
import { RetryQueue } from "./settling/retry-queue.js";
import { decide, lastCallMs } from "./settling/retry-schedule.js";
import { type Settler, settler } from "./settling/settler.js";
import type { Work } from "./work.js";

export interface ConsumerOptions {
  readonly destinationId: string;
  readonly store: Store;
  readonly reader: SharedReader;
  readonly loader: MessageLoader;
  readonly clock: Clock;
  readonly policy: DeliveryPolicy;
  readonly events: DeliveryEvents;
  /** A target answered 410. */
  readonly onGone: (url: string) => void;
}

export interface ConsumerStatus {
  readonly state: "delivering" | "disabled" | "backing_off";
  /** Everything up to here was taken up, or is not for the destination: the stored cursor may be far behind it. */
  readonly passed: Offset;
  /** There is nothing after `passed`. */
  readonly isAtEnd: boolean;
  /** Messages up to `passed` that are under way for the first time, or wait for one of the same user that is. */
  readonly takenUp: number;
  readonly inFlight: number;
  /** Messages that failed and wait for their next attempt. */
  readonly retries: number;
  readonly breaker: CircuitBreaker;
  /** Since this consumer was made. */
  readonly lastTried: LastTried;
}

/**
 * - `running`: messages are begun as long as there is room.
 * - `paused`: the destination is disabled, or cannot be opened; rounds under way end as ever, none is begun.
 * - `closed`: nothing is begun, and what ends now leaves no trace: it is done again after a restart.
 */
type State = "running" | "paused" | "closed";

/** The cursor is stored for its own sake when so many messages passed that left nothing to store. */
const SILENT_MESSAGES = 5_000;
const STORE_RETRY_MS = 1_000;
/** No further round is begun while the messages under way take so much: 50 of 32 KB of ordinary content take less. */
const MOST_BYTES_IN_FLIGHT = 3 * 1_024 * 1_024;
/** What a retry's message counts as while it is loaded: the most that one takes, about. */
const LOADING_BYTES = 512 * 1_024;

/**
 * Brings the log's messages to one destination: a cursor over the log, a window of messages read ahead, a queue of those
 * that failed, and as many rounds at a time as the destination takes. Everything that happens (a round ended, messages
 * came, a timer) leads to `#pump`, which begins what may begin; nothing else begins anything.
 */
export class Consumer {
  readonly #options: ConsumerOptions;
  readonly #settler: Settler;
  readonly #ledger: Ledger;
  readonly #cursor: CursorTracker;
  readonly #window: LogWindow;
  readonly #feed: LogFeed;
  readonly #retries: RetryQueue;
  readonly #retryFeed: RetryFeed;
  readonly #lines: UserLines;
  readonly #gate: DestinationGate;
  readonly #listener: RoundListener;
  #state: State = "paused";
  #routing: Routing;
  #open: OpenDestination | undefined;
  /** Rounds under way, and retries whose messages are being loaded for one. */
  #inFlight = 0;
  /** What their messages take in memory, about. */
  #inFlightBytes = 0;
  /** The last cursor that went to the store with something else. */
  #storedCursor: Offset;
  #retriesFirst = true;
  #timer: { readonly atMs: number; readonly cancel: CancelTimer } | undefined;
  #lastTried: LastTried = { kind: "nothing" };
  #onIdle: (() => void) | undefined;

  constructor(options: ConsumerOptions, stored: ConsumerState, routing: Routing) {
    const { destinationId, store, reader, clock, policy, events } = options;
    const consumerId = destinationId;
    const { consumers } = store;
    const onFailure = (error: unknown): void => this.#storeFailed(error);
    this.#options = options;
    this.#routing = routing;
    this.#cursor = cursorTracker(stored.cursor);
    this.#storedCursor = stored.cursor;
    this.#gate = new DestinationGate(policy.breaker);
    this.#window = new LogWindow({
      reader,
      start: stored.cursor,
      concerns: ({ sourceId, onlyDestinations }) =>
        onlyDestinations === undefined
          ? this.#routing.connections.has(sourceId)
          : onlyDestinations.includes(destinationId),
      onRead: () => this.#pump(),
      onFailure,
    });
    this.#retries = new RetryQueue({
      consumerId,
      consumers,
      stored: stored.retries,
      onReady: () => this.#pump(),
      onFailure,
    });
    this.#settler = settler({
      consumerId,
      consumers,
      clock,
      cursor: () => this.#cursor.cursor,
      onStored: (settlement) => this.#stored(settlement),
      onFailure,
    });
    const ledger = new Ledger({
      destinationId,
      settler: this.#settler,
      retries: this.#retries,
      clock,
      events,
    });
    this.#ledger = ledger;
    this.#lines = new UserLines({
      ledger,
      cursor: this.#cursor,
      clock,
      lookAgainMs: policy.retry.backoff.maxMs,
    });
    this.#feed = new LogFeed({
      window: this.#window,
      cursor: this.#cursor,
      lines: this.#lines,
      ledger,
      settledAhead: stored.settledAhead,
      routing: () => this.#routing,
      isFull: () => this.#settler.full,
    });
    this.#retryFeed = new RetryFeed({
      loader: options.loader,
      feed: this.#feed,
      lines: this.#lines,
      ledger,
      clock,
      policy: policy.retry,
    });
    this.#listener = {
      settler: this.#settler,
      gone: options.onGone,
    };
  }

  get status(): ConsumerStatus {
    const { breaker } = this.#gate;
    const alive = breaker.kind === "closed" ? "delivering" : "backing_off";
    return {
      state: this.#state === "running" ? alive : "disabled",
      passed: this.#window.passed,
      isAtEnd: this.#window.atEnd,
      takenUp: this.#cursor.open,
      inFlight: this.#inFlight,
      retries: this.#retries.waiting,
      breaker,
      lastTried: this.#lastTried,
    };
  }

  /** Decides from now on which messages it gets. Messages under way are not asked again. */
  route(routing: Routing): void {
    const added = addedConnections(this.#routing.document, routing.document);
    this.#routing = routing;
    if (added.length > 0) {
      // What was read ahead was read without the new sources; what was passed is caught up with.
      this.#window.drop();
      for (const { sourceId, since } of added) this.catchUp(sourceId, since);
    }
    this.#pump();
  }

  /** A source was connected after `since`: looks for messages of it that the cursor has passed without knowing. */
  catchUp(sourceId: string, since: Offset, passed = this.#window.passed): void {
    const { store, reader, clock, events, destinationId } = this.#options;
    catchUp({ store, reader, clock }, { destinationId, sourceId, since }, passed).then(
      (hasMissed) => {
        if (!hasMissed) return;
        this.#retries.changed();
        this.#pump();
      },
      (error) => {
        if (this.#state === "closed" || isGone(error)) return;
        events.storeFailed(destinationId, error);
        clock.after(STORE_RETRY_MS, () => this.catchUp(sourceId, since, passed));
      },
    );
  }

  /** Delivers through this destination from now on; undefined: not at all. */
  use(destination: Destination | undefined): void {
    this.#open?.retire();
    if (this.#state === "closed") return;
    this.#open = destination && new OpenDestination(destination);
    this.#state = destination === undefined ? "paused" : "running";
    this.#gate.reset(destination?.flow.perSecond, this.#options.clock.monotonic());
    this.#pump();
  }

  /** The log has grown. */
  notify(): void {
    this.#window.notify();
    this.#pump();
  }

  /** Somebody put retries, or wants to know now: the retry queue is looked at, and a dead destination probed. */
  wake(): void {
    this.#retries.changed();
    this.#gate.probeNow(this.#options.clock.monotonic());
    this.#pump();
  }

  /** Whose messages are kept in order from now on. */
  keepOrder(order: "none" | "user"): void {
    this.#lines.keep(order);
  }

  /** Takes in a message that failed before its user's order counted, or before a restart: those behind it wait. */
  recall(stored: StoredMessage, retry: Retry): void {
    this.#lines.recall(stored, retry);
  }

  /**
   * Begins nothing more, lets rounds under way end for at most `graceMs`, and stores what they came to. What is cut off
   * then is sent again after a restart, as the same round.
   */
  async close(graceMs: number): Promise<void> {
    const open = this.#open;
    this.#state = "closed";
    this.#timer?.cancel();
    if (this.#inFlight > 0 && graceMs > 0) {
      await new Promise<void>((resolve) => {
        const cancel = this.#options.clock.after(graceMs, resolve);
        this.#onIdle = () => {
          cancel();
          resolve();
        };
      });
    }
    await open?.close();
    if (this.#cursor.cursor > this.#storedCursor) this.#settler.flush();
    await this.#settler.stop();
  }

  #storeFailed(error: unknown): void {
    const { events, destinationId, clock } = this.#options;
    // It was deleted while this was under way: the order to close is on its way.
    if (isGone(error)) return;
    events.storeFailed(destinationId, error);
    clock.after(STORE_RETRY_MS, () => this.#pump());
  }

  #stored({ cursor, outcomes, retries }: Settlement): void {
    this.#storedCursor = cursor;
    for (const { offset } of outcomes) this.#retries.ended(offset);
    for (const retry of retries) this.#retries.put(retry);
    this.#pump();
  }

  #pump(): void {
    if (this.#state !== "running" || this.#open === undefined) return;
    const { concurrency } = this.#open.flow;
    let waitUntilMs: number | undefined;
    while (
      this.#inFlight < concurrency &&
      (this.#inFlight === 0 || this.#inFlightBytes < MOST_BYTES_IN_FLIGHT) &&
      !this.#settler.full
    ) {
      const nowMs = this.#options.clock.monotonic();
      this.#retries.fill(nowMs);
      const gate = this.#gate.ask(nowMs);
      if (gate.kind !== "open") waitUntilMs = gate.untilMs;
      if (!(gate.kind === "dead" ? this.#beginLast(nowMs) : gate.kind === "open" && this.#beginAny(nowMs)))
        break;
    }
    this.#arm(waitUntilMs);
  }

  /** A dead destination gets no message but those whose last attempt this is. */
  #beginLast(nowMs: number): boolean {
    this.#window.drop();
    return this.#beginRetry((retry) => this.#isLastAttempt(retry, nowMs));
  }

  /** By turns a message that failed before and a new one, so that neither waits for all of the other. */
  #beginAny(nowMs: number): boolean {
    this.#gate.enter(nowMs);
    this.#retriesFirst = !this.#retriesFirst;
    if (this.#retriesFirst && this.#beginRetry(ANY)) return true;
    if (this.#beginNew()) return true;
    if (!this.#retriesFirst && this.#beginRetry(ANY)) return true;
    this.#gate.takeBack();
    return false;
  }

  #beginNew(): boolean {
    const work = this.#feed.take();
    if (work !== undefined) {
      this.#begin(work);
      return true;
    }
    if (this.#cursor.cursor - this.#storedCursor > SILENT_MESSAGES) this.#settler.flush();
    return false;
  }

  /** Loads a retry's message and begins its round; holds its place among those under way meanwhile. */
  #beginRetry(accept: (retry: Retry) => boolean): boolean {
    const retry = this.#retries.take(accept);
    if (retry === undefined) return false;
    this.#enter(LOADING_BYTES);
    const isProbe = this.#gate.isProbing;
    const notSent = (): void => {
      if (isProbe) this.#gate.probeNotSent(this.#options.clock.monotonic());
    };
    this.#retryFeed.load(retry).then(
      (stored) => {
        // Disabled or closed while it was loaded: it waits in the store, as before.
        if (this.#state === "paused") this.#ledger.putBack(retry);
        else if (this.#state === "running") {
          const work = this.#retryFeed.workOf(stored, retry);
          if (work === undefined) notSent();
          else this.#begin(work);
        }
        this.#leave(LOADING_BYTES);
      },
      (error) => {
        notSent();
        this.#ledger.putBack(retry);
        this.#storeFailed(error);
        this.#leave(LOADING_BYTES);
      },
    );
    return true;
  }

  #begin(work: Work): void {
    const { clock, policy } = this.#options;
    const round = new MessageRound(work, clock.monotonic(), policy.retry, this.#listener);
    const message = outgoing(work);
    if (message === undefined || this.#open === undefined) {
      this.#conclude(work, round, { kind: "failed", reason: "this kind of message goes to no destination" });
      return;
    }
    const bytes = work.heldBytes;
    this.#enter(bytes);
    this.#open.deliver(message, round, (outcome) => {
      if (outcome.kind !== "aborted") this.#conclude(work, round, outcome);
      this.#leave(bytes);
    });
  }

  /** One more is under way, which takes so much memory. */
  #enter(bytes: number): void {
    this.#inFlight += 1;
    this.#inFlightBytes += bytes;
  }

  /** One fewer is under way. */
  #leave(bytes: number): void {
    this.#inFlight -= 1;
    this.#inFlightBytes -= bytes;
    if (this.#inFlight === 0) this.#onIdle?.();
    this.#pump();
  }

  /** Carries out what was decided about a message after a round. */
  #conclude(work: Work, round: MessageRound, outcome: Exclude<RoundOutcome, { kind: "aborted" }>): void {
    const { clock, policy } = this.#options;
    const nowMs = clock.monotonic();
    this.#observe(outcome, round, nowMs);
    const { number: rounds, firstAttemptAtMs, waiting } = round;
    const decision = decide(
      outcome,
      {
        rounds,
        firstAttemptAtMs,
        nowMs,
        crowd: this.#retries.waiting,
        random: clock.random(),
        waiting,
        roundsAt: (url) => round.numberAt(url),
      },
      policy.retry,
    );
    const { stored, retry, place } = work;
    if (decision.kind === "settle") {
      this.#ledger.settle(stored, decision.state, decision.reason);
      this.#lines.done(stored);
    } else {
      const { kind: _, ...when } = decision;
      const { offset } = stored;
      const replay = retry?.replay ?? false;
      const next: Retry = { offset, rounds, firstAttemptAtMs, reason: outcome.reason, replay, ...when };
      this.#ledger.retry(stored, next);
      this.#lines.failed(stored, next);
    }
    if (place !== undefined) this.#cursor.done(place);
  }

  /** What a round says about the destination as a whole. */
  #observe(
    outcome: Exclude<RoundOutcome, { kind: "aborted" }>,
    { error = outcome.reason }: Pick<MessageRound, "error">,
    nowMs: number,
  ): void {
    const { clock, events, destinationId } = this.#options;
    const before = this.#gate.breaker;
    this.#gate.observe(outcome, nowMs, clock.random());
    this.#lastTried =
      outcome.kind === "delivered" ? { kind: "delivered" } : failedAgain(this.#lastTried, clock.now(), error);
    const after = this.#gate.breaker;
    if (before.kind !== after.kind) events.breaker(destinationId, before, after, outcome.reason);
  }

  #isLastAttempt({ offset, rounds, firstAttemptAtMs }: Retry, nowMs: number): boolean {
    return rounds > 0 && nowMs >= lastCallMs(firstAttemptAtMs, offset, this.#options.policy.retry);
  }

  /**
   * Sets the timer for what comes next: a retry that falls due, a probe, a permit. What is due already needs none: it was
   * asked for, or waits for a round, a settlement or a leasing to end, each of which pumps.
   */
  #arm(waitUntilMs: number | undefined): void {
    const { clock } = this.#options;
    const { nextDueMs } = this.#retries;
    if (waitUntilMs === undefined && nextDueMs === undefined && this.#timer === undefined) return;
    const nowMs = clock.monotonic();
    const times = [waitUntilMs, nextDueMs].filter((atMs) => atMs !== undefined && atMs > nowMs);
    const atMs = Math.min(...(times as number[]));
    // Pumping is frequent, and what comes next mostly the same.
    if (atMs === this.#timer?.atMs) return;
    this.#timer?.cancel();
    this.#timer = undefined;
    if (times.length === 0) return;
    const cancel = clock.after(atMs - nowMs, () => {
      this.#timer = undefined;
      this.#pump();
    });
    this.#timer = { atMs, cancel };
  }
}

const ANY = (): boolean => true;

function isGone(error: unknown): boolean {
  return error instanceof StoreError && error.code === "not_found";
}
