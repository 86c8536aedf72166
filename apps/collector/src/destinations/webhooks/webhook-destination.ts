import { webhookPayload } from "@sluice/protocol";
import { type Clock, parseRetryAfter } from "@sluice/resilience";
import type { Endpoint, Exchange } from "../../sender/endpoint.js";
import type { Destination, OutgoingMessage, Round, RoundAttempt, RoundOutcome } from "../destination.js";
import { classifyExchange, type Verdict } from "./classify-exchange.js";
import { concludeRound, type UrlResult } from "./conclude-round.js";
import { type RequestHeaderOptions, requestHeaders } from "./request-headers.js";
import type { WebhooksSettings } from "./settings.js";

/** A URL that is posted to. */
export interface Target {
  readonly url: string;
  readonly headers: RequestHeaderOptions;
  readonly traced: Readonly<Record<string, string>>;
  readonly endpoint: Endpoint;
}

type Policy = Pick<WebhooksSettings, "payload" | "success" | "order" | "concurrency" | "rateLimit">;

export function webhookDestination(targets: readonly Target[], policy: Policy, clock: Clock): Destination {
  const { payload, success, order, concurrency, rateLimit } = policy;

  /** Posts to one URL, keeps the exchange for the trace, and says what it means. */
  const post = async (target: Target, messageId: string, body: Buffer, round: Round): Promise<UrlResult> => {
    const atMs = clock.now();
    const headers = requestHeaders(target.headers, messageId, round.number, body, atMs);
    const exchange = await target.endpoint.post(headers, body);
    const verdict = classifyExchange(exchange);
    if (verdict.kind !== "aborted") round.record(toAttempt(target, atMs, exchange, verdict));
    const retryAfterMs =
      exchange.kind === "answered" ? parseRetryAfter(exchange.retryAfter, clock.now()) : undefined;
    return { url: target.url, verdict, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
  };

  return {
    flow: { concurrency, order, ...(rateLimit === undefined ? {} : { perSecond: rateLimit }) },
    async deliver(message: OutgoingMessage, round: Round): Promise<RoundOutcome> {
      const open = targets.filter(({ url }) => !round.doneUrls.includes(url));
      if (open.length === 0) {
        return {
          kind: "failed",
          reason: targets.length === 0 ? "every URL is disabled: each answered 410" : "no URL is left to try",
        };
      }
      // Made once: what is signed is what is sent, to every URL.
      const body = Buffer.from(JSON.stringify(webhookPayload(message.message, message.timestamp, payload)));
      const results = open.map((target) => post(target, message.messageId, body, round));
      if (success === "any" && results.length > 1) {
        const first = await firstAccepted(results);
        if (first !== undefined) return concludeRound([first], round, success);
      }
      return concludeRound(await Promise.all(results), round, success);
    },
    async close() {
      await Promise.all(targets.map((target) => target.endpoint.close()));
    },
  };
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

function toAttempt(target: Target, atMs: number, exchange: Exchange, verdict: Verdict): RoundAttempt {
  return {
    atMs,
    url: target.url,
    ...(exchange.address === undefined ? {} : { address: exchange.address }),
    ...(exchange.kind === "answered" ? { status: exchange.status, response: exchange.body } : {}),
    ...("error" in verdict ? { error: verdict.error } : {}),
    latencyMs: exchange.latencyMs,
    requestHeaders: target.traced,
  };
}
