/**
 * The failures, one per run. `fault(nth, elapsedMs)` returns what happens to the nth request (from 1), `elapsedMs` after the
 * first: a status, "hang", "reset", "accept_then_reset", or undefined for a normal response.
 */
export const SCENARIOS = {
  "503 for 30 s": { fault: (_nth, elapsedMs) => (elapsedMs < 30_000 ? { status: 503 } : undefined) },
  "400 once": { fault: (nth) => (nth === 1 ? { status: 400 } : undefined) },
  "429, Retry-After 5, ten times": {
    fault: (nth) => (nth <= 10 ? { status: 429, retryAfter: "5" } : undefined),
  },
  "no answer, three times": { fault: (nth) => (nth <= 3 ? "hang" : undefined) },
  "reset, five times": { fault: (nth) => (nth <= 5 ? "reset" : undefined) },
  "accepted, then reset, once": { fault: (nth) => (nth === 1 ? "accept_then_reset" : undefined) },
  "natural end, no close()": { fault: () => undefined, endsByItself: true },
};
