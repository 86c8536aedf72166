/**
 * The time by which data is let go: ids that dedupe forgets, messages that are too old. What is deleted by mistake does not
 * come back, so a wall clock that was set is not believed until it has stood for `BELIEVED_AFTER_MS`: up to then the time
 * goes on as it was, by the monotonic clock. Waiting costs nothing but some data that is kept a little longer.
 */
export interface TrustedTime {
  /** What the trusted time is ahead of the monotonic reading by. */
  readonly offsetMs: number;
  /** The wall clock says something else, since a monotonic reading. */
  readonly doubt?: { readonly offsetMs: number; readonly sinceMs: number };
}

/** A clock is adjusted by less than this all the time. It is also how long a restart may take. */
const TOLERANCE_MS = 60_000;
const BELIEVED_AFTER_MS = 60 * 60_000;

interface Reading {
  readonly wallMs: number;
  readonly monotonicMs: number;
}

/** `lastMs`: the last trusted time of the process before, where one is known. */
export function firstTrustedTime({ wallMs, monotonicMs }: Reading, lastMs: number | undefined): TrustedTime {
  const reading = { wallMs, monotonicMs };
  if (lastMs === undefined) return { offsetMs: wallMs - monotonicMs };
  return nextTrustedTime({ offsetMs: lastMs - monotonicMs }, reading);
}

/** The trusted time after the clocks were read again. To be called several times a minute. */
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
