import { formatTime } from "@sluice/protocol";
import {
  admit,
  afterFailure,
  afterSuccess,
  type CancelTimer,
  type CircuitBreaker,
  CLOSED_BREAKER,
  type Clock,
} from "@sluice/resilience";
import type { Destination, RoundOutcome } from "../destinations/destination.js";
import type {
  Attempt,
  ConsumerState,
  FinalState,
  Offset,
  Retry,
  Store,
  StoredMessage,
} from "../store/store.js";
import { type CursorTracker, cursorTracker, type Place } from "./cursor-tracker.js";
import type { DeliveryEvents } from "./delivery-events.js";
import type { DeliveryPolicy } from "./delivery-policy.js";
import { LogWindow } from "./log-window.js";
import { isOutbound, type Match, match, type Routing } from "./match.js";
import { fullRateLimit, type RateLimit, takePermit } from "./rate-limit.js";
import { RetryQueue } from "./retry-queue.js";
import { decide, isOver, lastCallMs, windowText } from "./retry-schedule.js";
import { type Settler, settler } from "./settler.js";
import { messagesOf, type SharedReader } from "./shared-reader.js";
import { UserOrder, userOf } from "./user-order.js";

export interface ConsumerOptions {
  readonly destinationId: string;
  readonly store: Store;
  readonly reader: SharedReader;
  /** For due times, windows and waiting. */
  readonly steady: Clock;
  /** For times that are stored and shown. */
  readonly clock: Clock;
  readonly policy: DeliveryPolicy;
  readonly events: DeliveryEvents;
  /** A target answered 410. */
  readonly onGone: (url: string) => void;
}

export interface ConsumerStatus {
  readonly state: "delivering" | "disabled" | "backing_off";
  readonly cursor: Offset;
  readonly inFlight: number;
  /** Messages that failed and wait for their next attempt. */
  readonly retries: number;
  readonly breaker: CircuitBreaker;
  readonly lastError?: string;
}

type Deliverable = Extract<Match, { kind: "deliver" }>;

/** A message on its way. */
interface Work {
  readonly stored: StoredMessage;
  readonly matched: Deliverable;
  /** Its place in the log's order; absent for what comes from the retry queue. */
  readonly place?: Place;
  readonly retry?: Retry;
}

/** A destination that was opened, with the rounds that it has under way: it is closed when it was replaced and has none. */
interface OpenDestination {
  readonly destination: Destination;
  rounds: number;
  retired: boolean;
}

/**
 * - `running`: messages are begun as long as there is room.
 * - `paused`: the destination is disabled, or cannot be opened; rounds under way end as ever, none is begun.
 * - `closed`: nothing is begun, and what ends now leaves no trace: it is done again after a restart.
 */
type State = "running" | "paused" | "closed";

/** What came of the attempt to begin a round: begun, nothing there, or nothing may begin before a time. */
type Begun = "begun" | "nothing" | { readonly waitUntilMs: number | undefined };

/** The cursor is stored for its own sake when so many messages passed that left nothing to store. */
const SILENT_MESSAGES = 5_000;
/** Messages that wait in memory for an earlier one of their user, at most. */
const MOST_IN_LINE = 1_000;
const STORE_RETRY_MS = 1_000;

/**
 * Brings the log's messages to one destination: a cursor over the log, a window of messages read ahead, a queue of those
 * that failed, and as many rounds at a time as the destination takes. Everything that happens (a round ended, messages
 * came, a timer) leads to `#pump`, which begins what may begin; nothing else begins anything.
 */
export class Consumer {
  readonly #options: ConsumerOptions;
  readonly #settler: Settler;
  readonly #window: LogWindow;
  readonly #retries: RetryQueue;
  readonly #cursor: CursorTracker;
  /** Messages beyond the cursor that were settled before the last restart. */
  readonly #settledAhead: Set<Offset>;
  readonly #order = new UserOrder<Work>();
  /** Messages whose earlier ones of the same user are done. */
  #nextInLine: Work[] = [];
  #state: State = "paused";
  #routing: Routing;
  #open: OpenDestination | undefined;
  #inFlight = 0;
  #breaker: CircuitBreaker = CLOSED_BREAKER;
  #rate: RateLimit | undefined;
  /** The last cursor that went to the store with something else. */
  #storedCursor: Offset;
  #retriesFirst = true;
  #cancelTimer: CancelTimer | undefined;
  #lastError: string | undefined;
  #onIdle: (() => void) | undefined;

