import {
  asksOutcomes,
  formatTime,
  isPlainObject,
  type LiveEventView,
  type MessageFilter,
  matchesFilter,
  messageTerms,
  outcomeTerms,
} from "@sluice/protocol";
import type { Clock } from "@sluice/resilience";
import type { LiveEvent, LiveEvents } from "../../live-events.js";
import { decodeBatch } from "../../messages/decode-batch.js";
import { lastMessageIndex } from "../../store/last-message.js";
import {
  type FinalState,
  type Offset,
  offsetAt,
  type Rejection,
  type Store,
  type StoredMessage,
} from "../../store/store.js";
import { rejectedView } from "../messages/message-schema.js";
import { bell } from "./bell.js";
import { outcomeQueue } from "./outcome-queue.js";
import { HEARTBEAT, type StreamPosition, serverSentEvent } from "./server-sent-event.js";

export interface LiveReaderOptions {
  readonly store: Pick<Store, "log" | "consumers">;
  readonly live: LiveEvents;
  readonly clock: Clock;
  readonly filter: MessageFilter;
  /** Where an earlier stream of this reader stood. Absent: begins now. */
  readonly resumeFrom: StreamPosition | undefined;
  readonly write: (chunk: string) => boolean;
  readonly drained: () => Promise<void>;
  readonly signal: AbortSignal;
}

/** One reader costs at most so much of the collector: so many messages, once in so many milliseconds: 2,000 a second. */
const MESSAGES_A_TURN = 200;
const TURN_MS = 100;
const BYTES_A_TURN = 1_048_576;
/** A reader that is further behind goes on at the newest, and is told how many it missed. */
const MOST_BEHIND = 10_000;
/** Where it goes on then. */
const KEPT_WHEN_SKIPPING = 200;
const MOST_OUTCOMES = 2_000;
const HEARTBEAT_MS = 15_000;
/** Outcomes of each state that a resumed stream makes up for. */
const MOST_MISSED_OUTCOMES = 500;
/** Messages of which is remembered whether they matched, for the outcomes that follow. */
const MOST_REMEMBERED = 5_000;

/**
 * Sends one reader what happens, until it goes. Messages come from the log, so a reader that is slow costs no memory:
 * it only falls behind. Outcomes wait in a bounded queue.
 */
export async function readLive({
  store,
  live,
  clock,
  filter,
  resumeFrom,
  write,
  drained,
  signal,
}: LiveReaderOptions): Promise<void> {
  const { log } = store;
  const awake = bell(clock);
  const queue = outcomeQueue(MOST_OUTCOMES);
  const stops = [
    log.onAppend(awake.ring),
    live.subscribe((event) => {
      queue.add(event);
      awake.ring();
    }),
  ];
  const aboutMessages = messageTerms(filter);
  const aboutOutcomes = outcomeTerms(filter);
  const needsOutcome = asksOutcomes(filter);
  const remembered = new Map<Offset, { readonly matches: boolean; isSent: boolean }>();
  // A position beyond the head is of another data folder.
  let cursor = resumeFrom === undefined || resumeFrom.offset > log.head() ? log.head() : resumeFrom.offset;
  let keepsUp = true;

  const send = (event: LiveEventView): void => {
    keepsUp = write(serverSentEvent(event, { offset: cursor, atMs: clock.now() })) && keepsUp;
  };
  const remember = (stored: StoredMessage): { readonly matches: boolean; isSent: boolean } => {
    const entry = { matches: matchesFilter(aboutMessages, stored), isSent: false };
    remembered.set(stored.offset, entry);
    if (remembered.size > MOST_REMEMBERED) {
      const oldest = remembered.keys().next();
      if (!oldest.done) remembered.delete(oldest.value);
    }
    return entry;
  };
  const sendMessages = async (): Promise<boolean> => {
    const head = log.head();
    if (head <= cursor) return false;
    const batches = await log.read(cursor, { messages: MESSAGES_A_TURN, bytes: BYTES_A_TURN });
    const last = batches.at(-1);
    if (last === undefined) {
      // What was there was dropped or taken out.
      cursor = head;
      return false;
    }
    const messages = batches.flatMap(decodeBatch).filter(({ offset }) => offset > cursor);
    const chunk = messages.slice(0, MESSAGES_A_TURN);
    for (const message of chunk) {
      cursor = message.offset;
      const entry = remember(message);
      // A filter about outcomes waits for them: the message goes out with the first that matches.
      if (!entry.matches || needsOutcome) continue;
      entry.isSent = true;
      send(messageEvent(message));
    }
    // Messages of it that a deletion took out are come past as well.
    if (chunk.length === messages.length) {
      const end = offsetAt(last.first, lastMessageIndex(last));
      if (end > cursor) cursor = end;
    }
    return true;
  };
  const sendOutcome = async (event: Extract<LiveEvent, { readonly kind: "outcome" }>): Promise<void> => {
    if (!matchesFilter(aboutOutcomes, { ...NOTHING, outcomes: [event] })) return;
    let entry = remembered.get(event.offset);
    if (entry === undefined || (needsOutcome && entry.matches && !entry.isSent)) {
      const stored = await log.get(event.offset);
      if (stored === undefined) return;
      entry ??= remember(stored);
      if (entry.matches && needsOutcome) {
        entry.isSent = true;
        send(messageEvent(stored));
      }
    }
    if (entry.matches) send(outcomeEvent(event));
  };
  const skipWhenTooFarBehind = (): number => {
    const behind = log.head() - cursor;
    if (behind <= MOST_BEHIND) return 0;
    cursor = (log.head() - KEPT_WHEN_SKIPPING) as Offset;
    return behind - KEPT_WHEN_SKIPPING;
  };

  try {
    keepsUp = write(`retry: 1000\n\n`);
    if (resumeFrom !== undefined)
      for (const missed of await missedOutcomes(store, resumeFrom)) queue.add(missed);
    while (!signal.aborted) {
      const messages = skipWhenTooFarBehind();
      const isMore = await sendMessages();
      for (const event of queue.takeUpTo(cursor)) {
        if (event.kind === "outcome") await sendOutcome(event);
        else if (matchesRejected(filter, event.rejection)) send(rejectedEvent(event.rejection));
      }
      const outcomes = queue.takeDropped();
      if (messages + outcomes > 0) send({ kind: "dropped", messages, outcomes });
      if (!keepsUp) {
        await drained();
        keepsUp = true;
      }
      if (isMore) {
        await clock.sleep(TURN_MS, signal).catch(() => {});
        continue;
      }
      const beganAtMs = clock.now();
      await awake.wait(HEARTBEAT_MS, signal);
      if (clock.now() - beganAtMs >= HEARTBEAT_MS) keepsUp = write(HEARTBEAT);
    }
  } finally {
    for (const stop of stops) stop();
  }
}

