import { webhookPayload } from "@sluice/protocol";
import { type Clock, parseRetryAfter } from "@sluice/resilience";
import type { Endpoint, Exchange } from "../../sender/endpoint.js";
import type { Destination, OutgoingMessage, Round, RoundAttempt, RoundOutcome } from "../destination.js";
import { classifyExchange, type Verdict } from "./classify-exchange.js";
import { concludeRound, type UrlResult } from "./conclude-round.js";
import type { RedactEcho } from "./redact-echo.js";
import type { WriteHeaders } from "./request-headers.js";
import type { WebhooksSettings } from "./settings.js";
import { type UrlGate, urlGate } from "./url-gate.js";

/** A URL that is posted to. */
export interface Target {
  readonly url: string;
  readonly headers: WriteHeaders;
  /** The headers as they are kept for the trace. */
  readonly traced: Readonly<Record<string, string>>;
  /** Takes credentials out of the kept part of an answer. */
  readonly redactEcho: RedactEcho;
  readonly endpoint: Endpoint;
}

/** Exchanges that go on after another URL took their message, for each round that may be under way. */
const LATE_A_ROUND = 4;

const NOT_TRIED = {
  code: "not_tried",
  message:
    "This URL ran into the deadline five times in a row. While another URL takes messages, it is only probed now and then",
} as const;

type Policy = Pick<WebhooksSettings, "payload" | "success" | "order" | "concurrency" | "rateLimit">;

export function webhookDestination(targets: readonly Target[], policy: Policy, clock: Clock): Destination {
  const { payload, success, order, concurrency, rateLimit } = policy;

  /** Posts to one URL, keeps the exchange for the trace, and says what it means. */
  const post = (target: Target, messageId: string, body: Buffer, round: Round): Promise<UrlResult> => {
    const { url, endpoint } = target;
    const atMs = clock.now();
    return endpoint
      .post(target.headers(messageId, round.numberAt(url), body, atMs), body)
      .then((exchange) => {
        const verdict = classifyExchange(exchange);
        if (verdict.kind !== "aborted") round.record(toAttempt(target, atMs, exchange, verdict));
        if (verdict.kind === "gone") round.gone(url);
        const isAsked = exchange.kind === "answered" && exchange.retryAfter !== undefined;
        return isAsked
          ? { url, verdict, retryAfterMs: parseRetryAfter(exchange.retryAfter, clock.now()) }
          : { url, verdict };
      });
  };

  const gates = new Map<Target, UrlGate>(targets.map((target) => [target, urlGate(clock)]));
  let late = 0;
  let onLateEnd: (() => void)[] = [];

  /** Counts what is still under way when its round has ended, and waits while there is too much of it. */
  const leaveLate = async (results: readonly Promise<UrlResult>[]): Promise<void> => {
    for (const result of results) {
      late += 1;
      void result.finally(() => {
        late -= 1;
        for (const resume of onLateEnd.splice(0)) resume();
      });
    }
    while (late > concurrency * LATE_A_ROUND) {
      await new Promise<void>((resolve) => {
        onLateEnd = [...onLateEnd, resolve];
      });
    }
  };

  /** As `post`, where another URL is there: what it did is remembered for the next round. */
  const postThroughGate = async (
    target: Target,
    messageId: string,
    body: Buffer,
    round: Round,
  ): Promise<UrlResult> => {
    const result = await post(target, messageId, body, round);
    const { verdict } = result;
    gates.get(target)?.ended(verdict.kind === "retry" && verdict.error.code === "timeout");
    return result;
  };

  /** Which of the URLs are worth their time now; those that are not go to the trace as such. */
  const admit = (
    open: readonly Target[],
    round: Round,
    whereNone: "all" | "none",
  ): { readonly tried: readonly Target[]; readonly skipped: readonly UrlResult[] } => {
    const admitted = open.filter((target) => gates.get(target)?.admits() === true);
    const tried = admitted.length === 0 && whereNone === "all" ? open : admitted;
    const left = open.filter((target) => !tried.includes(target));
    for (const target of left) round.record(notTried(target, clock.now()));
    const verdict: Verdict = { kind: "retry", reason: NOT_TRIED.code, error: NOT_TRIED };
    return { tried, skipped: left.map(({ url }) => ({ url, verdict, tried: false })) };
  };

  /** Posts to all at once; the first that takes the message ends the round, the others end on their own. */
  const postToAny = async (
    open: readonly Target[],
    messageId: string,
    body: Buffer,
    round: Round,
  ): Promise<readonly UrlResult[]> => {
    // With none admitted all are tried: a message must not fail for what others ran into.
    const { tried, skipped } = admit(open, round, "all");
    const results = tried.map((target) => postThroughGate(target, messageId, body, round));
    const first = await firstAccepted(results);
    if (first === undefined) return [...(await Promise.all(results)), ...skipped];
    await leaveLate(results);
    return [first];
  };

  /** Posts to each whose time has come. One that only runs into the deadline is left out, but for its last attempt. */
  const postToEach = async (
    open: readonly Target[],
    messageId: string,
    body: Buffer,
    round: Round,
  ): Promise<readonly UrlResult[]> => {
    // Where no URL answers the destination is dead, and its breaker is to know.
    const { tried, skipped } = round.isLast
      ? { tried: open, skipped: [] }
      : admit(open, round, open.length === targets.length ? "all" : "none");
    const results = tried.map((target) => postThroughGate(target, messageId, body, round));
    return [...(await Promise.all(results)), ...skipped];
  };

  return {
    flow: { concurrency, order, ...(rateLimit === undefined ? {} : { perSecond: rateLimit }) },
    async deliver(message: OutgoingMessage, round: Round): Promise<RoundOutcome> {
      const open = targets.filter(
        ({ url }) => !round.doneUrls.includes(url) && !round.waitingUrls.includes(url),
      );
      const [only] = open;
      if (only === undefined) return withoutTarget(targets, round, success);
      // Made once: what is signed is what is sent, to every URL.
      const body = Buffer.from(JSON.stringify(webhookPayload(message.message, message.timestamp, payload)));
      const { messageId } = message;
      if (targets.length === 1)
        return concludeRound([await post(only, messageId, body, round)], round, success);
      if (success === "each") {
        return concludeRound(await postToEach(open, messageId, body, round), round, success);
      }
      const results =
        open.length === 1
          ? [await post(only, messageId, body, round)]
          : await postToAny(open, messageId, body, round);
      return concludeRound(results, round, success);
    },
    async close() {
      await Promise.all(targets.map((target) => target.endpoint.close()));
    },
  };
}

