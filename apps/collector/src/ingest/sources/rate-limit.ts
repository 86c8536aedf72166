import {
  type Clock,
  fullBucket,
  msUntilTokens,
  refill,
  type TokenBucket,
  takeTokens,
} from "@sluice/resilience";
import { CollectorError } from "../../errors.js";
import type { Source } from "./source-directory.js";

/**
 * Messages a second of a source whose key is public. It is more than the visitors of one site send to one collector process, and low
 * enough that other sources keep working when somebody takes the key from the page.
 */
const PUBLIC_KEY_RATE = 10_000;
/**
 * Messages a second of a server source. Imports and busy backends stay below it. A loop that sends without end gets 429, before it takes the
 * whole collector and fills the disk.
 */
const SECRET_KEY_RATE = 50_000;

/** The limit of a source without one of its own, by the setting for all; undefined: no limit. */
export function rateOf(
  { kind }: Pick<Source, "kind">,
  setting: number | "auto" | undefined,
): number | undefined {
  if (setting !== "auto") return setting;
  return kind === "server" ? SECRET_KEY_RATE : PUBLIC_KEY_RATE;
}

export type RateDecision =
  | { readonly kind: "admitted"; readonly bucket: TokenBucket }
  | { readonly kind: "limited"; readonly retryAfterSeconds: number };

/**
 * Decides whether `messages` more are accepted at `perSecond`. The bucket holds up to one second's worth, and admits while anything is
 * left in it. So a batch larger than the rate gets through, and later ones wait until its debt is paid.
 */
export function decideRate(
  before: TokenBucket | undefined,
  messages: number,
  perSecond: number,
  nowMs: number,
): RateDecision {
  const rate = { perSecond, capacity: perSecond };
  const bucket = before === undefined ? fullBucket(rate, nowMs) : refill(before, rate, nowMs);
  if (bucket.tokens > 0) return { kind: "admitted", bucket: takeTokens(bucket, messages) };
  const waitMs = msUntilTokens(bucket, rate, 0);
  return { kind: "limited", retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1_000)) };
}

/** The rate limits of all sources. */
export interface RateLimiter {
  /** Counts `messages` of a source; throws `rate_limited` if they are too many now. Zero asks without counting. */
  admit(source: LimitedSource, messages: number): void;
}

type LimitedSource = Pick<Source, "id" | "kind" | "rateLimit">;

/** `setting`: messages a second of each source without a limit of its own; `auto`: by the kind of source. Undefined: no limit. */
export function rateLimiter(clock: Clock, setting: number | "auto" | undefined): RateLimiter {
  const buckets = new Map<string, TokenBucket>();
  return {
    admit(source, messages) {
      const limit = source.rateLimit ?? rateOf(source, setting);
      if (limit === undefined) return;
      const decision = decideRate(buckets.get(source.id), messages, limit, clock.monotonic());
      if (decision.kind === "limited")
        throw new CollectorError("rate_limited", `more than ${limit} messages a second`, {
          details: { retryAfterSeconds: decision.retryAfterSeconds },
        });
      buckets.set(source.id, decision.bucket);
    },
  };
}