  constructor(options: ConsumerOptions, stored: ConsumerState, routing: Routing) {
    const { destinationId, store, reader, steady, events } = options;
    const consumerId = destinationId;
    const onFailure = (error: unknown): void => {
      events.storeFailed(destinationId, error);
      steady.after(STORE_RETRY_MS, () => this.#pump());
    };
    this.#options = options;
    this.#routing = routing;
    this.#cursor = cursorTracker(stored.cursor);
    this.#storedCursor = stored.cursor;
    this.#settledAhead = new Set(stored.settledAhead);
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
      consumers: store.consumers,
      clock: steady,
      stored: stored.retries,
      onReady: () => this.#pump(),
      onFailure,
    });
    this.#settler = settler({
      consumerId,
      consumers: store.consumers,
      clock: steady,
      cursor: () => this.#cursor.cursor,
      onStored: ({ cursor, outcomes, retries }) => {
        this.#storedCursor = cursor;
        for (const { offset } of outcomes) this.#retries.ended(offset);
        for (const retry of retries) this.#retries.put(retry);
        this.#pump();
      },
      onFailure,
    });
  }

  get status(): ConsumerStatus {
    const alive = this.#breaker.kind === "closed" ? "delivering" : "backing_off";
    return {
      state: this.#state === "running" ? alive : "disabled",
      cursor: this.#cursor.cursor,
      inFlight: this.#inFlight,
      retries: this.#retries.waiting,
      breaker: this.#breaker,
      ...(this.#lastError === undefined ? {} : { lastError: this.#lastError }),
    };
  }

  /** Decides from now on which messages it gets. Messages under way are not asked again. */
  route(routing: Routing): void {
    const before = this.#routing;
    this.#routing = routing;
    // A source was connected, and the log was read on before we heard of it.
    for (const { sourceId, since, upTo } of [...routing.connections.values()].flat()) {
      const isNew = !before.connections.get(sourceId)?.some((known) => known.since === since);
      if (isNew && upTo === undefined && since < this.#window.passed) {
        void this.#takeIn(sourceId, since, this.#window.passed);
      }
    }
    this.#pump();
  }

  /** Puts a source's messages of a span that was passed already into the retry queue, as due now. */
  async #takeIn(sourceId: string, after: Offset, upTo: Offset): Promise<void> {
    const { reader, steady, events, destinationId } = this.#options;
    try {
      for await (const stored of messagesOf(reader, sourceId, after, upTo)) {
        const nowMs = steady.now();
        this.#putRetry({
          offset: stored.offset,
          rounds: 0,
          firstAttemptAtMs: nowMs,
          dueAtMs: nowMs,
          reason: "queued",
          doneUrls: [],
          replay: false,
        });
      }
    } catch (error) {
      events.storeFailed(destinationId, error);
      steady.after(STORE_RETRY_MS, () => void this.#takeIn(sourceId, after, upTo));
    }
  }

  /** Delivers through this destination from now on; undefined: not at all. */
  use(destination: Destination | undefined): void {
    const former = this.#open;
    if (former !== undefined) {
      former.retired = true;
      closeWhenDone(former);
    }
    if (this.#state === "closed") return;
    this.#open = destination === undefined ? undefined : { destination, rounds: 0, retired: false };
    this.#state = destination === undefined ? "paused" : "running";
    const { perSecond } = destination?.flow ?? {};
    this.#rate = perSecond === undefined ? undefined : fullRateLimit(perSecond, this.#options.steady.now());
    // New settings may be the cure: begin as with a destination that is well.
    this.#breaker = CLOSED_BREAKER;
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
    if (this.#breaker.kind === "open") {
      this.#breaker = { ...this.#breaker, probeAtMs: this.#options.steady.now() };
    }
    this.#pump();
  }

  /** Takes in a message that failed before a restart, so that those of the same user behind it wait. In the log's order. */
  recall(stored: StoredMessage, retry: Retry): void {
    this.#order.park(userOf(stored.message), retry);
  }

  /** Whether messages of this one's user are sent one after the other. */
  #isOrdered(stored: StoredMessage): boolean {
    return this.#open?.destination.flow.order === "user" || isMadeHere(stored);
  }

  /**
   * Begins nothing more, lets rounds under way end for at most `graceMs`, and stores what they came to. What is cut off
   * then is sent again after a restart, as the same round.
   */
  async close(graceMs: number): Promise<void> {
    const open = this.#open;
    this.#state = "closed";
    this.#cancelTimer?.();
    if (this.#inFlight > 0 && graceMs > 0) {
      await new Promise<void>((resolve) => {
        const cancel = this.#options.clock.after(graceMs, resolve);
        this.#onIdle = () => {
          cancel();
          resolve();
        };
      });
    }
    await open?.destination.close();
    if (this.#cursor.cursor > this.#storedCursor) this.#settler.flush();
    await this.#settler.stop();
  }

  #pump(): void {
    const flow = this.#open?.destination.flow;
    if (this.#state !== "running" || flow === undefined) return;
    let waitUntilMs: number | undefined;
    while (this.#inFlight < flow.concurrency && !this.#settler.full) {
      const begun = this.#beginOne(flow.order === "user");
      if (begun === "begun") continue;
      if (begun !== "nothing") waitUntilMs = begun.waitUntilMs;
      break;
    }
    this.#arm(waitUntilMs);
  }

  /** Begins one round if there is one and it may. */
  #beginOne(ordered: boolean): Begun {
    const nowMs = this.#options.steady.now();
    this.#retries.fill(nowMs);
    const gate = admit(this.#breaker, nowMs);
    if (!gate.admitted) {
      // A dead destination gets no message but those whose last attempt this is.
      this.#window.drop();
      const last = this.#retries.take((retry) => this.#isLastAttempt(retry, nowMs));
      if (last === undefined) return { waitUntilMs: gate.retryAtMs };
      this.#beginRetry(last);
      return "begun";
    }
    if (this.#rate !== undefined) {
      const permit = takePermit(this.#rate, nowMs);
      if (!permit.taken) return { waitUntilMs: permit.retryAtMs };
      if (!this.#beginAny(ordered, gate.next)) return "nothing";
      this.#rate = permit.next;
      return "begun";
    }
    return this.#beginAny(ordered, gate.next) ? "begun" : "nothing";
  }

  /** By turns a message that failed before and a new one, so that neither waits for all of the other. */
  #beginAny(ordered: boolean, breaker: CircuitBreaker): boolean {
    const before = this.#breaker;
    this.#breaker = breaker;
    this.#retriesFirst = !this.#retriesFirst;
    if (this.#retriesFirst && this.#beginAnyRetry()) return true;
    if (this.#beginNew(ordered)) return true;
    if (!this.#retriesFirst && this.#beginAnyRetry()) return true;
    this.#breaker = before;
    return false;
  }

  #beginAnyRetry(): boolean {
    const retry = this.#retries.take(() => true);
    if (retry === undefined) return false;
    this.#beginRetry(retry);
    return true;
  }

  /** Begins the next message of the log that is to be delivered; those that are not are settled on the way. */
  #beginNew(ordered: boolean): boolean {
    for (let next = this.#nextInLine.shift(); next !== undefined; next = this.#nextInLine.shift()) {
      // Its user may have been deleted while it waited behind an earlier message.
      const isGone = this.#isGone(next.stored);
      if (!isGone) {
        this.#begin(next);
        return true;
      }
      this.#settle(next.stored, "suppressed", "the user was deleted");
      this.#leaveLine(next.stored);
      if (next.place !== undefined) this.#cursor.done(next.place);
    }
    for (;;) {
      if (this.#order.waiting >= MOST_IN_LINE || this.#settler.full) return false;
      const stored = this.#window.take();
      if (stored === undefined) break;
      const place = this.#cursor.add(stored.offset);
      if (this.#settledAhead.delete(stored.offset)) {
        this.#cursor.done(place);
        continue;
      }
      const matched = this.#match(stored, false);
      if (matched === undefined) {
        this.#cursor.done(place);
        continue;
      }
      const work: Work = { stored, matched, place };
      this.#order.dropParked(userOf(stored.message), (offset) =>
        this.#isGone({ message: stored.message, offset }),
      );
      const turn =
        ordered || isMadeHere(stored)
          ? this.#order.join(userOf(stored.message), stored.offset, work)
          : "begin";
      if (turn === "park") this.#park(work);
      if (turn !== "begin") continue;
      this.#begin(work);
      // While this one is under way the next are read.
      this.#window.fill();
      return true;
    }
    this.#window.fill();
    this.#cursor.passed(this.#window.passed);
    if (this.#cursor.cursor - this.#storedCursor > SILENT_MESSAGES) this.#settler.flush();
    return false;
  }

  /** Whether the message came before its user was deleted, or while suppressed. */
  #isGone({ message, offset }: Pick<StoredMessage, "message" | "offset">): boolean {
    return message.type !== "delete" && (this.#routing.isSuppressed?.(userOf(message), offset) ?? false);
  }

  /** What is to be delivered; anything else is settled, where there is something to say about it. */
  #match(stored: StoredMessage, replay: boolean): Deliverable | undefined {
    const matched = match(stored, this.#routing, replay);
    switch (matched.kind) {
      case "deliver":
        return matched;
      case "unconnected":
        if (replay) this.#settle(stored, "failed", "the source is not connected to this destination");
        return undefined;
      case "filtered":
      case "skipped":
      case "suppressed":
        this.#settle(stored, matched.kind, matched.reason);
        return undefined;
      default:
        return matched satisfies never;
    }
  }

  /** Loads a retry's message and begins its round; holds its place among those under way meanwhile. */
  #beginRetry(retry: Retry): void {
    this.#inFlight += 1;
    const isProbe = this.#breaker.kind === "probing";
    this.#options.store.log.get(retry.offset).then(
      (stored) => {
        this.#inFlight -= 1;
        if (this.#state !== "running") {
          // Disabled or closed while it was loaded: it waits in the store, as before.
          if (this.#inFlight === 0) this.#onIdle?.();
          if (this.#state === "paused") this.#settler.retry(retry);
          return;
        }
        const work = stored === undefined ? this.#missing(retry) : this.#retryWork(stored, retry);
        if (work !== undefined) this.#begin(work);
        else if (isProbe) this.#probeNotSent();
        if (this.#inFlight === 0) this.#onIdle?.();
        this.#pump();
      },
      (error) => {
        this.#inFlight -= 1;
        if (isProbe) this.#probeNotSent();
        this.#options.events.storeFailed(this.#options.destinationId, error);
        this.#settler.retry(retry);
      },
    );
  }

  /** What was to be the probe turned out not to be sent at all: the next message is it. */
  #probeNotSent(): void {
    if (this.#breaker.kind !== "probing") return;
    this.#breaker = { kind: "open", probes: this.#breaker.probes, probeAtMs: this.#options.steady.now() };
  }

  #retryWork(stored: StoredMessage, retry: Retry): Work | undefined {
    const nowMs = this.#options.steady.now();
    const { retry: schedule } = this.#options.policy;
    const user = userOf(stored.message);
    const isOrdered = this.#isOrdered(stored) && !retry.replay;
    if (isOrdered && !this.#order.resume(user, retry.offset)) {
      // Its turn comes when the one before it is done, and then it is called up at once.
      const later = { ...retry, dueAtMs: nowMs + schedule.backoff.maxMs };
      this.#order.park(user, later);
      this.#settler.retry(later);
      return undefined;
    }
    const over = retry.rounds > 0 && isOver(retry.firstAttemptAtMs, nowMs, schedule);
    const matched = over ? undefined : this.#match(stored, retry.replay);
    if (over) this.#settle(stored, "failed", `gave up after ${windowText(schedule)}: ${retry.reason}`);
    if (matched !== undefined) return { stored, matched, retry };
    if (isOrdered) this.#leaveLine(stored);
    return undefined;
  }

  #missing({ offset }: Retry): undefined {
    const { clock } = this.#options;
    this.#settler.outcome({
      offset,
      state: "failed",
      reason: "the message is no longer stored",
      atMs: clock.now(),
    });
    const user = this.#order.firstAt(offset);
    if (user !== undefined) this.#leave(user, offset);
    return undefined;
  }

  #begin(work: Work): void {
    const open = this.#open;
    const { stored, matched, retry } = work;
    const { steady } = this.#options;
    if (open === undefined || !isOutbound(matched.message)) {
      this.#conclude(work, { kind: "failed", reason: "this kind of message goes to no destination" }, 0, 0);
      return;
    }
    this.#inFlight += 1;
    open.rounds += 1;
    const rounds = (retry?.rounds ?? 0) + 1;
    const firstAttemptAtMs = rounds > 1 && retry !== undefined ? retry.firstAttemptAtMs : steady.now();
    const record = (attempt: Omit<Attempt, "offset" | "attempt" | "replay">): void => {
      if (attempt.error !== undefined) this.#lastError = attempt.error.message;
      const replay = retry?.replay === true ? { replay: true } : {};
      this.#settler.attempt({ offset: stored.offset, attempt: rounds, ...attempt, ...replay });
    };
    open.destination
      .deliver(
        {
          messageId: stored.messageId,
          sourceId: stored.sourceId,
          message: matched.message,
          timestamp: formatTime(matched.timeMs),
        },
        {
          number: rounds,
          doneUrls: retry?.doneUrls ?? [],
          failedUrls: retry?.failedUrls ?? [],
          record,
          gone: this.#options.onGone,
        },
      )
      .catch((error: unknown) => crashed(error))
      .then((outcome) => {
        this.#inFlight -= 1;
        open.rounds -= 1;
        if (outcome.kind !== "aborted") this.#conclude(work, outcome, rounds, firstAttemptAtMs);
        closeWhenDone(open);
        if (this.#inFlight === 0) this.#onIdle?.();
        this.#pump();
      });
  }

  /** Carries out what was decided about a message after a round. */
  #conclude(
    work: Work,
    outcome: Exclude<RoundOutcome, { kind: "aborted" }>,
    rounds: number,
    firstAttemptAtMs: number,
  ): void {
    const { steady, clock, policy, events, destinationId } = this.#options;
    const nowMs = steady.now();
    this.#observe(outcome, nowMs);
    const crowd = this.#retries.waiting;
    const decision = decide(
      outcome,
      { rounds, firstAttemptAtMs, nowMs, crowd, random: clock.random() },
      policy.retry,
    );
    const { stored, retry, place } = work;
    if (decision.kind === "settle") {
      this.#settle(stored, decision.state, decision.reason);
      this.#leaveLine(stored);
    } else {
      const { reason, doneUrls, failedUrls } = outcome as Extract<RoundOutcome, { kind: "retry" }>;
      const next: Retry = {
        offset: stored.offset,
        rounds,
        firstAttemptAtMs,
        dueAtMs: decision.dueAtMs,
        reason,
        doneUrls,
        ...(failedUrls.length === 0 ? {} : { failedUrls }),
        replay: retry?.replay ?? false,
      };
      this.#putRetry(next);
      events.retrying(destinationId, stored, reason, clock.now(), decision.dueAtMs);
      this.#parkLine(stored, next);
    }
    if (place !== undefined) this.#cursor.done(place);
  }

  /** What a round says about the destination as a whole. */
  #observe(outcome: Exclude<RoundOutcome, { kind: "aborted" }>, nowMs: number): void {
    const { policy, clock, events, destinationId } = this.#options;
    const before = this.#breaker;
    const isFailure = outcome.kind === "retry" && !outcome.alive;
    if (!isFailure) {
      this.#breaker = afterSuccess(before);
      if (outcome.kind === "delivered") this.#lastError = undefined;
    } else {
      const after = afterFailure(before, policy.breaker, nowMs, clock.random());
      // A receiver that says when to come again is not probed before.
      const notBeforeMs = nowMs + (outcome.retryAfterMs ?? 0);
      this.#breaker =
        after.kind === "open" && after.probeAtMs < notBeforeMs ? { ...after, probeAtMs: notBeforeMs } : after;
    }
    if (before.kind !== this.#breaker.kind) {
      events.breaker(destinationId, before, this.#breaker, outcome.reason);
    }
  }

  #settle(stored: StoredMessage, state: FinalState, reason: string): void {
    const { clock, events, destinationId } = this.#options;
    const atMs = clock.now();
    this.#settler.outcome({ offset: stored.offset, state, reason, atMs });
    events.settled(destinationId, stored, state, reason, atMs);
  }

  #putRetry(retry: Retry): void {
    this.#retries.handedOver(retry.offset);
    this.#settler.retry(retry);
  }

  /** The message and those that wait behind it in memory go to the retry queue. */
  #parkLine(stored: StoredMessage, retry: Retry): void {
    if (!this.#isOrdered(stored) || retry.replay) return;
    const user = userOf(stored.message);
    const behind = this.#order.waitingOf(user);
    this.#order.park(user, retry);
    for (const work of behind) this.#park(work);
  }

  /** Puts a message that was not begun into the retry queue, behind an earlier one of its user. */
  #park({ stored, place }: Work): void {
    const { steady, clock, policy, events, destinationId } = this.#options;
    const nowMs = steady.now();
    const retry: Retry = {
      offset: stored.offset,
      rounds: 0,
      firstAttemptAtMs: nowMs,
      // Called up as soon as its turn comes; this is only for the case that nobody does.
      dueAtMs: nowMs + policy.retry.backoff.maxMs,
      reason: "waits for an earlier message of this user",
      doneUrls: [],
      replay: false,
    };
    this.#order.park(userOf(stored.message), retry);
    this.#putRetry(retry);
    if (place !== undefined) this.#cursor.done(place);
    events.retrying(destinationId, stored, retry.reason, clock.now(), retry.dueAtMs);
  }

  /** The message is done: its user's next may go. */
  #leaveLine({ message, offset }: StoredMessage): void {
    this.#leave(userOf(message), offset);
  }

  #leave(user: string, offset: Offset): void {
    const next = this.#order.leave(user, offset);
    if (next?.kind === "waiting") this.#nextInLine.push(next.work);
    if (next?.kind === "parked") this.#settler.retry({ ...next.retry, dueAtMs: this.#options.steady.now() });
  }

  #isLastAttempt({ offset, rounds, firstAttemptAtMs }: Retry, nowMs: number): boolean {
    return rounds > 0 && nowMs >= lastCallMs(firstAttemptAtMs, offset, this.#options.policy.retry);
  }

  /**
   * Sets the timer for what comes next: a retry that falls due, a probe, a permit. What is due already needs none: it was
   * asked for, or waits for a round, a settlement or a leasing to end, each of which pumps.
   */
  #arm(waitUntilMs: number | undefined): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    const { steady } = this.#options;
    const nowMs = steady.now();
    const { nextDueMs } = this.#retries;
    const times = [waitUntilMs, nextDueMs].filter((atMs) => atMs !== undefined && atMs > nowMs);
    if (times.length === 0) return;
    this.#cancelTimer = steady.after(Math.min(...(times as number[])) - nowMs, () => this.#pump());
  }
}

/** Closes a destination that was replaced, once its last round has ended. */
function closeWhenDone({ destination, rounds, retired }: OpenDestination): void {
  if (retired && rounds === 0) void destination.close();
}

/** A destination must not reject: one that does has a mistake, and its message is not lost for it. */
function crashed(error: unknown): RoundOutcome {
  const reason = `internal error: ${error instanceof Error ? error.name : typeof error}`;
  return { kind: "retry", reason, doneUrls: [], failedUrls: [], alive: false };
}

/** Messages that the collector makes say how something is now: the latest must arrive last, whatever the destination asks for. */
function isMadeHere({ onlyDestinations }: Pick<StoredMessage, "onlyDestinations">): boolean {
  return onlyDestinations !== undefined;
}
