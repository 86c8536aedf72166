const WARN_EVERY_MS = 60_000;

/**
 * Returns a function that warns of refused requests, so that a wrong secret shows up in the receiver's log. It warns at most once a minute,
 * so that a sender of many wrong requests does not fill the log.
 */
export function rejectionWarnings(
  warn: (line: string) => void = console.warn,
  now: () => number = Date.now,
): (rejection: { readonly status: number; readonly reason: string }) => void {
  let warnedAtMs = Number.NEGATIVE_INFINITY;
  let silent = 0;
  return ({ status, reason }) => {
    const sinceMs = now() - warnedAtMs;
    if (sinceMs >= 0 && sinceMs < WARN_EVERY_MS) {
      silent += 1;
      return;
    }
    const others = silent === 0 ? "" : ` (${silent} more since the last warning)`;
    warn(`Webhook request refused, ${status}: ${reason}${others}`);
    warnedAtMs = now();
    silent = 0;
  };
}