/** No URL is to be posted to now: those that were due have been taken out of the settings since, or answered 410. */
function withoutTarget(
  targets: readonly Target[],
  round: Round,
  success: WebhooksSettings["success"],
): RoundOutcome {
  if (targets.length === 0) return { kind: "failed", reason: "every URL is disabled: each answered 410" };
  // Others have retries of their own, whose time has not come.
  if (round.waitingUrls.some((url) => targets.some((target) => target.url === url)))
    return concludeRound([], round, success);
  const isTaken = success === "each" && round.doneUrls.length > 0 && round.failedUrls.length === 0;
  return isTaken
    ? { kind: "delivered", reason: "every URL that is left has taken it" }
    : { kind: "failed", reason: "no URL is left to try" };
}

/** The first result that says accepted, as soon as there is one; undefined when all ended otherwise. */
function firstAccepted(results: readonly Promise<UrlResult>[]): Promise<UrlResult | undefined> {
  return Promise.any(
    results.map(async (result) => {
      const ended = await result;
      if (ended.verdict.kind === "accepted") return ended;
      throw ended;
    }),
  ).catch(() => undefined);
}

function notTried({ url, traced }: Target, atMs: number): RoundAttempt {
  return { atMs, url, error: NOT_TRIED, latencyMs: 0, requestHeaders: traced };
}

function toAttempt(target: Target, atMs: number, exchange: Exchange, verdict: Verdict): RoundAttempt {
  const isAnswered = exchange.kind === "answered";
  return {
    atMs,
    url: target.url,
    address: exchange.address,
    status: isAnswered ? exchange.status : undefined,
    error: "error" in verdict ? verdict.error : undefined,
    latencyMs: exchange.latencyMs,
    requestHeaders: target.traced,
    response: isAnswered ? target.redactEcho(exchange.body) : undefined,
  };
}
