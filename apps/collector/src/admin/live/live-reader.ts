import type { Offset, Store, StoredMessage } from "@sluice/event-log";
import {
  asksOutcomes,
  compileFilter,
  type MessageFilter,
  messageTerms,
  outcomeTerms,
} from "@sluice/protocol";
import type { Clock } from "@sluice/resilience";
import type { LiveEvent, LiveEvents } from "../../process/live-events.js";
import type { KnownToken } from "../../tokens/tokens.js";
import { maskUrls } from "../masking/mask-urls.js";
import { droppedJson, outcomeJson, rejectedJson, rejectedSubject } from "./event-json.js";
import { missedOutcomes, type OutcomeEvent } from "./missed-outcomes.js";
import { outcomeQueue } from "./outcome-queue.js";
import { type RecentMessage, type RecentMessages, recentMessage } from "./recent-messages.js";
import { HEARTBEAT, type StreamPosition, serverSentEvent } from "./server-sent-event.js";
import { wakeSignal } from "./wake-signal.js";

export interface LiveReaderOptions {
  readonly store: Pick<Store, "log" | "consumers">;
  readonly recent: RecentMessages;
  readonly live: LiveEvents;
  readonly clock: Clock;
  readonly filter: MessageFilter;
  /** Whose stream it is. */
  readonly token: Pick<KnownToken, "access">;
  /** Where an earlier stream of this reader stood. Absent: begins now. */
  readonly resumeFrom: StreamPosition | undefined;
  readonly write: (chunk: string) => boolean;
  readonly drained: () => Promise<void>;
  readonly signal: AbortSignal;
}

/** One reader costs at most so much of the collector: so many messages, once in so many milliseconds: 2,000 a second. */
const MESSAGES_A_TURN = 200;
/** Outcomes have a budget of their own, and come after the turn's messages: however many flow, no message waits for them. */
const OUTCOMES_A_TURN = 200;
const TURN_MS = 100;
/** A reader that is further behind goes on at the newest, and is told how many it missed. */
const MOST_BEHIND = 10_000;
/** Where it goes on then. */
const KEPT_WHEN_SKIPPING = 200;
const MOST_OUTCOMES = 2_000;
const HEARTBEAT_MS = 15_000;
/** Messages of which is remembered whether they matched, for the outcomes that follow. */
const MOST_REMEMBERED = 5_000;

/**
 * Sends one reader what happens, until it goes. Messages come from the log, decoded once for the readers at its end, so one that
 * is slow costs no memory: it only falls behind. Outcomes wait in a bounded queue.
 */
