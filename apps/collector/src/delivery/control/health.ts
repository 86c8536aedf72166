import type { Delivery, Store } from "@sluice/event-log";
import type { DestinationHealthView } from "@sluice/protocol";

/** What came of the messages that a destination tried last. */
export type LastTried =
  /** Nothing was tried yet. */
  | { readonly kind: "nothing" }
  | { readonly kind: "delivered" }
  | { readonly kind: "failed"; readonly sinceMs: number; readonly error: string };

/** A round ended without its message being delivered; `sinceMs` stays that of the first such. */
export function failedAgain(before: LastTried, atMs: number, error: string): LastTried {
  return { kind: "failed", sinceMs: before.kind === "failed" ? before.sinceMs : atMs, error };
}

/** Deliveries of each state that are looked at: they are listed by their messages, and an older one may have ended later. */
const MOST_LOOKED_AT = 20;

/**
 * What the store knows of the time before a moment: what a collector remembered ended with its process. The moment is told as wall time,
 * `ended` as the clock was set at it, by which deliveries are dated that have ended; `pending` as the clock is set now.
 */
export async function lastTriedBefore(
  { consumers }: Pick<Store, "consumers">,
  consumerId: string,
  beforeMs: { readonly ended: number; readonly pending: number },
): Promise<LastTried> {
  const lists = await Promise.all(
    (["delivered", "failed", "pending"] as const).map((state) =>
      consumers.list(
        { consumerId, state, toMs: state === "pending" ? beforeMs.pending : beforeMs.ended },
        { limit: MOST_LOOKED_AT },
      ),
    ),
  );
  const last = lastOf(lists.flatMap(({ items }) => items));
  if (last.kind !== "failed") return last;
  const { sinceMs, newest } = last;
  const attempts = await consumers.attemptsOf(consumerId, newest.offset);
  const error = attempts.findLast((attempt) => attempt.error !== undefined)?.error?.message;
  return { kind: "failed", sinceMs, error: error ?? newest.reason };
}

/** Of the newest deliveries, in any order. */
export function lastOf<D extends Pick<Delivery, "state" | "atMs" | "rounds">>(
  deliveries: readonly D[],
):
  | Exclude<LastTried, { kind: "failed" }>
  | { readonly kind: "failed"; readonly sinceMs: number; readonly newest: D } {
  // What was never tried says nothing about the destination.
  const tried = deliveries.filter(({ rounds }) => rounds > 0);
  const deliveredAtMs = Math.max(
    ...tried.filter(({ state }) => state === "delivered").map(({ atMs }) => atMs),
    Number.NEGATIVE_INFINITY,
  );
  const [first, ...others] = tried
    .filter(({ state, atMs }) => (state === "failed" || state === "pending") && atMs > deliveredAtMs)
    .sort((a, b) => a.atMs - b.atMs);
  if (first !== undefined) return { kind: "failed", sinceMs: first.atMs, newest: others.at(-1) ?? first };
  return deliveredAtMs === Number.NEGATIVE_INFINITY ? { kind: "nothing" } : { kind: "delivered" };
}

/** The one judgement that overview, pages, commands and alerts share. */
export function judgeHealth(
  state: "delivering" | "disabled" | "backing_off",
  disabledUrls: "none" | "some" | "all",
  last: LastTried,
): DestinationHealthView {
  if (state === "disabled") return "disabled";
  if (disabledUrls === "all") return "url_disabled";
  if (state === "backing_off") return "backing_off";
  if (last.kind === "failed") return "failing";
  if (disabledUrls === "some") return "partly_disabled";
  return last.kind === "delivered" ? "good" : "idle";
}
