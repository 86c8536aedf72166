import type { DroppedView, LiveEventView } from "@sluice/control-api";
import { BEFORE_FIRST, type Offset, type Rejection, type StoredMessage } from "@sluice/event-log";
import { type FilterSubject, formatTime, isPlainObject } from "@sluice/protocol";
import type { PlanOf } from "../../documents/documents.js";
import { CollectorError } from "../../errors.js";
import { receivedView, rejectedView, violationsField } from "../messages/outcomes.js";
import type { OutcomeEvent } from "./outcome-queue.js";

/** A position in a stream: everything up to `offset` had been sent at `atMs`. */
export interface StreamPosition {
  readonly offset: Offset;
  readonly atMs: number;
}

/** An event in wire format. Its id is the position after it. Serialized JSON has no line breaks. */
export function serverSentEvent(kind: string, json: string, position: StreamPosition): string {
  return `${positionLine(position)}event: ${kind}\ndata: ${json}\n\n`;
}

/** From here on, a reader can resume. */
function positionLine({ offset, atMs }: StreamPosition): string {
  return `id: ${offset}/${formatTime(atMs)}\n`;
}

/** A comment, so that proxies do not close an idle connection. */
export const HEARTBEAT = ":\n\n";

/** Parses a `Last-Event-ID`; undefined if it is not a position. */
export function readPosition(id: string | undefined): StreamPosition | undefined {
  const match = /^(-1|\d{1,15})\/(\S{20,30})$/.exec(id ?? "");
  if (match === null) return undefined;
  const atMs = Date.parse(match[2] ?? "");
  if (Number.isNaN(atMs)) return undefined;
  return { offset: match[1] === "-1" ? BEFORE_FIRST : (Number(match[1]) as Offset), atMs };
}

function json(event: LiveEventView): string {
  return JSON.stringify(event);
}

export function messageJson(stored: StoredMessage, planOf?: PlanOf): string {
  return json({ kind: "message", ...receivedView(stored), ...violationsField(stored, planOf) });
}

export function outcomeJson({ offset: _, atMs, nextAttemptAtMs, ...event }: OutcomeEvent): string {
  return json({
    ...event,
    at: formatTime(atMs),
    ...(nextAttemptAtMs === undefined ? {} : { nextAttemptAt: formatTime(nextAttemptAtMs) }),
  });
}

export function rejectedJson(rejection: Rejection): string {
  const { state: _, ...view } = rejectedView(rejection);
  return json({ kind: "rejected", ...view });
}

export function droppedJson({ isMinimum, ...counts }: Omit<DroppedView, "kind">): string {
  return json({ kind: "dropped", ...counts, ...(isMinimum ? { isMinimum } : {}) });
}

/** A refused message as filters see it, as far as its excerpt can be parsed. */
export function rejectedSubject(rejection: Rejection): FilterSubject {
  return {
    messageId: rejection.messageId ?? "",
    sourceId: rejection.sourceId,
    message: {
      ...parseExcerpt(rejection.excerpt),
      ...(rejection.type === undefined ? {} : { type: rejection.type }),
    },
    outcomes: [{ destinationId: "", state: "rejected" }],
  };
}

function parseExcerpt(excerpt: string): { readonly [field: string]: unknown } {
  try {
    const value: unknown = JSON.parse(excerpt);
    if (isPlainObject(value)) return value;
  } catch {
    // The excerpt is cut at 4 KB, or is not JSON at all.
  }
  return {};
}

/** Each open stream looks at every message, so many of them would slow ingestion down. */
const MOST_OF_A_TOKEN = 20;
const MOST = 200;
/** Streams last for hours: a client that asks again at once would find the same. */
const RETRY_AFTER_SECONDS = 10;

/** The live streams that are open. */
export interface OpenStreams {
  /** Opens one for this token, and returns what closes it. Throws `rate_limited` if the token, or all of them together, have too many. */
  open(tokenId: string): () => void;
}

export function openStreams(): OpenStreams {
  const ofToken = new Map<string, number>();
  let all = 0;
  return {
    open(tokenId) {
      const own = ofToken.get(tokenId) ?? 0;
      if (own >= MOST_OF_A_TOKEN)
        throw tooMany(`this token has ${MOST_OF_A_TOKEN} live streams open: close one, or use another token`);
      if (all >= MOST) throw tooMany(`${MOST} live streams are open, which is the limit of a collector`);
      ofToken.set(tokenId, own + 1);
      all += 1;
      return () => {
        const left = (ofToken.get(tokenId) ?? 1) - 1;
        if (left === 0) ofToken.delete(tokenId);
        else ofToken.set(tokenId, left);
        all -= 1;
      };
    },
  };
}

function tooMany(detail: string): CollectorError {
  return new CollectorError("rate_limited", detail, { details: { retryAfterSeconds: RETRY_AFTER_SECONDS } });
}
