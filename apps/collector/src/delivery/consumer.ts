import type { ConsumerState, Lane, Offset, Retry, Settlement, StoredMessage } from "@sluice/event-log";
import { StoreError } from "@sluice/event-log";
import { type CircuitBreaker, serialQueue } from "@sluice/resilience";
import type {
  Destination,
  Flow,
  CountedOutcome as Outcome,
  RoundOutcome,
} from "../destinations/destination.js";
import { addedConnections } from "./control/connections.js";
import { Tried, type TriedFacts } from "./health/last-tried.js";
import { InFlight } from "./in-flight.js";
import type { LogFeed } from "./log-feed.js";
import type { PerUserQueue } from "./ordering/per-user-queue.js";
import type { Order } from "./ordering/restore-order.js";
import { catchUp } from "./reading/catch-up.js";
import type { CursorTracker } from "./reading/cursor-tracker.js";
import type { LogWindow } from "./reading/log-window.js";
import type { Work } from "./reading/work.js";
import type { RetryFeed, StoreRetry } from "./retry-feed.js";
import { match, type Routing } from "./routing/match.js";
import { DestinationGate } from "./sending/destination-gate.js";
import { MessageRound, outgoing, type RoundListener, timestampFormatter } from "./sending/message-round.js";
import { OpenDestination } from "./sending/open-destination.js";
import { RangeSettings } from "./sending/range-settings.js";
import {
  askedUntil,
  endsOf,
  type LeftRange,
  type RangeUnderWay,
  settingsIn,
} from "./sending/range-under-way.js";
import { roundTrace } from "./sending/round-trace.js";
import type { Ledger } from "./settling/ledger.js";
import { afterRound, type Recovery, type RoundResult, release, STEADY } from "./settling/recovery.js";
import type { RetryQueue } from "./settling/retry-queue.js";
import {
  decide,
  lastCallMs,
  type RetryPolicy,
  type RoundEnd,
  retryPolicyFor,
} from "./settling/retry-schedule.js";
import { type SettleTraces, settleTraces } from "./settling/settle-traces.js";
import type { Settler } from "./settling/settler.js";
import type { WakeTimer } from "./wake-timer.js";
import { type ConsumerOptions, wireConsumer } from "./wire-consumer.js";

export interface ConsumerStatus {
  readonly state: "delivering" | "disabled" | "backing_off";
  /** Everything up to here was taken, or is not for the destination. The stored cursor may be far behind it. */
  readonly passed: Offset;
  /** The log holds nothing after `passed`. */
  readonly isAtEnd: boolean;
  /** Messages up to `passed` in their first round, or waiting for a message of the same user that is. */
  readonly taken: number;
  readonly inFlight: number;
  /** Failed messages that wait for their next attempt. */
  readonly retries: number;
  readonly breaker: CircuitBreaker;
  /** How rounds ended since this consumer was created. */
  readonly tried: TriedFacts;
}

/**
 * - `paused`: the destination is disabled, being opened, or cannot be opened. Rounds in flight end as usual; none starts. The first
 *   state, and entered by `use(undefined)`; left by `use(destination)` and `close`.
 * - `running`: messages start while there is room. Entered by `use(destination)`.
 * - `closed`: nothing starts. Rounds in flight may end within the grace period of `close`; one that is cut off leaves no trace and is
 *   repeated after a restart. The end.
 */
type State =
  | { readonly kind: "paused" }
  | { readonly kind: "running"; readonly destination: OpenDestination }
  | { readonly kind: "closed" };

/** A delivery that failed or is pending. */
export interface Discardable {
  readonly stored: StoredMessage;
  readonly isPending: boolean;
}

/** After so many messages that left nothing to store, the cursor is stored on its own. */
const SILENT_MESSAGES = 5_000;
/** The memory that a retry's message counts as while it loads: about the largest that a message can take, in bytes. */
const LOADING_BYTES = 512 * 1_024;

/**
 * Brings the log's messages to one destination: a cursor over the log, a window of messages that are read ahead, a queue of failed
 * ones, and as many concurrent rounds as the destination takes. Every event (a round ended, messages came, a timer) calls `#pump`,
 * which starts what may start. Nothing else starts anything.
 */
