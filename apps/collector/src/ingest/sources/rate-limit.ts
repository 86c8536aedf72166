import { hash } from "node:crypto";
import type { Clock } from "@sluice/resilience";
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

/** When a source's bucket is full again; it holds up to one second's worth. */
export type RateDecision =
  | { readonly kind: "admitted"; readonly fullAtMs: number }
  | { readonly kind: "limited"; readonly retryAfterSeconds: number };

const CAPACITY_MS = 1_000;

/**
 * Decides whether `messages` more are accepted at `perSecond`. Admits while anything is left in the bucket, so a batch larger than the rate
 * gets through, and later ones wait until its debt is paid. `fullAtMs`: when the bucket is full again, or was.
 */
export function decideRate(
  fullAtMs: number,
  messages: number,
  perSecond: number,
  nowMs: number,
): RateDecision {
  const emptyForMs = fullAtMs - nowMs - CAPACITY_MS;
  if (emptyForMs >= 0)
    return { kind: "limited", retryAfterSeconds: Math.max(1, Math.ceil(emptyForMs / 1_000)) };
  return { kind: "admitted", fullAtMs: Math.max(fullAtMs, nowMs) + (messages * 1_000) / perSecond };
}

/** When the bucket of each source is full. */
export interface Buckets {
  fullAtMs(bucket: string): number;
  /** Returns false, and changes nothing, if it is not `before` any more. */
  replace(bucket: string, before: number, fullAtMs: number): boolean;
}

/** Of this thread. */
export function buckets(): Buckets {
  const full = new Map<string, number>();
  return {
    fullAtMs: (bucket) => full.get(bucket) ?? Number.NEGATIVE_INFINITY,
    replace(bucket, _before, fullAtMs) {
      full.set(bucket, fullAtMs);
      return true;
    },
  };
}

/** Beyond so many, sources share buckets. */
const SHARED_BUCKETS = 16_384;

/** Memory for buckets that several threads use together. */
export function sharedBuckets(): SharedArrayBuffer {
  return new SharedArrayBuffer(2 * SHARED_BUCKETS * BigInt64Array.BYTES_PER_ELEMENT);
}

/**
 * Of all threads that have this memory: a table by the hash of the source, with the hash and a time in microseconds in each place. A place
 * that is taken stays taken, because sources are few.
 */
export function bucketsOfProcess(memory: SharedArrayBuffer): Buckets {
  const words = new BigInt64Array(memory);
  const places = new Map<string, number>();
  const placeOf = (bucket: string): number => {
    const known = places.get(bucket);
    if (known !== undefined) return known;
    const digest = hash("sha256", bucket, "buffer");
    const key = digest.readBigInt64LE() || 1n;
    const first = digest.readUInt32LE(8) % SHARED_BUCKETS;
    let place = first;
    for (;;) {
      const before = Atomics.compareExchange(words, 2 * place, 0n, key);
      if (before === 0n || before === key) break;
      place = (place + 1) % SHARED_BUCKETS;
      if (place === first) break;
    }
    places.set(bucket, place);
    return place;
  };
  return {
    fullAtMs: (bucket) => Number(Atomics.load(words, 2 * placeOf(bucket) + 1)) / 1_000,
    replace(bucket, before, fullAtMs) {
      const [expected, now] = [before, fullAtMs].map((ms) => BigInt(Math.round(ms * 1_000))) as [
        bigint,
        bigint,
      ];
      return Atomics.compareExchange(words, 2 * placeOf(bucket) + 1, expected, now) === expected;
    },
  };
}

/** The rate limits of all sources. */
export interface RateLimiter {
  /**
   * Counts `messages` of a source; throws `rate_limited` if they are too many now. Zero asks without counting. `before`: they were counted
   * for the source as it was then, and count again only if its limit has changed.
   */
  admit(source: LimitedSource, messages: number, before?: LimitedSource): void;
}

type LimitedSource = Pick<Source, "id" | "kind" | "rateLimit">;

/** `setting`: messages a second of each source without a limit of its own; `auto`: by the kind of source. Undefined: no limit. */
export function rateLimiter(
  clock: Clock,
  setting: number | "auto" | undefined,
  shared: Buckets = buckets(),
): RateLimiter {
  const limitOf = (source: LimitedSource): number | undefined => source.rateLimit ?? rateOf(source, setting);
  // A new limit has a new bucket: debt is time, and at the old limit it may last for long.
  const bucketOf = (source: LimitedSource): string => `${source.id} ${limitOf(source)}`;
  return {
    admit(source, messages, before) {
      const limit = limitOf(source);
      if (limit === undefined) return;
      const bucket = bucketOf(source);
      if (before !== undefined && bucketOf(before) === bucket) return;
      for (;;) {
        const fullAtMs = shared.fullAtMs(bucket);
        const decision = decideRate(fullAtMs, messages, limit, clock.monotonic());
        if (decision.kind === "limited")
          throw new CollectorError("rate_limited", `more than ${limit} messages a second`, {
            details: { retryAfterSeconds: decision.retryAfterSeconds },
          });
        if (messages === 0 || shared.replace(bucket, fullAtMs, decision.fullAtMs)) return;
      }
    },
  };
}