export async function readLive({
  store,
  recent,
  live,
  clock,
  filter,
  token,
  resumeFrom,
  write,
  drained,
  signal,
}: LiveReaderOptions): Promise<void> {
  const { log } = store;
  const awake = wakeSignal(clock);
  const queue = outcomeQueue(MOST_OUTCOMES);
  const reading = recent.join();
  const isAsked = compileFilter(filter);
  const isMessageAsked = compileFilter(messageTerms(filter));
  const outcomeAsked = compileFilter(outcomeTerms(filter));
  const asksAll = filter.terms.length === 0;
  const needsOutcome = asksOutcomes(filter);
  const remembered = new Map<Offset, { readonly matches: boolean; isSent: boolean }>();
  const remember = (stored: StoredMessage): { readonly matches: boolean; isSent: boolean } => {
    const known = remembered.get(stored.offset);
    if (known !== undefined) return known;
    const entry = { matches: isMessageAsked(stored), isSent: false };
    remembered.set(stored.offset, entry);
    if (remembered.size > MOST_REMEMBERED) {
      const oldest = remembered.keys().next();
      if (!oldest.done) remembered.delete(oldest.value);
    }
    return entry;
  };
  const isOutcomeAsked = (outcome: { readonly destinationId: string; readonly state: string }): boolean =>
    outcomeAsked({ ...NOTHING, outcomes: [outcome] });
  const isEventAsked = (event: LiveEvent, stored: StoredMessage | undefined): boolean => {
    if (event.kind === "rejected") return isAsked(rejectedSubject(event.rejection));
    if (asksAll) return true;
    if (!isOutcomeAsked(event)) return false;
    // Where the message is not at hand it is asked when its turn comes.
    return stored === undefined || remember(stored).matches;
  };
  const stops = [
    reading.leave,
    log.onAppend(awake.wake),
    live.subscribe((event, stored) => {
      // Before it is counted among those that wait, or are dropped: what is not asked for takes no place.
      if (!isEventAsked(event, stored)) return;
      queue.add(event);
      awake.wake();
    }),
  ];
  // A position beyond the head is of another data folder.
  let cursor = resumeFrom === undefined || resumeFrom.offset > log.head() ? log.head() : resumeFrom.offset;
  /** What this turn sends, written at once. */
  let outgoing: string[] = [];

  const send = (kind: string, json: string): void => {
    outgoing.push(serverSentEvent(kind, json, { offset: cursor, atMs: clock.now() }));
  };
  const sendMessage = (message: RecentMessage): void => send("message", message.json());
  const sendMessages = async (): Promise<boolean> => {
    const head = log.head();
    if (head <= cursor) return false;
    const stretch = await reading.read(cursor);
    if (stretch === undefined) {
      // What was there was dropped or taken out.
      cursor = head;
      return false;
    }
    const after = cursor;
    const rest = stretch.messages().filter(({ stored }) => stored.offset > after);
    const turn = rest.slice(0, MESSAGES_A_TURN);
    for (const message of turn) {
      cursor = message.stored.offset;
      const entry = remember(message.stored);
      // A filter about outcomes waits for them: the message goes out with the first that matches.
      if (!entry.matches || needsOutcome) continue;
      entry.isSent = true;
      sendMessage(message);
    }
    // Messages at its end that a deletion took out are come past as well.
    if (turn.length === rest.length && stretch.upTo > cursor) cursor = stretch.upTo;
    return true;
  };
  const sendOutcome = async (event: OutcomeEvent): Promise<void> => {
    if (asksAll) {
      send("outcome", outcomeJson(maskUrls(token, event)));
      return;
    }
    let entry = remembered.get(event.offset);
    if (entry === undefined || (needsOutcome && entry.matches && !entry.isSent)) {
      const stored = await log.get(event.offset);
      if (stored === undefined) return;
      entry ??= remember(stored);
      if (entry.matches && needsOutcome) {
        entry.isSent = true;
        sendMessage(recentMessage(stored));
      }
    }
    if (entry.matches) send("outcome", outcomeJson(maskUrls(token, event)));
  };
  const skipWhenTooFarBehind = (): void => {
    const behind = log.head() - cursor;
    if (behind <= MOST_BEHIND) return;
    cursor = (log.head() - KEPT_WHEN_SKIPPING) as Offset;
    send("dropped", droppedJson({ messages: behind - KEPT_WHEN_SKIPPING, outcomes: 0 }));
  };
  const makeUpFor = async ({ atMs }: StreamPosition): Promise<void> => {
    const missed = await missedOutcomes(store, atMs, {
      byOutcome: isOutcomeAsked,
      byMessage: (stored) => remember(stored).matches,
    });
    queue.addMissed(missed.events);
    if (missed.more > 0)
      send("dropped", droppedJson({ messages: 0, outcomes: missed.more, isMinimum: missed.isMinimum }));
  };

  try {
    let keepsUp = write(`retry: 1000\n\n`);
    if (resumeFrom !== undefined) await makeUpFor(resumeFrom);
    while (!signal.aborted) {
      skipWhenTooFarBehind();
      const isMore = await sendMessages();
      for (const event of queue.takeUpTo(cursor, OUTCOMES_A_TURN)) {
        if (event.kind === "outcome") await sendOutcome(event);
        else send("rejected", rejectedJson(event.rejection));
      }
      const outcomes = queue.takeDropped();
      if (outcomes > 0) send("dropped", droppedJson({ messages: 0, outcomes }));
      if (outgoing.length > 0) {
        keepsUp = write(outgoing.join("")) && keepsUp;
        outgoing = [];
      }
      if (!keepsUp) {
        await drained();
        keepsUp = true;
      }
      if (isMore || queue.hasUpTo(cursor)) {
        await clock.sleep(TURN_MS, signal).catch(() => {});
        continue;
      }
      const beganAtMs = clock.monotonic();
      await awake.wait(HEARTBEAT_MS, signal);
      if (clock.monotonic() - beganAtMs >= HEARTBEAT_MS) keepsUp = write(HEARTBEAT);
    }
  } finally {
    for (const stop of stops) stop();
  }
}

const NOTHING = { messageId: "", sourceId: "", message: {} };