export class Consumer {
  readonly #options: ConsumerOptions;
  readonly #settler: Settler;
  readonly #ledger: Ledger;
  readonly #settleTraces: SettleTraces;
  readonly #cursor: CursorTracker;
  readonly #window: LogWindow;
  readonly #feed: LogFeed;
  readonly #retries: RetryQueue;
  readonly #retryFeed: RetryFeed;
  readonly #users: PerUserQueue;
  readonly #gate: DestinationGate;
  /** Of the rounds of the present destination. */
  #listener: RoundListener;
  readonly #timer: WakeTimer;
  readonly #storeRetry: StoreRetry;
  readonly #range: RangeUnderWay;
  #isLoadingRange = false;
  /** Two at once could queue a message twice: each looks first whether it is queued. */
  readonly #catchingUp = serialQueue();
  readonly #inFlight = new InFlight();
  /** Since waiting retries were last released, or from the start. */
  #retriesInFlight = new InFlight();
  /** When that was. What began before says nothing about the destination as it is now. */
  #releasedAtMs = Number.NEGATIVE_INFINITY;
  readonly #formatTime = timestampFormatter();
  #state: State = { kind: "paused" };
  /** The present destination, and those before it that still have rounds in flight. */
  readonly #open = new Set<OpenDestination>();
  #routing: Routing;
  /** What messages that start are made with. */
  #settings: RangeSettings;
  /** How failed messages are retried now. Also applies to those that are waiting already. */
  #retryPolicy: RetryPolicy;
  /** The last cursor that was stored. */
  #storedCursor: Offset;
  #retriesFirst = true;
  #recovery: Recovery = STEADY;
  readonly #tried = new Tried();
  /** By URL, since the destination was opened. */
  readonly #triedUrls = new Map<string, Tried>();

  constructor(options: ConsumerOptions, stored: ConsumerState, routing: Routing) {
    this.#options = options;
    this.#routing = routing;
    this.#settings = RangeSettings.now({ ...routing, transformations: options.transformations });
    this.#retryPolicy = retryPolicyFor(options.policy.retry, routing.document.retryForMs);
    this.#storedCursor = stored.cursor;
    this.#gate = new DestinationGate(options.policy.breaker);
    this.#settleTraces = settleTraces(options.tracing, options.destinationId, options.clock);
    const parts = wireConsumer(options, stored, {
      routing: () => this.#routing,
      policy: () => this.#retryPolicy,
      pump: () => this.#pump(),
      concerns: (batch) => this.#concerns(batch),
      stored: (settlement, leftOut) => this.#stored(settlement, leftOut),
      onFailure: (error, again) => this.#storeFailed(error, again),
    });
    this.#storeRetry = parts.storeRetry;
    this.#timer = parts.timer;
    this.#cursor = parts.cursor;
    this.#window = parts.window;
    this.#retries = parts.retries;
    this.#settler = parts.settler;
    this.#ledger = parts.ledger;
    this.#users = parts.users;
    this.#feed = parts.feed;
    this.#retryFeed = parts.retryFeed;
    this.#range = parts.range;
    this.#listener = this.#newListener();
  }

  get status(): ConsumerStatus {
    const { breaker } = this.#gate;
    const alive = breaker.kind === "closed" ? "delivering" : "backing_off";
    return {
      state: this.#state.kind === "running" ? alive : "disabled",
      passed: this.#window.passed,
      isAtEnd: this.#window.atEnd,
      taken: this.#cursor.open,
      inFlight: this.#inFlight.rounds,
      retries: this.#retries.waiting,
      breaker,
      tried: this.#tried.facts(this.#options.clock.monotonic()),
    };
  }

