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

const listeners = new Set<() => void>();
let nowMs = Date.now();
let timer: ReturnType<typeof setInterval> | undefined;

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
  nowMs = Date.now();
  for (const listener of listeners) listener();
}
