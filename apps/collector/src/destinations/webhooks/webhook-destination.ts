import { webhookPayload } from "@sluice/protocol";
import type { Clock } from "@sluice/resilience";
import type { Destination, Flow, OutgoingMessage, Round, RoundOutcome } from "../destination.js";
import type { Verdict } from "./classify-exchange.js";
import { concludeRound, type UrlResult } from "./conclude-round.js";
import { LateExchanges } from "./late-exchanges.js";
import type { WebhooksSettings } from "./settings.js";
import { type UrlGate, urlGate } from "./url-gate.js";
import { postTo, type Target } from "./webhook-target.js";

const NOT_TRIED = {
  code: "not_tried",
  message:
    "This URL ran into the deadline five times in a row. While another URL takes messages, it is only probed now and then",
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
    const { payload, success } = this.#policy;
    const open = this.#targets.filter(
      ({ url }) => !round.doneUrls.includes(url) && !round.waitingUrls.includes(url),
    );
    const [only] = open;
    if (only === undefined) return outcomeWithoutTarget(this.#targets, round, success);
    // Built once, so that every URL gets exactly the bytes that were signed.
    const body = Buffer.from(JSON.stringify(webhookPayload(message.message, message.timestamp, payload)));
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

  /** Posts to all URLs at once. The first that takes the message ends the round; the others end on their own. */
  async #postToAny(
    open: readonly Target[],
    messageId: string,
    body: Buffer,
    round: Round,
  ): Promise<readonly UrlResult[]> {
    // If no URL is admitted, try all: a message must not fail because of what others ran into.
    const { tried, skipped } = this.#admit(open, round, "all");
    const results = tried.map((target) => this.#postThroughGate(target, messageId, body, round));
    const first = await firstAccepted(results);
    if (first === undefined) return [...(await Promise.all(results)), ...skipped];
    await this.#late.add(results);
    return [first];
  }

  /** Posts to each URL that is due. A URL that only runs into the deadline is skipped, except for its last attempt. */
  async #postToEach(
    open: readonly Target[],
    messageId: string,
    body: Buffer,
    round: Round,
  ): Promise<readonly UrlResult[]> {
    // If no URL answers, the destination is down, and its breaker has to know.
    const { tried, skipped } = round.isLast
      ? { tried: open, skipped: [] }
      : this.#admit(open, round, open.length === this.#targets.length ? "all" : "none");
    const results = tried.map((target) => this.#postThroughGate(target, messageId, body, round));
    return [...(await Promise.all(results)), ...skipped];
  }

  /** Posts, and remembers a timeout for the next rounds. */
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
      round.record({ atMs, url, error: NOT_TRIED, latencyMs: 0, requestHeaders: traced });
    const verdict: Verdict = { kind: "retry", reason: NOT_TRIED.code, error: NOT_TRIED };
    return { tried, skipped: left.map(({ url }) => ({ url, verdict, tried: false })) };
  }
}

/** The outcome when no URL is left to post to: those that were due were removed from the settings, or answered 410. */
function outcomeWithoutTarget(
  targets: readonly Target[],
  round: Round,
  success: WebhooksSettings["success"],
): RoundOutcome {
  if (targets.length === 0) return { kind: "failed", reason: "every URL is disabled: each answered 410" };
  // Other URLs have retries of their own that are not due yet.
  if (round.waitingUrls.some((url) => targets.some((target) => target.url === url)))
    return concludeRound([], round, success);
  const isDelivered = success === "each" && round.doneUrls.length > 0 && round.failedUrls.length === 0;
  return isDelivered
    ? { kind: "delivered", reason: "every URL that is left has taken it" }
    : { kind: "failed", reason: "no URL is left to try" };
}

/** The first accepted result, as soon as there is one. Undefined if all ended otherwise. */
function firstAccepted(results: readonly Promise<UrlResult>[]): Promise<UrlResult | undefined> {
  return Promise.any(
    results.map(async (result) => {
      const ended = await result;
      if (ended.verdict.kind === "accepted") return ended;
      throw ended;
    }),
  ).catch(() => undefined);
}
