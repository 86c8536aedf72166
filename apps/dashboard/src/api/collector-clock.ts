import { useSyncExternalStore } from "react";

/**
 * The collector's clock, as far as this browser knows it. Relative times use it, because the collector made the times.
 * One clock for the whole page: all `Time` elements share one timer.
 */

/** Smaller differences may come from the network. */
const LEAST_SKEW_MS = 1_500;

const listeners = new Set<() => void>();
let skewMs = 0;
let nowMs = Date.now();
let timer: ReturnType<typeof setInterval> | undefined;

/** Sets the skew from the collector's time and the browser's time at the same moment. */
export function setCollectorClock(collectorMs: number, browserMs: number): void {
  const difference = collectorMs - browserMs;
  const before = skewMs;
  skewMs = Number.isFinite(difference) && Math.abs(difference) >= LEAST_SKEW_MS ? difference : 0;
  // What is shown must not wait for the next second.
  if (Math.abs(skewMs - before) >= LEAST_SKEW_MS) tick();
}

/** How far the collector's clock is ahead of this browser's, in milliseconds. 0: about the same. */
export function clockSkewMs(): number {
  return skewMs;
}

/** The collector's time now, updated once a second. */
export function useNow(): number {
  return useSyncExternalStore(watch, () => nowMs);
}

function watch(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(tick, 1_000);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

function tick(): void {
  nowMs = Date.now() + skewMs;
  for (const listener of listeners) listener();
}
