import type { TransformationDryRunView, TransformationResult } from "@sluice/control-api";
import type { Store, StoredMessage } from "@sluice/event-log";
import { identityOf } from "@sluice/event-log";
import { formatTime, resolveTime } from "@sluice/protocol";
import type { Clock } from "@sluice/resilience";
import type { Sandboxes, TransformCode } from "@sluice/transformations";
import { isOutbound, match, type Routing } from "../../delivery/routing/match.js";
import type { OutgoingMessage } from "../../destinations/destination.js";
import type { Suppressions } from "../../documents/suppressions.js";
import { afterResult, transformInput } from "../../transformations/transformed.js";
import { type Tried, type TryOptions, tryMessages } from "../../transformations/trials.js";

/** Messages that are in memory at a time. */
const PAGE = 100;
/** Code that exhausts something takes a second of every batch, and others wait for their turn. */
const LONGEST_MS = 30_000;
/** Stored messages that are looked at for one that a destination gets. */
const MOST_SEARCHED = 200_000;
const MOST_CAUSES = 20;
/** Distinct causes that are counted. */
const MOST_COUNTED = 1_000;
const MOST_IDS = 5;
const MOST_EXAMPLES = 5;

export interface StoredQuery {
  readonly log: Pick<Store["log"], "find">;
  readonly isSuppressed: Suppressions["covers"];
  readonly sourceId?: string | undefined;
  /** Only messages that this destination would get, as it lets them through its filters. */
  readonly routing?: Routing | undefined;
}

/** The newest stored messages as a function gets them, in pages. Without those of users who are being deleted. */
export async function* newestMessages(
  { log, isSuppressed, sourceId, routing }: StoredQuery,
  count: number,
): AsyncGenerator<readonly OutgoingMessage[]> {
  let left = count;
  let cursor: string | undefined;
  for (let searched = 0; left > 0 && searched < MOST_SEARCHED; ) {
    const page = await log.find(sourceId === undefined ? {} : { sourceId }, {
      limit: routing === undefined ? Math.min(left, PAGE) : PAGE,
      ...(cursor === undefined ? {} : { cursor }),
    });
    searched += page.items.length;
    const messages = page.items
      .filter((stored) => !isSuppressed(identityOf(stored.message), stored.offset))
      .flatMap((stored) => asSent(stored, routing) ?? [])
      .slice(0, left);
    left -= messages.length;
    yield messages;
    cursor = page.nextCursor;
    if (cursor === undefined) return;
  }
}

/** A stored message as a destination would get it; undefined for one that it would not, and for deletions, which no function gets. */
export function asSent(stored: StoredMessage, routing?: Routing): OutgoingMessage | undefined {
  const matched =
    routing === undefined
      ? {
          kind: "deliver" as const,
          message: stored.message,
          timeMs: resolveTime(stored.message, stored.receivedAtMs),
        }
      : match(stored, routing, true);
  if (matched.kind !== "deliver" || !isOutbound(matched.message) || matched.message.type === "delete")
    return undefined;
  const { messageId, sourceId, offset, receivedAtMs } = stored;
  const { message, timeMs } = matched;
  return { messageId, sourceId, message, timestamp: formatTime(timeMs), offset, receivedAtMs };
}

/**
 * Messages as they come to a destination's transformation: what those of their sources make of them. A message that one drops or fails
 * for does not come.
 */
export async function* throughSources(
  sandboxes: Pick<Sandboxes, "run">,
  pages: AsyncIterable<readonly OutgoingMessage[]>,
  codeOf: (sourceId: string) => Promise<TransformCode | undefined>,
): AsyncGenerator<readonly OutgoingMessage[]> {
  for await (const page of pages) {
    const after = new Map<OutgoingMessage, readonly OutgoingMessage[]>();
    for (const [sourceId, messages] of Map.groupBy(page, (message) => message.sourceId)) {
      const code = await codeOf(sourceId);
      if (code === undefined) continue;
      const results = await sandboxes.run(code, messages.map(transformInput));
      for (const [index, message] of messages.entries())
        after.set(message, afterResult(message, results[index]));
    }
    yield page.flatMap((message) => after.get(message) ?? [message]);
  }
}

/** Counts what code does with messages. Ends early when 30 s are over and there are more, and when the signal aborts. */
export async function dryRun(
  sandboxes: Pick<Sandboxes, "run">,
  code: TransformCode,
  pages: AsyncIterable<readonly OutgoingMessage[]>,
  { clock, ...options }: TryOptions & { readonly clock: Pick<Clock, "monotonic"> },
): Promise<TransformationDryRunView> {
  const startedAtMs = clock.monotonic();
  const counts = { messages: 0, same: 0, changed: 0, dropped: 0, failed: 0 };
  const causes = new Map<string, Cause>();
  const examples: TransformationResult[] = [];
  const tookMs = (): number => clock.monotonic() - startedAtMs;
  const isOver = (): boolean => tookMs() >= LONGEST_MS;
  let given = 0;
  for await (const page of pages) {
    if (options.signal.aborted) break;
    given += page.length;
    for await (const one of tryMessages(sandboxes, code, page, { ...options, isOver })) {
      counts.messages += 1;
      counts[one.result] += 1;
      if (one.result !== "same" && examples.length < MOST_EXAMPLES) examples.push(one.view());
      addCause(causes, one);
    }
    if (counts.messages < given) break;
  }
  const endedEarly = counts.messages < given;
  const most = [...causes.values()].sort((one, other) => other.count - one.count).slice(0, MOST_CAUSES);
  return { ...counts, causes: most, examples, tookMs: tookMs(), endedEarly };
}

type Cause = { -readonly [K in keyof CauseView]: CauseView[K] } & { messageIds: string[] };
type CauseView = TransformationDryRunView["causes"][number];

/** Failures at one place of the code for one reason are one cause. The words of an exception may differ from message to message. */
function addCause(causes: Map<string, Cause>, { error, messageId }: Tried): void {
  if (error === undefined) return;
  const key = JSON.stringify([error.code, error.line ?? error.message.slice(0, 200)]);
  const known = causes.get(key);
  if (known === undefined) {
    if (causes.size < MOST_COUNTED) causes.set(key, { ...error, count: 1, messageIds: [messageId] });
    return;
  }
  known.count += 1;
  if (known.messageIds.length < MOST_IDS) known.messageIds.push(messageId);
}
