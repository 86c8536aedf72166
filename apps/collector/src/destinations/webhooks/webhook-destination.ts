import type { Clock } from "@sluice/resilience";
import {
  type Destination,
  type Flow,
  NOT_TRIED,
  type OutgoingMessage,
  type Round,
  type RoundOutcome,
} from "../destination.js";
import type { Verdict } from "./classify-exchange.js";
import { concludeRound, type UrlResult } from "./conclude-round.js";
import { LateExchanges } from "./late-exchanges.js";
import { requestBody } from "./request/request-body.js";
import type { WebhooksSettings } from "./settings/settings.js";
import { type UrlGate, urlGate } from "./url-gate.js";
import { postTo, type Target } from "./webhook-target.js";

const SKIPPED = {
  code: NOT_TRIED,
  message:
    "Skipped, because this URL timed out five times in a row. While another URL accepts messages, this one is only probed from time to time",
} as const;

type Policy = Pick<WebhooksSettings, "payload" | "success" | "order" | "concurrency" | "rateLimit">;

interface Admission {
  readonly tried: readonly Target[];
  readonly skipped: readonly UrlResult[];
}

/** Posts messages to one to five URLs. */
export class WebhookDestination implements Destination {
  readonly flow: Flow;
  readonly #targets: readonly Target[];
  readonly #policy: Policy;
  readonly #clock: Clock;
  readonly #gates: ReadonlyMap<Target, UrlGate>;
  readonly #late: LateExchanges;

  constructor(targets: readonly Target[], policy: Policy, clock: Clock) {
    const { order, concurrency, rateLimit } = policy;
    this.flow = { concurrency, order, ...(rateLimit === undefined ? {} : { perSecond: rateLimit }) };
    this.#targets = targets;
    this.#policy = policy;
    this.#clock = clock;
    this.#gates = new Map(targets.map((target) => [target, urlGate(clock)]));
    this.#late = new LateExchanges(concurrency);
  }

  async deliver(message: OutgoingMessage, round: Round): Promise<RoundOutcome> {
    const { success } = this.#policy;
    const open = this.#targets.filter(
      ({ url }) => !round.doneUrls.includes(url) && !round.waitingUrls.includes(url),
    );
    const [only] = open;
    if (only === undefined) return outcomeWithoutTarget(this.#targets, round, success);
    // Built once, so that every URL gets exactly the bytes that were signed.
    const body = Buffer.from(requestBody(message, this.#policy));
    return concludeRound(await this.#post(open, only, message.messageId, body, round), round, success);
  }

  async close(): Promise<void> {
    await Promise.all(this.#targets.map((target) => target.endpoint.close()));
  }

  async #post(
    open: readonly Target[],
    only: Target,
    messageId: string,
    body: Buffer,
    round: Round,
  ): Promise<readonly UrlResult[]> {
    const { success } = this.#policy;
    if (this.#targets.length === 1 || (success === "any" && open.length === 1))
      return [await postTo(only, messageId, body, round, this.#clock)];
    return success === "each"
      ? this.#postToEach(open, messageId, body, round)
      : this.#postToAny(open, messageId, body, round);
  }

  /** Posts to all URLs at once. The first URL that accepts the message ends the round. The other requests run to their end. */
  async #postToAny(
    open: readonly Target[],
    messageId: string,
    body: Buffer,
    round: Round,
  ): Promise<readonly UrlResult[]> {
    // If no URL is admitted, try all. A message must not fail only because earlier messages timed out.
    const { tried, skipped } = this.#admit(open, round, "all");
    const results = tried.map((target) => this.#postThroughGate(target, messageId, body, round));
    const first = await firstAccepted(results);
    if (first === undefined) return [...(await Promise.all(results)), ...skipped];
    await this.#late.add(results);
    return [first];
  }

  /** Posts to each URL that is due. Skips a URL that keeps timing out, except in the last round. */
  async #postToEach(
    open: readonly Target[],
    messageId: string,
    body: Buffer,
    round: Round,
  ): Promise<readonly UrlResult[]> {
    // If every URL is open, try all of them when none is admitted, so that the destination's breaker sees that it is down.
    const { tried, skipped } = round.isLast
      ? { tried: open, skipped: [] }
      : this.#admit(open, round, open.length === this.#targets.length ? "all" : "none");
    const results = tried.map((target) => this.#postThroughGate(target, messageId, body, round));
    return [...(await Promise.all(results)), ...skipped];
  }

  /** Posts to the URL, and reports to its gate whether the request timed out. */
  async #postThroughGate(target: Target, messageId: string, body: Buffer, round: Round): Promise<UrlResult> {
    const result = await postTo(target, messageId, body, round, this.#clock);
    const { verdict } = result;
    this.#gates.get(target)?.ended(verdict.kind === "retry" && verdict.error.code === "timeout");
    return result;
  }

  /** Selects the URLs that are worth trying now. The others are recorded in the trace as skipped. */
  #admit(open: readonly Target[], round: Round, ifNone: "all" | "none"): Admission {
    const admitted = open.filter((target) => this.#gates.get(target)?.admits() === true);
    const tried = admitted.length === 0 && ifNone === "all" ? open : admitted;
    const left = open.filter((target) => !tried.includes(target));
    const atMs = this.#clock.now();
    for (const { url, traced } of left)
      round.record({ atMs, url, error: SKIPPED, latencyMs: 0, requestHeaders: traced });
    const verdict: Verdict = { kind: "retry", reason: NOT_TRIED, error: SKIPPED };
    return { tried, skipped: left.map(({ url }) => ({ url, verdict, tried: false })) };
  }
}

/** The outcome if no URL is left to post to, because the ones that were due were removed from the settings or answered 410. */
function outcomeWithoutTarget(
  targets: readonly Target[],
  round: Round,
  success: WebhooksSettings["success"],
): RoundOutcome {
  if (targets.length === 0)
    return { kind: "failed", reason: "all URLs are disabled because they answered 410" };
  // Other URLs still have retries that are not due yet.
  if (round.waitingUrls.some((url) => targets.some((target) => target.url === url)))
    return concludeRound([], round, success);
  const isDelivered = success === "each" && round.doneUrls.length > 0 && round.failedUrls.length === 0;
  return isDelivered
    ? { kind: "delivered", reason: "all remaining URLs have accepted it" }
    : { kind: "failed", reason: "no URL is left to try" };
}

/** Resolves with the first accepted result, or with undefined if there is none. */
function firstAccepted(results: readonly Promise<UrlResult>[]): Promise<UrlResult | undefined> {
  return Promise.any(
    results.map(async (result) => {
      const ended = await result;
      if (ended.verdict.kind === "accepted") return ended;
      throw ended;
    }),
  ).catch(() => undefined);
}
