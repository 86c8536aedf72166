import type { Clock } from "@sluice/resilience";
import type { Source } from "./source-directory.js";

/**
 * Messages a second of a source whose key is public: more than the visitors of any one site send to a collector of one process, and few
 * enough that other sources go on when somebody takes the key from the page.
 */
const PUBLIC_KEY_RATE = 10_000;

/** The limit of a source that has none of its own, by what is set for all; undefined: none. Who has a server source's key is trusted, and may import. */
export function rateOf(
  { kind }: Pick<Source, "kind">,
  setting: number | "auto" | undefined,
): number | undefined {
  if (setting !== "auto") return setting;
  return kind === "server" ? undefined : PUBLIC_KEY_RATE;
}

/** What is left of a source's allowance: below zero after a request that was larger than what was left. */
export interface Allowance {
  readonly messages: number;
  readonly atMs: number;
}

export type RateDecision =
  | { readonly kind: "admitted"; readonly allowance: Allowance }
  /** Come again when the allowance is above zero. */
  | { readonly kind: "limited"; readonly retryAfterSeconds: number };

/**
 * Whether `messages` more may come in at `perSecond`. An allowance grows by the rate, up to one second's worth, and
 * is admitted from while anything is left: so a batch larger than the rate gets through, and is paid for afterwards.
 */
export function decideRate(
  before: Allowance | undefined,
  messages: number,
  perSecond: number,
  nowMs: number,
): RateDecision {
  const left = allowanceAt(before, perSecond, nowMs);
  if (left <= 0 && before !== undefined)
    return { kind: "limited", retryAfterSeconds: Math.max(1, Math.ceil(-left / perSecond)) };
  return { kind: "admitted", allowance: { messages: left - messages, atMs: nowMs } };
}

function allowanceAt(before: Allowance | undefined, perSecond: number, nowMs: number): number {
  if (before === undefined) return perSecond;
  // Time that goes back gives nothing and takes nothing.
  const elapsedMs = Math.max(0, nowMs - before.atMs);
  return Math.min(perSecond, before.messages + (elapsedMs / 1_000) * perSecond);
}

/** The limits of all sources. */
export interface RateLimiter {
  /** Seconds to wait where `messages` more of a source are not taken now; undefined where they are, and counted. */
  admit(sourceId: string, messages: number, perSecond: number): number | undefined;
}

export function rateLimiter(clock: Clock): RateLimiter {
  const allowances = new Map<string, Allowance>();
  return {
    admit(sourceId, messages, perSecond) {
      const decision = decideRate(allowances.get(sourceId), messages, perSecond, clock.monotonic());
      if (decision.kind === "limited") return decision.retryAfterSeconds;
      allowances.set(sourceId, decision.allowance);
      return undefined;
    },
  };
}