  /** How the attempts at a URL ended since the destination was opened. */
  triedAt(url: string): TriedFacts {
    return (this.#triedUrls.get(url) ?? new Tried()).facts(this.#options.clock.monotonic());
  }

  /** Sets which messages the destination gets from now on. Messages in flight are not decided again. */
  route(routing: Routing): void {
    const added = addedConnections(this.#routing.document, routing.document);
    this.#routing = routing;
    this.#retryPolicy = retryPolicyFor(this.#options.policy.retry, routing.document.retryForMs);
    if (added.length > 0) {
      // The window was read without the new sources. What the cursor has passed is caught up with.
      this.#window.drop();
      for (const { sourceId, since } of added) this.catchUp(sourceId, since);
    }
    this.#pump();
  }

  /** A source was connected after `since`: queues its messages that the cursor passed before it was known. */
  catchUp(sourceId: string, since: Offset, passed = this.#window.passed): void {
    const { store, reader, clock, events, destinationId } = this.#options;
    const missed = { destinationId, sourceId, since };
    this.#catchingUp(() => catchUp({ store, reader, clock }, missed, passed)).then(
      (hasMissed) => {
        if (!hasMissed) return;
        this.#retries.changed();
        this.#pump();
      },
      (error) => {
        if (this.#state.kind === "closed" || isGone(error)) return;
        events.storeFailed(destinationId, error);
        this.#storeRetry.failed(() => this.catchUp(sourceId, since, passed));
      },
    );
  }

  /**
   * The settings of the destination for what is sent again before anything else. `haveFailed`: it failed with them in this process, and
   * not only in an earlier one. Undefined if there is nothing.
   */
  get settingsLeft(): { readonly settings: unknown; readonly haveFailed: boolean } | undefined {
    const { left } = this.#range;
    return left && { settings: settingsIn(left.range), haveFailed: left.hasFailed };
  }

  /**
   * The destination cannot be opened with these settings any more: their messages go into the retry queue, and are decided anew. Resolves
   * with false if they are still being sent.
   */
  async giveUpSettings(): Promise<boolean> {
    const { left } = this.#range;
    if (left === undefined || this.#isLoadingRange) return false;
    this.#isLoadingRange = true;
    try {
      const works = await this.#range.load(left);
      for (const work of works) if (this.#takesUp(work)) this.#postpone(work);
      this.#rangeOver(this.#range.over());
      return true;
    } finally {
      this.#isLoadingRange = false;
    }
  }

  /** Delivers through this destination from now on, or pauses. */
  use(destination: Destination | undefined): void {
    if (this.#state.kind === "running") this.#state.destination.retire();
    if (this.#state.kind === "closed") return;
    this.#setState(
      destination === undefined
        ? { kind: "paused" }
        : { kind: "running", destination: this.#opened(destination) },
    );
    const nowMs = this.#options.clock.monotonic();
    this.#gate.reset(destination?.flow.perSecond, nowMs);
    // New settings may have fixed a URL.
    this.#triedUrls.clear();
    this.#listener = this.#newListener();
    this.#dueNow();
    // Or the whole destination: one waiting message shows whether it works.
    if (destination !== undefined && this.#tried.last.kind === "failed")
      this.#released(release(nowMs), nowMs);
    this.#pump();
  }

  #opened(destination: Destination): OpenDestination {
    const open = new OpenDestination(destination, () => this.#open.delete(open));
    this.#open.add(open);
    return open;
  }

  /** The log has grown. */
  notify(): void {
    this.#window.notify();
    this.#pump();
  }

  /** Somebody put retries, or wants a result now: checks the retry queue, and probes a destination that is down. */
  wake(): void {
    this.requeued();
    this.#gate.probeNow(this.#options.clock.monotonic());
    this.#dueNow();
    this.#pump();
  }

  /** What is left is sent again as soon as it may be, and who waits for it is asked whether it still does. */
  #dueNow(): void {
    if (this.#range.left === undefined) this.#range.changed();
    else this.#range.wait(this.#range.left);
  }

  /** Somebody put retries: checks the retry queue. */
  requeued(): void {
    this.#retries.changed();
    this.#pump();
  }

  /** Whose messages keep their order from now on. */
  setOrder(order: Order): void {
    this.#users.setOrder(order);
  }

  /**
   * Ends deliveries that failed or wait for a retry, as discarded. Leaves out those in flight, whose result is not known yet.
   * Returns the offsets of the others.
   */
  discard(deliveries: readonly Discardable[], reason: string): Offset[] {
    if (this.#state.kind === "closed") return [];
    const discarded = deliveries.flatMap(({ stored, isPending }) => {
      if (isPending && !this.#retries.withhold(stored.offset)) return [];
      this.#ledger.finish(stored, "discarded", reason);
      if (isPending) this.#users.done(stored);
      return [stored.offset];
    });
    // Nothing else is sent before it, and nothing may be left of it.
    if (discarded.length > 0) this.#dueNow();
    return discarded;
  }

  /** The lane of a message whose order counts. */
  laneOf(stored: StoredMessage): number | undefined {
    return this.#users.laneOf(stored);
  }

  /** Adds a user's waiting retries, so that the user's later messages wait for them. */
  restore(lane: Lane): void {
    this.#users.restore(lane);
  }

  /**
   * Starts nothing more, lets rounds in flight end for at most `graceMs`, and stores their results. A round that is cut off is
   * repeated after a restart, with the same number.
   */
  async close(graceMs: number): Promise<void> {
    const before = this.#state;
    this.#setState({ kind: "closed" });
    this.#range.changed();
    this.#timer.cancel();
    this.#storeRetry.close();
    if (before.kind === "running") before.destination.batches?.drain();
    if (this.#inFlight.rounds > 0 && graceMs > 0) {
      const grace = Promise.withResolvers<void>();
      const cancel = this.#options.clock.after(graceMs, grace.resolve);
      await Promise.race([this.#inFlight.idle(), grace.promise]);
      cancel();
    }
    await Promise.all([...this.#open].map((open) => open.close()));
    if (this.#cursor.cursor > this.#storedCursor) this.#settler.flush();
    await this.#settler.stop();
  }

  /** Whether a batch may hold messages for this destination. */
  #concerns({
    sourceId,
    onlyDestinations,
  }: {
    sourceId: string;
    onlyDestinations?: readonly string[];
  }): boolean {
    return onlyDestinations === undefined
      ? this.#routing.connections.has(sourceId)
      : onlyDestinations.includes(this.#options.destinationId);
  }

  #setState(state: State): void {
    this.#state = state;
  }

  #storeFailed(error: unknown, again?: () => void): void {
    const { events, destinationId } = this.#options;
    // After `close`, or the destination was deleted meanwhile, and `close` is about to be called.
    if (this.#state.kind === "closed" || isGone(error)) return;
    events.storeFailed(destinationId, error);
    this.#storeRetry.failed(again);
  }

  #stored(settlement: Settlement, leftOut: readonly Offset[]): void {
    const { cursor, outcomes, retries } = settlement;
    this.#storeRetry.succeeded();
    this.#storedCursor = cursor;
    this.#settleTraces.stored(settlement);
    for (const { offset } of outcomes) this.#retries.ended(offset);
    for (const retry of retries) this.#retries.put(retry);
    for (const offset of leftOut) this.#retries.leftOut(offset);
    this.#users.stored(settlement);
    this.#pump();
  }

  #pump(): void {
    if (this.#state.kind !== "running" || this.#sendsLeft()) return;
    const { batches, flow } = this.#state.destination;
    let waitUntilMs: number | undefined;
    let lastCallAtMs: number | undefined;
    let nowMs = this.#options.clock.monotonic();
    while (this.#hasRoom(flow)) {
      nowMs = this.#options.clock.monotonic();
      this.#retries.fill(nowMs);
      this.#releaseRetries(nowMs);
      const gate = this.#gate.ask(nowMs);
      if (gate.kind !== "open") waitUntilMs = gate.untilMs;
      lastCallAtMs = gate.kind === "dead" ? this.#nextLastCallMs() : undefined;
      if (!(gate.kind === "dead" ? this.#startLast(nowMs) : gate.kind === "open" && this.#startAny(nowMs)))
        break;
    }
    if (batches !== undefined && !this.#inFlight.hasRoom(flow.concurrency, flow.maxBytes)) batches.full();
    // What is due already needs no timer: it waits for a round, a settlement or a lease to end, and each of them pumps.
    this.#timer.set([waitUntilMs, lastCallAtMs, this.#retries.nextDueMs], nowMs);
  }

  /** Whether what was left is still to be sent, or is under way: it comes before everything else. */
  #sendsLeft(): boolean {
    const { left, isRepeated } = this.#range;
    if (left !== undefined) this.#repeatLeft(left);
    return left !== undefined || isRepeated;
  }

  /** Sends again what was left, as it was, when its time has come. Nothing else is sent before. */
  #repeatLeft(left: LeftRange): void {
    // What became of its messages is stored first.
    if (this.#isLoadingRange || !this.#settler.isIdle) return;
    const nowMs = this.#options.clock.monotonic();
    const dueAtMs = this.#dueAtMs(left, nowMs);
    this.#window.drop();
    this.#timer.set([dueAtMs], nowMs);
    if (dueAtMs > nowMs) return;
    this.#isLoadingRange = true;
    this.#range.load(left).then(
      (works) => {
        this.#isLoadingRange = false;
        // Paused or closed while they were loaded. `use` begins anew.
        if (this.#state.kind === "running") this.#sendAgain(works, this.#state.destination);
      },
      (error) => {
        this.#isLoadingRange = false;
        this.#storeFailed(error);
      },
    );
  }

  /** While the breaker is open, the range is its probe. */
  #dueAtMs({ range, dueAtMs, notBeforeMs, first }: LeftRange, nowMs: number): number {
    const gate = this.#gate.ask(nowMs);
    if (gate.kind === "paced") return Math.max(gate.untilMs, dueAtMs, notBeforeMs);
    if (gate.kind === "open")
      return Math.max(this.#gate.breaker.kind === "open" ? nowMs : dueAtMs, notBeforeMs);
    const lastMs =
      first === undefined ? Number.POSITIVE_INFINITY : this.#lastCallMs(first, endsOf(range).from);
    return Math.min(gate.untilMs ?? Number.POSITIVE_INFINITY, lastMs);
  }

  #sendAgain(works: readonly Work[], { batches }: OpenDestination): void {
    const { clock } = this.#options;
    const nowMs = clock.monotonic();
    const { left } = this.#range;
    if (left === undefined) return;
    const gate = this.#gate.ask(nowMs);
    // The other side may have asked an earlier process to wait. The last attempt is made anyway.
    const notBeforeMs = works.reduce(
      (least, { retry }) => Math.min(least, askedUntil(retry)),
      Number.MAX_VALUE,
    );
    if (gate.kind !== "dead" && works.length > 0 && notBeforeMs > nowMs) {
      this.#range.wait(left, notBeforeMs);
      this.#pump();
      return;
    }
    const started = works.filter((work) => this.#takesUp(work));
    if (started.length === 0) {
      this.#rangeOver(this.#range.over());
      this.#pump();
      return;
    }
    if (gate.kind === "open") this.#gate.enter(nowMs);
    const offsets = started.map(({ stored }) => stored.offset);
    this.#range.repeat(left, offsets, { random: clock.random(), sinceMs: Math.round(nowMs) });
    batches?.repeat(left.range.id, endsOf(left.range));
    const settings = RangeSettings.of(left.range);
    for (const work of started) this.#start(work, settings);
    batches?.full();
  }

  /** Whether a message of the range that was left has its turn, which it had before. */
  #takesUp(work: Work): boolean {
    const { stored, retry } = work;
    const covers = (offset: Offset): boolean => this.#feed.covers({ message: stored.message, offset });
    if (retry === undefined) return this.#users.join(work, true, covers);
    this.#retries.taken(retry.offset);
    if (!this.#users.resume(stored, retry, covers)) return false;
    return !this.#retryFeed.isOver(stored, retry);
  }

  /** Messages that were sent again are not taken from the log. Undefined: there was no such range. */
  #rangeOver(offsets: readonly Offset[] | undefined): void {
    if (offsets === undefined) return;
    this.#feed.settled(offsets);
    this.#options.onRangeEnded();
  }

  /** Asks for the process last: only who could start a round waits for its turn. */
  #hasRoom({ concurrency, maxBytes }: Flow): boolean {
    return this.#inFlight.hasRoom(concurrency, maxBytes) && !this.#settler.full;
  }

  /** After an outage, waiting retries start before they are due. */
  #releaseRetries(nowMs: number): void {
    if (this.#recovery.kind !== "releasing") return;
    this.#retries.release(nowMs, this.#recovery.storedUntilMs, () => {
      this.#recovery = STEADY;
    });
  }

  /** A destination that is down gets only messages on their last attempt. */
  #startLast(nowMs: number): boolean {
    this.#window.drop();
    return this.#startRetry((retry) => this.#isLastAttempt(retry, nowMs));
  }

  /** Alternates between retries and new messages, so that neither waits for all of the other. */
  #startAny(nowMs: number): boolean {
    this.#gate.enter(nowMs);
    this.#retriesFirst = !this.#retriesFirst;
    if (this.#retriesFirst && this.#startRetry(ANY)) return true;
    if (this.#startNew()) return true;
    if (!this.#retriesFirst && this.#startRetry(ANY)) return true;
    this.#gate.takeBack();
    return false;
  }

  #startNew(): boolean {
    const work = this.#feed.take();
    if (work !== undefined) {
      this.#start(work);
      return true;
    }
    if (this.#cursor.cursor - this.#storedCursor > SILENT_MESSAGES) this.#settler.flush();
    return false;
  }

  /** Loads a retry's message and starts its round. It counts as in flight meanwhile. */
  #startRetry(accept: (retry: Retry) => boolean): boolean {
    const { kind } = this.#recovery;
    if (kind === "releasing" && !this.#retriesInFlight.hasRoom(this.#recovery.limit)) return false;
    const retry = this.#retries.take(accept);
    if (retry === undefined) return false;
    const together = this.#retriesInFlight;
    this.#inFlight.enter(LOADING_BYTES);
    together.enter(0);
    const isProbe = this.#gate.isProbing;
    const notSent = (): void => {
      if (isProbe) this.#gate.probeNotSent(this.#options.clock.monotonic());
    };
    this.#retryFeed.load(retry).then(
      (stored) => {
        // Paused or closed while it was loaded: it waits in the store, as before.
        if (this.#state.kind === "paused") this.#ledger.putBack(retry);
        else if (this.#state.kind === "running") {
          const work = this.#retryFeed.workOf(stored, retry);
          if (work === undefined) notSent();
          else this.#start(work);
        }
        together.leave(0);
        this.#leave(LOADING_BYTES);
      },
      (error) => {
        notSent();
        this.#ledger.putBack(retry);
        this.#storeFailed(error);
        together.leave(0);
        this.#leave(LOADING_BYTES);
      },
    );
    return true;
  }

  /** `fixed`: the settings of the range that is sent again. Nothing that was changed since matters. */
  #start(work: Work, fixed?: RangeSettings): void {
    const { clock } = this.#options;
    const listener = this.#listener;
    const decided = fixed === undefined ? this.#decidedNow(work) : { ...UNCHANGED, settings: fixed };
    const round = new MessageRound(work, clock.monotonic(), this.#retryPolicy, listener, decided);
    const message = outgoing(work, this.#formatTime);
    if (message === undefined || this.#state.kind !== "running") {
      const reason = "this kind of message goes to no destination";
      this.#conclude(work, round, { kind: "failed", reason }, listener);
      this.#range.ended(work.stored, { kind: "failed", reason }, undefined);
      return;
    }
    const bytes = work.heldBytes;
    const together = this.#retriesInFlight;
    this.#inFlight.enter(bytes);
    if (work.retry !== undefined) together.enter(0);
    this.#state.destination.deliver(message, round, (outcome) => {
      const retry = this.#ended(work, round, outcome, listener);
      this.#rangeOver(this.#range.ended(work.stored, outcome, retry));
      if (work.retry !== undefined) together.leave(0);
      this.#leave(bytes);
    });
  }

  /** Returns the retry that follows. */
  #ended(work: Work, round: MessageRound, outcome: RoundOutcome, listener: RoundListener): Retry | undefined {
    // After a stop, a message is as it was.
    if (outcome.kind === "aborted" || (outcome.kind === "postponed" && this.#state.kind === "closed"))
      return undefined;
    return outcome.kind === "postponed"
      ? this.#postpone(work)
      : this.#conclude(work, round, outcome, listener);
  }

  /** What holds for a message that starts, and whether that has changed. */
  #decidedNow({ stored, retry }: Work): Decided {
    const listener = this.#listener;
    const routing = this.#routing;
    const { document } = routing;
    if (!this.#settings.areInForce(document, stored.sourceId))
      this.#settings = RangeSettings.now({ ...routing, transformations: this.#options.transformations });
    const replay = retry?.replay === true;
    return {
      settings: this.#settings,
      isOutdated: () =>
        listener !== this.#listener ||
        routing !== this.#routing ||
        match(stored, routing, replay).kind !== "deliver",
    };
  }

  #leave(bytes: number): void {
    this.#inFlight.leave(bytes);
    this.#pump();
  }

  /** Leaves a message to the retry queue as it was before its round: from there, it is decided anew. */
  #postpone({ stored, retry, place }: Work): Retry {
    const nowMs = Math.round(this.#options.clock.monotonic());
    if (this.#gate.isProbing) this.#gate.probeNotSent(nowMs);
    const { offset } = stored;
    const untried: Retry = {
      ...{ offset, rounds: 0, firstAttemptAtMs: nowMs, dueAtMs: nowMs, doneUrls: [], replay: false },
      reason: "waits for settings that have changed",
    };
    const lane = retry?.replay === true ? undefined : this.#users.laneOf(stored);
    const next: Retry = { ...(retry ?? untried), dueAtMs: nowMs, ...(lane === undefined ? {} : { lane }) };
    this.#ledger.retry(stored, next);
    this.#users.failed(stored, next);
    if (place !== undefined) this.#cursor.done(place);
    return next;
  }

  /** Records what a round's outcome means for its message. Returns the retry that follows. */
  #conclude(work: Work, round: MessageRound, outcome: Outcome, listener: RoundListener): Retry | undefined {
    const { clock } = this.#options;
    const nowMs = clock.monotonic();
    // A round with earlier settings says nothing about the present ones.
    if (listener === this.#listener) this.#observe(outcome, round, nowMs);
    const { number: rounds, waiting } = round;
    const shared = this.#sharedBy(work, round);
    const decision = decide(
      outcome,
      {
        ...{ rounds, nowMs, ...shared, waiting },
        roundsAt: (url) => round.numberAt(url),
        notBeforeMs: work.retry?.notBeforeMs,
      },
      this.#retryPolicy,
    );
    const { stored, retry, place } = work;
    this.#settleTraces.concluded(stored, round.messageTrace);
    let next: Retry | undefined;
    if (decision.kind === "finish") {
      this.#ledger.finish(stored, decision.state, decision.reason);
      if (retry?.replay !== true) this.#users.done(stored);
    } else {
      const { kind: _, ...when } = decision;
      const { offset } = stored;
      const replay = retry?.replay ?? false;
      const lane = replay ? undefined : this.#users.laneOf(stored);
      const inLane = lane === undefined ? {} : { lane };
      next = {
        ...{ offset, rounds, firstAttemptAtMs: shared.firstAttemptAtMs, reason: outcome.reason, replay },
        ...when,
        ...inLane,
      };
      this.#ledger.retry(stored, next);
      this.#users.failed(stored, next);
    }
    if (place !== undefined) this.#cursor.done(place);
    return next;
  }

  /** What the messages of a range have in common, so that they are retried, and given up, together. */
  #sharedBy(
    { stored, retry }: Work,
    { firstAttemptAtMs, startedAtMs }: MessageRound,
  ): Pick<RoundEnd, "firstAttemptAtMs" | "waitingRetries" | "random"> {
    const shared = this.#range.sharedBy(stored.offset);
    // Those that wait for an earlier message of their user do not return at the same time.
    const waitingRetries = Math.max(0, this.#retries.waiting - this.#users.behind);
    if (shared === undefined && this.#isOfBefore(startedAtMs))
      return { firstAttemptAtMs, waitingRetries: 0, random: AT_ONCE };
    if (shared === undefined)
      return { firstAttemptAtMs, waitingRetries, random: this.#options.clock.random() };
    const { random, sinceMs } = shared;
    const isFirst = (retry?.rounds ?? 0) === 0;
    return { firstAttemptAtMs: isFirst ? sinceMs : firstAttemptAtMs, waitingRetries: 0, random };
  }

  /** Updates what is known about the destination as a whole. */
  #observe(
    outcome: Outcome,
    { error = outcome.reason, startedAtMs }: Pick<MessageRound, "error" | "startedAtMs">,
    nowMs: number,
  ): void {
    const { clock, events, destinationId } = this.#options;
    // Nothing was sent, so nothing is known.
    if (outcome.kind === "filtered") {
      this.#gate.probeNotSent(nowMs);
      return;
    }
    const before = this.#gate.breaker;
    // No message waits longer than its window for a `Retry-After`, so the probe does not either.
    const { windowMs: longestWaitMs } = this.#retryPolicy;
    this.#gate.observe(outcome, { nowMs, random: clock.random(), longestWaitMs });
    this.#tried.ended(outcome.kind === "delivered" ? undefined : error, {
      atMs: clock.now(),
      monotonicMs: nowMs,
    });
    const isOld = this.#isOfBefore(startedAtMs);
    this.#recover(outcome, { wasDown: before.kind !== "closed", isOld, nowMs });
    const after = this.#gate.breaker;
    if (before.kind !== after.kind) events.breaker(destinationId, before, after, outcome.reason);
  }

  #newListener(): RoundListener {
    const listener: RoundListener = {
      settler: this.#settler,
      trace: (work) => roundTrace(work, this.#options.destinationId, this.#options.tracing),
      gone: this.#options.onGone,
      fix: (choose) =>
        this.#range.fix(
          choose,
          () => listener === this.#listener && this.#state.kind === "running",
          this.#options.clock,
        ),
      attempted: (url, error) => {
        if (listener === this.#listener) this.#attempted(url, error);
      },
    };
    return listener;
  }

  #attempted(url: string, error: string | undefined): void {
    const { clock } = this.#options;
    const tried = this.#triedUrls.get(url) ?? new Tried();
    this.#triedUrls.set(url, tried);
    tried.ended(error, { atMs: clock.now(), monotonicMs: clock.monotonic() });
  }

  /** Begins, goes on with, or ends the release of waiting retries. */
  #recover(outcome: Outcome, when: Parameters<typeof afterRound>[2]): void {
    const result = resultOf(outcome);
    if (result === undefined) return;
    const before = this.#recovery;
    const after = afterRound(before, result, when);
    this.#recovery = after;
    if (before.kind === "steady" && after.kind === "releasing") this.#released(after, when.nowMs);
    if (before.kind === "steady" || after.kind === "releasing") return;
    for (const retry of this.#retries.takeEarly(when.nowMs)) this.#ledger.putBack(retry);
  }

  #released(recovery: Recovery, nowMs: number): void {
    this.#recovery = recovery;
    this.#retriesInFlight = new InFlight();
    this.#releasedAtMs = nowMs;
  }

  #isOfBefore(startedAtMs: number): boolean {
    return startedAtMs < this.#releasedAtMs;
  }

  #isLastAttempt(retry: Retry, nowMs: number): boolean {
    return nowMs >= this.#lastCallMs(retry);
  }

  /** When a message is sent even if the destination is down. A message that was never sent has no last attempt. */
  #lastCallMs({ offset, rounds, firstAttemptAtMs }: Retry, spreadBy: number = offset): number {
    if (rounds === 0) return Number.POSITIVE_INFINITY;
    return lastCallMs(firstAttemptAtMs, spreadBy, this.#retryPolicy);
  }

  /** In a short window, the breaker's next probe may be after the last attempt of a message. */
  #nextLastCallMs(): number {
    return this.#retries.earliest((retry) => this.#lastCallMs(retry));
  }
}

/** Undefined if the round says nothing about the destination. */
function resultOf(outcome: Outcome): RoundResult | undefined {
  if (outcome.kind === "filtered") return undefined;
  if (outcome.kind === "failed")
    return outcome.countsAgainst === true ? { kind: "failed", hasRetryAfter: false } : { kind: "refused" };
  if (outcome.kind === "delivered" || outcome.alive === true) return { kind: "delivered" };
  if (outcome.alive === "unknown") return undefined;
  const waits = [outcome.retryAfterMs, ...(outcome.targets ?? []).map(({ retryAfterMs }) => retryAfterMs)];
  return { kind: "failed", hasRetryAfter: waits.some((ms) => ms !== undefined) };
}

type Decided = Pick<MessageRound, "settings" | "isOutdated">;

const UNCHANGED = { isOutdated: () => false };

const ANY = (): boolean => true;

/** As chance for a backoff: none. */
const AT_ONCE = 0;

function isGone(error: unknown): boolean {
  return error instanceof StoreError && error.code === "not_found";
}