const NOTHING = { messageId: "", sourceId: "", message: {} };
const ALL_STATES: readonly (FinalState | "pending")[] = [
  "delivered",
  "failed",
  "pending",
  "filtered",
  "skipped",
  "suppressed",
];

/** Outcomes since the reader was last here, oldest first; the newest of each state where there are many. */
async function missedOutcomes(
  { consumers, log }: Pick<Store, "log" | "consumers">,
  { atMs }: StreamPosition,
): Promise<LiveEvent[]> {
  const pages = await Promise.all(
    ALL_STATES.map((state) => consumers.list({ state, fromMs: atMs }, { limit: MOST_MISSED_OUTCOMES })),
  );
  const deliveries = pages.flatMap(({ items }) => items).sort((a, b) => a.atMs - b.atMs);
  const events = await Promise.all(
    deliveries.map(async (delivery): Promise<LiveEvent | undefined> => {
      const stored = await log.get(delivery.offset);
      if (stored === undefined) return undefined;
      const { consumerId, offset, state, reason, nextAttemptAtMs } = delivery;
      return {
        kind: "outcome",
        destinationId: consumerId,
        offset,
        messageId: stored.messageId,
        state,
        reason,
        atMs: delivery.atMs,
        ...(nextAttemptAtMs === undefined ? {} : { nextAttemptAtMs }),
      };
    }),
  );
  return events.filter((event) => event !== undefined);
}

function messageEvent(stored: StoredMessage): LiveEventView {
  return {
    kind: "message",
    messageId: stored.messageId,
    sourceId: stored.sourceId,
    receivedAt: formatTime(stored.receivedAtMs),
    message: stored.message,
  };
}

function outcomeEvent(event: Extract<LiveEvent, { readonly kind: "outcome" }>): LiveEventView {
  return {
    kind: "outcome",
    messageId: event.messageId,
    destinationId: event.destinationId,
    state: event.state,
    reason: event.reason,
    at: formatTime(event.atMs),
    ...(event.nextAttemptAtMs === undefined ? {} : { nextAttemptAt: formatTime(event.nextAttemptAtMs) }),
  };
}

function rejectedEvent(rejection: Rejection): LiveEventView {
  const { state: _state, ...view } = rejectedView(rejection);
  return { kind: "rejected", ...view };
}

/** A refused message is asked as far as its excerpt can be read. */
function matchesRejected(filter: MessageFilter, rejection: Rejection): boolean {
  if (filter.terms.length === 0) return true;
  return matchesFilter(filter, {
    messageId: rejection.messageId ?? "",
    sourceId: rejection.sourceId,
    message: readExcerpt(rejection.excerpt),
    outcomes: [{ destinationId: "", state: "rejected" }],
  });
}

function readExcerpt(excerpt: string): { readonly [field: string]: unknown } {
  try {
    const value: unknown = JSON.parse(excerpt);
    if (isPlainObject(value)) return value;
  } catch {
    // Cut at 4 KB, or no JSON at all.
  }
  return {};
}
