import type { Attempt, UrlRetry } from "@sluice/event-log";
import { formatTime } from "@sluice/protocol";
import type { OutgoingMessage, Round, RoundAttempt } from "../../destinations/destination.js";
import { isOutbound } from "../routing/match.js";
import { isInLastPart, type RetryPolicy } from "../settling/retry-schedule.js";
import type { Settler } from "../settling/settler.js";
import type { Work } from "../work.js";

/** What a message's rounds tell to, beside their outcome. */
export interface RoundListener {
  readonly settler: Pick<Settler, "attempt">;
  /** A target answered 410. */
  gone(url: string): void;
}

/** The next round of a message: what the destination is given, and what it says goes to the trace. */
export class MessageRound implements Round {
  readonly number: number;
  readonly doneUrls: readonly string[];
  readonly failedUrls: readonly string[];
  /** When the first round of the message began: the retry window is counted from here. */
  readonly firstAttemptAtMs: number;
  readonly isLast: boolean;
  /** URLs with retries of their own whose time has not come. */
  readonly waiting: readonly UrlRetry[];
  readonly waitingUrls: readonly string[];
  readonly #work: Work;
  readonly #listener: RoundListener;
  #error: string | undefined;

  constructor(work: Work, nowMs: number, policy: RetryPolicy, listener: RoundListener) {
    const { retry } = work;
    this.number = (retry?.rounds ?? 0) + 1;
    this.doneUrls = retry?.doneUrls ?? [];
    this.failedUrls = retry?.failedUrls ?? [];
    this.firstAttemptAtMs = retry !== undefined && retry.rounds > 0 ? retry.firstAttemptAtMs : nowMs;
    this.isLast = isInLastPart(this.firstAttemptAtMs, nowMs, policy);
    this.waiting = retry?.urls === undefined ? NONE : notDue(retry.urls, nowMs);
    this.waitingUrls = this.waiting.length === 0 ? [] : this.waiting.map(({ url }) => url);
    this.#work = work;
    this.#listener = listener;
  }

  /** What its last exchange that failed ended with. */
  get error(): string | undefined {
    return this.#error;
  }

  numberAt(url: string): number {
    const own = this.#work.retry?.urls;
    return own === undefined ? this.number : (own.find((one) => one.url === url)?.rounds ?? 0) + 1;
  }

  record(attempt: RoundAttempt): void {
    const { stored, retry } = this.#work;
    this.#error = attempt.error?.message ?? this.#error;
    const { atMs, url, address, status, error, latencyMs, requestHeaders, response } = attempt;
    const placed: Attempt = {
      offset: stored.offset,
      attempt: this.numberAt(url),
      atMs,
      url,
      address,
      status,
      error,
      latencyMs,
      requestHeaders,
      response,
    };
    this.#listener.settler.attempt(retry?.replay === true ? { ...placed, replay: true } : placed);
  }

  gone(url: string): void {
    this.#listener.gone(url);
  }
}

const NONE: readonly UrlRetry[] = [];

/** Those whose time has not come. Where that is all of them somebody wants the message tried now, and none waits. */
function notDue(urls: readonly UrlRetry[], nowMs: number): readonly UrlRetry[] {
  const later = urls.filter(({ dueAtMs }) => dueAtMs > nowMs);
  return later.length === urls.length ? NONE : later;
}

/** What goes out; undefined for a kind of message that goes to no destination. The log holds none but by a mistake. */
export function outgoing({ stored, matched }: Work): OutgoingMessage | undefined {
  const { message, timeMs } = matched;
  if (!isOutbound(message)) return undefined;
  return {
    messageId: stored.messageId,
    sourceId: stored.sourceId,
    message,
    timestamp: timeOf(timeMs),
  };
}

/** The messages of one request mostly have one time: the last that was written is kept. */
let last = { ms: Number.NaN, text: "" };

function timeOf(ms: number): string {
  if (ms !== last.ms) last = { ms, text: formatTime(ms) };
  return last.text;
}
