import type { Attempt, UrlRetry } from "@sluice/event-log";
import { formatTime } from "@sluice/protocol";
import {
  type AttemptTrace,
  NOT_TRIED,
  type OutgoingMessage,
  type Round,
  type RoundAttempt,
} from "../../destinations/destination.js";
import type { MessageTrace } from "../../process/telemetry/tracing.js";
import type { Work } from "../reading/work.js";
import { isOutbound } from "../routing/match.js";
import { isInLastPart, type RetryPolicy } from "../settling/retry-schedule.js";
import type { Settler } from "../settling/settler.js";
import type { RangeSettings } from "./range-settings.js";
import type { RoundTrace } from "./round-trace.js";

/** Receives what happens during a round; the outcome is returned. */
export interface RoundListener {
  /** The distributed trace of a message. */
  trace(work: Work): RoundTrace;
  readonly settler: Pick<Settler, "attempt">;
  /** A target answered 410. */
  gone(url: string): void;
  /** An attempt at a target ended; `error` is absent if the target accepted the message. */
  attempted(url: string, error: string | undefined): void;
  /** See `Round.fix`. */
  fix: NonNullable<Round["fix"]>;
}

/**
 * The next round of a message. A round tries the message at each URL that still needs it; an attempt is one exchange with one of
 * them. The destination gets the round, and its attempts are recorded for the trace.
 */
export class MessageRound implements Round {
  readonly doneUrls: readonly string[];
  readonly failedUrls: readonly string[];
  /** When the message's first round started. The retry window counts from here. */
  readonly firstAttemptAtMs: number;
  readonly startedAtMs: number;
  readonly isLast: boolean;
  /** URLs with retries of their own that are not due yet. */
  readonly waiting: readonly UrlRetry[];
  readonly waitingUrls: readonly string[];
  readonly isOutdated: () => boolean;
  readonly settings: RangeSettings;
  readonly #work: Work;
  readonly #listener: RoundListener;
  readonly #trace: RoundTrace;
  #error: string | undefined;
  /** Attempts at it as it is, after the first. */
  #repetitions = 0;

  constructor(
    work: Work,
    nowMs: number,
    policy: RetryPolicy,
    listener: RoundListener,
    decided: Pick<MessageRound, "isOutdated" | "settings">,
  ) {
    this.isOutdated = decided.isOutdated;
    this.settings = decided.settings;
    const { retry } = work;
    this.doneUrls = retry?.doneUrls ?? [];
    this.failedUrls = retry?.failedUrls ?? [];
    this.firstAttemptAtMs = retry !== undefined && retry.rounds > 0 ? retry.firstAttemptAtMs : nowMs;
    this.startedAtMs = nowMs;
    this.isLast = isInLastPart(this.firstAttemptAtMs, nowMs, policy);
    this.waiting = retry?.urls === undefined ? NONE : notDue(retry.urls, nowMs);
    this.waitingUrls = this.waiting.length === 0 ? [] : this.waiting.map(({ url }) => url);
    this.#work = work;
    this.#listener = listener;
    this.#trace = listener.trace(work);
  }

  get number(): number {
    return (this.#work.retry?.rounds ?? 0) + 1 + this.#repetitions;
  }

  get isAgain(): boolean {
    return this.#work.retry !== undefined;
  }

  /** The error of its last failed attempt. */
  get error(): string | undefined {
    return this.#error;
  }

  numberAt(url: string): number {
    const own = this.#work.retry?.urls;
    if (own === undefined) return this.number;
    return (own.find((one) => one.url === url)?.rounds ?? 0) + 1 + this.#repetitions;
  }

  get messageTrace(): MessageTrace | undefined {
    return this.#trace.message;
  }

  startTrace(): AttemptTrace | undefined {
    return this.#trace.start();
  }

  record(attempt: RoundAttempt, trace?: AttemptTrace): void {
    const { stored, retry } = this.#work;
    if (attempt.error?.code !== NOT_TRIED) {
      this.#listener.attempted(attempt.url, attempt.error?.message);
      this.#trace.ended(attempt, this.numberAt(attempt.url), trace);
    }
    this.#error = attempt.error?.message ?? this.#error;
    const placed: Attempt = { ...attempt, offset: stored.offset, attempt: this.numberAt(attempt.url) };
    this.#listener.settler.attempt(retry?.replay === true ? { ...placed, replay: true } : placed);
  }

  fix(...[choose]: Parameters<NonNullable<Round["fix"]>>): ReturnType<NonNullable<Round["fix"]>> {
    return this.#listener.fix(choose);
  }

  repeat(): void {
    this.#repetitions += 1;
  }

  gone(url: string): void {
    this.#listener.gone(url);
  }
}

const NONE: readonly UrlRetry[] = [];

/** URLs that are not due. If that is all of them, somebody asked for a retry now, and none waits. */
function notDue(urls: readonly UrlRetry[], nowMs: number): readonly UrlRetry[] {
  const later = urls.filter(({ dueAtMs }) => dueAtMs > nowMs);
  return later.length === urls.length ? NONE : later;
}

/** The message as destinations get it. Undefined for a kind that no destination takes; the log should not hold any. */
export function outgoing(
  { stored, matched }: Work,
  format: (ms: number) => string,
): OutgoingMessage | undefined {
  const { message, timeMs } = matched;
  if (!isOutbound(message)) return undefined;
  return {
    messageId: stored.messageId,
    sourceId: stored.sourceId,
    message,
    timestamp: format(timeMs),
    offset: stored.offset,
    receivedAtMs: stored.receivedAtMs,
  };
}

/** Formats times, keeping the last one: the messages of a request mostly share one, and formatting costs up to 1 µs. */
export function timestampFormatter(): (ms: number) => string {
  let last = { ms: Number.NaN, text: "" };
  return (ms) => {
    if (ms !== last.ms) last = { ms, text: formatTime(ms) };
    return last.text;
  };
}
