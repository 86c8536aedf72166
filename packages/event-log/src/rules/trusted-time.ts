import type { Clock } from "@sluice/resilience";

/**
 * The time that decides when data expires: ids that dedupe forgets, messages that are too old. Data deleted by mistake does not come
 * back, so a jump of the wall clock is not trusted until it has lasted for `BELIEVED_AFTER_MS`. Until then, trusted time continues by
 * the monotonic clock. Waiting only keeps some data a little longer.
 */
export interface TrustedTime {
  /** Trusted time minus the monotonic reading. */
  readonly offsetMs: number;
  /** Another offset that the wall clock shows, and the monotonic reading since when. */
  readonly doubt?: { readonly offsetMs: number; readonly sinceMs: number };
}

/** Ordinary clock adjustments are smaller. It is also how long a restart may take. */
const TOLERANCE_MS = 60_000;
const BELIEVED_AFTER_MS = 60 * 60_000;

interface Reading {
  readonly wallMs: number;
  readonly monotonicMs: number;
}

export function readingOf(clock: Pick<Clock, "now" | "monotonic">): Reading {
  return { wallMs: clock.now(), monotonicMs: clock.monotonic() };
}

/** `lastMs`: the last trusted time of the previous process, if known. */
export function firstTrustedTime({ wallMs, monotonicMs }: Reading, lastMs: number | undefined): TrustedTime {
  const reading = { wallMs, monotonicMs };
  if (lastMs === undefined) return { offsetMs: wallMs - monotonicMs };
  return nextTrustedTime({ offsetMs: lastMs - monotonicMs }, reading);
}

/** The trusted time after another reading of the clocks. Call it several times a minute. */
export function nextTrustedTime(time: TrustedTime, { wallMs, monotonicMs }: Reading): TrustedTime {
  const offsetMs = wallMs - monotonicMs;
  if (isSame(offsetMs, time.offsetMs)) return { offsetMs };
  const { doubt } = time;
  if (doubt === undefined || !isSame(offsetMs, doubt.offsetMs))
    return { offsetMs: time.offsetMs, doubt: { offsetMs, sinceMs: monotonicMs } };
  return monotonicMs - doubt.sinceMs < BELIEVED_AFTER_MS ? time : { offsetMs };
}

export function trustedMs({ offsetMs }: TrustedTime, monotonicMs: number): number {
  return monotonicMs + offsetMs;
}

function isSame(a: number, b: number): boolean {
  return Math.abs(a - b) <= TOLERANCE_MS;
}
