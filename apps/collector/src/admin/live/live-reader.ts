import type { Offset, Store } from "@sluice/event-log";
import type { MessageFilter } from "@sluice/protocol";
import type { Clock } from "@sluice/resilience";
import type { PlanOf } from "../../documents/documents.js";
import type { LiveEvents } from "../../process/telemetry/live-events.js";
import type { KnownToken } from "../../tokens/tokens.js";
import { wakeSignal } from "../endpoint/until-revoked.js";
import { maskUrls } from "../masking.js";
import { LiveFilter } from "./live-filter.js";
import { missedOutcomes, type OutcomeEvent, outcomeQueue } from "./outcome-queue.js";
import { type RecentMessage, type RecentMessages, recentMessage } from "./recent-messages.js";
import {
  droppedJson,
  HEARTBEAT,
  outcomeJson,
  rejectedJson,
  type StreamPosition,
  serverSentEvent,
} from "./server-sent-event.js";

export interface LiveReaderOptions {
  readonly store: Pick<Store, "log" | "consumers">;
  readonly recent: RecentMessages;
  readonly live: LiveEvents;
  readonly planOf: PlanOf;
  readonly clock: Clock;
  readonly filter: MessageFilter;
  /** The token that opened the stream. */
  readonly token: Pick<KnownToken, "access">;
  /** Where an earlier stream of this reader ended. Absent: starts now. */
  readonly resumeFrom: StreamPosition | undefined;
  readonly write: (chunk: string) => boolean;
  readonly drained: () => Promise<void>;
  readonly signal: AbortSignal;
}

/** Limits what one reader costs: 200 messages every 100 ms, which is 2,000 per second. */
const MAX_MESSAGES_PER_BATCH = 200;
/** Outcomes are sent after the batch's messages and have their own limit, so they never delay a message. */
const MAX_OUTCOMES_PER_BATCH = 200;
const BATCH_MS = 100;
/** A reader that is further behind skips to the newest messages, and is told how many it missed. */
const MAX_BEHIND = 10_000;
/** Messages that are still sent after skipping. */
const KEPT_WHEN_SKIPPING = 200;
const MAX_QUEUED_OUTCOMES = 2_000;
const HEARTBEAT_MS = 15_000;

/**
 * Streams events to one reader until `signal` aborts. Messages are read from the log, which is decoded once for all
 * readers at its end, so a slow reader falls behind without using memory. Outcomes wait in a bounded queue.
 */
export async function readLive(options: LiveReaderOptions): Promise<void> {
  const reader = new LiveReader(options);
  try {
    await reader.run();
  } finally {
    reader.close();
  }
}

class LiveReader {
  readonly #options: LiveReaderOptions;
  readonly #filter: LiveFilter;
  readonly #changed: ReturnType<typeof wakeSignal>;
  readonly #queue = outcomeQueue(MAX_QUEUED_OUTCOMES);
  readonly #recent: ReturnType<RecentMessages["join"]>;
  readonly #stops: readonly (() => void)[];
  /** Every message up to here was sent or filtered out. */
  #cursor: Offset;
  /** The events of the current batch; written together. */
  #outgoing: string[] = [];

