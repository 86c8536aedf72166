import type { Clock } from "@sluice/resilience";

/** How long a change of a document waits for one listener, in milliseconds. */
const FOLLOW_MS = 10_000;

/**
 * For listeners of documents: resolves when `following` settles, after ten seconds, or when `signal` aborts. So a stored change is
 * answered even if a listener hangs.
 */
export function followInTime(following: Promise<unknown>, clock: Clock, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      cancel();
      signal.removeEventListener("abort", end);
      resolve();
    };
    const cancel = clock.after(FOLLOW_MS, end);
    signal.addEventListener("abort", end);
    following.then(end, end);
  });
}
