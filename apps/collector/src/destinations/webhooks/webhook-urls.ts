import type { Clock } from "@sluice/resilience";
import { admit, afterFailure, afterSuccess, type CircuitBreaker, CLOSED_BREAKER } from "@sluice/resilience";
import { NOT_TRIED, type Round, type RoundOutcome } from "../destination.js";
import type { Verdict } from "./conclude-round.js";
import { concludeRound, type UrlResult } from "./conclude-round.js";
import type { WebhooksSettings } from "./settings/settings.js";
import { postTo, type Target } from "./webhook-target.js";

/**
 * Circuit breaker for one of several URLs. A URL that always times out would hold a connection for five seconds per
 * message, so after several timeouts in a row it is only probed. Other failures are fast and do not count.
 */
interface UrlGate {
  /** Whether to post to the URL now. If it returns true, you must call `ended` afterwards. */
  admits(): boolean;
  ended(timedOut: boolean): void;
}

/** Consecutive timeouts before a URL is only probed, and the time between probes. */
const OPTIONS = {
  failureThreshold: 5,
  openFor: { initialMs: 1_000, maxMs: 60_000, jitter: "equal" },
} as const;

function urlGate(clock: Clock): UrlGate {
  let breaker: CircuitBreaker = CLOSED_BREAKER;
  return {
    admits() {
      const gate = admit(breaker, clock.monotonic());
      if (gate.admitted) breaker = gate.next;
      return gate.admitted;
    },
    ended(timedOut) {
      breaker = timedOut
        ? afterFailure(breaker, OPTIONS, clock.monotonic(), clock.random())
        : afterSuccess(breaker);
    },
  };
}

/** Exchanges that may continue after another URL accepted their message, per concurrent round. */
const PER_ROUND = 4;

/** Counts exchanges that are in flight after their round has ended. Delays further rounds while there are too many. */
class LateExchanges {
  readonly #limit: number;
  #inFlight = 0;
  #onEnd: (() => void)[] = [];

  /** `concurrency`: maximum number of rounds in flight. */
  constructor(concurrency: number) {
    this.#limit = concurrency * PER_ROUND;
  }

  /** Adds a round's exchanges. Resolves when there is room for another round. */
  async add(exchanges: readonly Promise<unknown>[]): Promise<void> {
    for (const exchange of exchanges) {
      this.#inFlight += 1;
      void exchange.finally(() => {
        this.#inFlight -= 1;
        for (const resume of this.#onEnd.splice(0)) resume();
      });
    }
    while (this.#inFlight > this.#limit) {
      await new Promise<void>((resolve) => {
        this.#onEnd.push(resolve);
      });
    }
  }
}

const SKIPPED = {
  code: NOT_TRIED,
  message:
    "Skipped, because this URL timed out five times in a row. While another URL accepts messages, this one is only probed from time to time",
} as const;

/** What is posted: the same bytes to every URL, so that all get what was signed. */
export interface Post {
  /** The id of the message, or of the array. */
  readonly id: string;
  readonly body: Buffer;
  readonly round: Round;
}

interface Admission {
  readonly tried: readonly Target[];
  readonly skipped: readonly UrlResult[];
}

/** Posts to the one to five URLs of a destination. */
export class WebhookUrls {
  readonly #targets: readonly Target[];
  readonly #success: WebhooksSettings["success"];
  readonly #clock: Clock;
  readonly #gates: ReadonlyMap<Target, UrlGate>;
  readonly #late: LateExchanges;

  constructor(
    targets: readonly Target[],
    { success, concurrency }: Pick<WebhooksSettings, "success" | "concurrency">,
    clock: Clock,
  ) {
    this.#targets = targets;
    this.#success = success;
    this.#clock = clock;
    this.#gates = new Map(targets.map((target) => [target, urlGate(clock)]));
    this.#late = new LateExchanges(concurrency);
  }

  /** The URLs that a message still has to be posted to. */
  openFor({ doneUrls, waitingUrls }: Pick<Round, "doneUrls" | "waitingUrls">): readonly Target[] {
    return this.#targets.filter(({ url }) => !doneUrls.includes(url) && !waitingUrls.includes(url));
  }

  /** Posts to URLs, at least one, as the rule for success says. */
  async post(open: readonly Target[], post: Post): Promise<readonly UrlResult[]> {
    const [only] = open;
    const isAlone = this.#targets.length === 1 || (this.#success === "any" && open.length === 1);
    if (only !== undefined && isAlone) return [await this.#postTo(only, post)];
    return this.#success === "each" ? this.#postToEach(open, post) : this.#postToAny(open, post);
  }

  /** The outcome of a message from the results of its URLs; none if there was no URL to post to. */
  conclude(results: readonly UrlResult[], round: Round): RoundOutcome {
    return results.length === 0
      ? outcomeWithoutTarget(this.#targets, round, this.#success)
      : concludeRound(results, round, this.#success);
  }

  async close(): Promise<void> {
    await Promise.all(this.#targets.map((target) => target.endpoint.close()));
  }

  /** Posts to all URLs at once. The first URL that accepts the message ends the round. The other requests run to their end. */
  async #postToAny(open: readonly Target[], post: Post): Promise<readonly UrlResult[]> {
    // If no URL is admitted, try all. A message must not fail only because earlier messages timed out.
    const { tried, skipped } = this.#admit(open, post.round, "all");
    const results = tried.map((target) => this.#postThroughGate(target, post));
    const first = await firstAccepted(results);
    if (first === undefined) return [...(await Promise.all(results)), ...skipped];
    await this.#late.add(results);
    return [first];
  }

  /** Posts to each URL that is due. Skips a URL that keeps timing out, except in the last round. */
  async #postToEach(open: readonly Target[], post: Post): Promise<readonly UrlResult[]> {
    const { round } = post;
    // If every URL is open, try all of them when none is admitted, so that the destination's breaker sees that it is down.
    const { tried, skipped } = round.isLast
      ? { tried: open, skipped: [] }
      : this.#admit(open, round, open.length === this.#targets.length ? "all" : "none");
    const results = tried.map((target) => this.#postThroughGate(target, post));
    return [...(await Promise.all(results)), ...skipped];
  }

  /** Posts to the URL, and reports to its gate whether the request timed out. */
  async #postThroughGate(target: Target, post: Post): Promise<UrlResult> {
    const result = await this.#postTo(target, post);
    const { verdict } = result;
    this.#gates.get(target)?.ended(verdict.kind === "retry" && verdict.error.code === "timeout");
    return result;
  }

  #postTo(target: Target, { id, body, round }: Post): Promise<UrlResult> {
    return postTo(target, id, body, round, this.#clock);
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