  constructor(options: LiveReaderOptions) {
    const { store, recent, live, clock, filter, resumeFrom } = options;
    this.#options = options;
    this.#filter = new LiveFilter(filter);
    this.#changed = wakeSignal(clock);
    this.#recent = recent.join();
    this.#stops = [
      this.#recent.leave,
      store.log.onAppend(this.#changed.wake),
      live.subscribe((event, stored) => {
        // Filtered before it is queued, so that other events take no place in the queue and are not counted as dropped.
        if (!this.#filter.event(event, stored)) return;
        this.#queue.add(event);
        this.#changed.wake();
      }),
    ];
    const head = store.log.head();
    // A position beyond the head belongs to another data folder.
    this.#cursor = resumeFrom === undefined || resumeFrom.offset > head ? head : resumeFrom.offset;
  }

  close(): void {
    for (const stop of this.#stops) stop();
  }

  async run(): Promise<void> {
    const { write, drained, signal, clock, resumeFrom } = this.#options;
    let isWritable = write("retry: 1000\n\n");
    if (resumeFrom !== undefined) await this.#queueMissed(resumeFrom);
    while (!signal.aborted) {
      const hasMore = await this.#collectBatch();
      if (signal.aborted) return;
      if (this.#outgoing.length > 0) {
        isWritable = write(this.#outgoing.join("")) && isWritable;
        this.#outgoing = [];
      }
      if (!isWritable) {
        await drained();
        isWritable = true;
      }
      if (hasMore || this.#queue.hasUpTo(this.#cursor)) {
        await clock.sleep(BATCH_MS, signal).catch(() => {});
        continue;
      }
      const idleSinceMs = clock.monotonic();
      await this.#changed.wait(HEARTBEAT_MS, signal);
      if (clock.monotonic() - idleSinceMs >= HEARTBEAT_MS) isWritable = write(HEARTBEAT);
    }
  }

  /** Puts the next messages and outcomes into `#outgoing`. Returns whether there may be more messages. */
  async #collectBatch(): Promise<boolean> {
    this.#skipIfTooFarBehind();
    const hasMore = await this.#sendMessages();
    for (const event of this.#queue.takeUpTo(this.#cursor, MAX_OUTCOMES_PER_BATCH)) {
      if (event.kind === "outcome") await this.#sendOutcome(event);
      else this.#send("rejected", rejectedJson(event.rejection));
    }
    const outcomes = this.#queue.takeDropped();
    if (outcomes > 0) this.#send("dropped", droppedJson({ messages: 0, outcomes }));
    return hasMore;
  }

  #skipIfTooFarBehind(): void {
    const head = this.#options.store.log.head();
    const behind = head - this.#cursor;
    if (behind <= MAX_BEHIND) return;
    this.#cursor = (head - KEPT_WHEN_SKIPPING) as Offset;
    this.#send("dropped", droppedJson({ messages: behind - KEPT_WHEN_SKIPPING, outcomes: 0 }));
  }

  async #sendMessages(): Promise<boolean> {
    const head = this.#options.store.log.head();
    if (head <= this.#cursor) return false;
    const stretch = await this.#recent.read(this.#cursor);
    if (stretch === undefined) {
      // Retention or a deletion removed the messages.
      this.#cursor = head;
      return false;
    }
    const after = this.#cursor;
    const rest = stretch.messages().filter(({ stored }) => stored.offset > after);
    const batch = rest.slice(0, MAX_MESSAGES_PER_BATCH);
    for (const message of batch) {
      this.#cursor = message.stored.offset;
      const filtered = this.#filter.message(message.stored);
      // With terms about outcomes, the message is sent with its first matching outcome.
      if (!filtered.matches || this.#filter.needsOutcome) continue;
      filtered.isSent = true;
      this.#sendMessage(message);
    }
    // A deletion may have removed messages at the end of the stretch: skip them too.
    if (batch.length === rest.length && stretch.upTo > this.#cursor) this.#cursor = stretch.upTo;
    return true;
  }

  async #sendOutcome(event: OutcomeEvent): Promise<void> {
    if (this.#filter.matchesAll || (await this.#isMessageSent(event)))
      this.#send("outcome", outcomeJson(maskUrls(this.#options.token, event)));
  }

  /** Whether the outcome's message matches. Sends the message first if it was waiting for a matching outcome. */
  async #isMessageSent({ offset }: OutcomeEvent): Promise<boolean> {
    const { needsOutcome } = this.#filter;
    const known = this.#filter.messageAt(offset);
    if (known !== undefined && !(needsOutcome && known.matches && !known.isSent)) return known.matches;
    const stored = await this.#options.store.log.get(offset);
    if (stored === undefined) return false;
    const filtered = this.#filter.message(stored);
    if (filtered.matches && needsOutcome) {
      filtered.isSent = true;
      this.#sendMessage(recentMessage(stored, this.#options.planOf));
    }
    return filtered.matches;
  }

  /** Queues the outcomes since an earlier stream ended. */
  async #queueMissed({ atMs }: StreamPosition): Promise<void> {
    const missed = await missedOutcomes(this.#options.store, atMs, {
      byOutcome: (outcome) => this.#filter.outcome(outcome),
      byMessage: (stored) => this.#filter.message(stored).matches,
    });
    this.#queue.addMissed(missed.events);
    if (missed.more > 0)
      this.#send("dropped", droppedJson({ messages: 0, outcomes: missed.more, isMinimum: missed.isMinimum }));
  }

  #sendMessage(message: RecentMessage): void {
    this.#send("message", message.json());
  }

  #send(kind: string, json: string): void {
    const atMs = this.#options.clock.now();
    this.#outgoing.push(serverSentEvent(kind, json, { offset: this.#cursor, atMs }));
  }
}
