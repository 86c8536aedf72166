import { useSyncExternalStore } from "react";
import { exactTime, relativeTime } from "../words/times.js";

/** "4 min ago", kept true while the page stands; the exact time is one hover away. */
export function Time({ at }: { at: string }) {
  const nowMs = useNow();
  return (
    <time dateTime={at} title={exactTime(at)} className="nowrap">
      {relativeTime(Date.parse(at), nowMs)}
    </time>
  );
}

/** Below this a difference may be the network's. */
const LEAST_SKEW_MS = 1_500;

const listeners = new Set<() => void>();
let skewMs = 0;
let nowMs = Date.now();
let timer: ReturnType<typeof setInterval> | undefined;

/** Tells what the collector's clock said at a moment of this browser's: "4 min ago" is by its clock, which made the times. */
export function setCollectorClock(collectorMs: number, hereMs: number): void {
  const difference = collectorMs - hereMs;
  skewMs = Number.isFinite(difference) && Math.abs(difference) >= LEAST_SKEW_MS ? difference : 0;
}

/** How far this browser's clock is behind the collector's, in milliseconds; 0 where it is about right. */
export function clockSkewMs(): number {
  return skewMs;
}

/** The time now, once a second for everybody who asks. */
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
