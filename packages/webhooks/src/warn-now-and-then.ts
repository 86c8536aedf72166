const WARN_EVERY_MS = 60_000;

/** Warns of refused requests, so that a wrong secret is seen where the receiver runs; whoever sends many fills no log with it. */
export function warnNowAndThen(
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
