/** How an attempt to pass a request on ended without an answer for the client. */
export type FailedAttempt =
  /** The other process does not own the log, or was not reached: it did nothing. */
  | { readonly kind: "not done"; readonly reason: string }
  /** The connection ended after the request was sent: the other process may have carried it out. */
  | { readonly kind: "lost"; readonly reason: string };

export interface RequestFacts {
  readonly method: string;
  readonly path: string;
  readonly hasIdempotencyKey: boolean;
  /** All of its body is in memory, or it has none. */
  readonly isKept: boolean;
  /** An earlier attempt may have carried it out. */
  readonly mayBeDone: boolean;
}

export type Next =
  | { readonly kind: "again" }
  | { readonly kind: "fail"; readonly code: "no_owner" | "owner_lost"; readonly reason: string };

/** What happens to a request after an attempt to pass it on has failed. */
export function decideNext(attempt: FailedAttempt, request: RequestFacts, leftMs: number): Next {
  const mayBeDone = request.mayBeDone || attempt.kind === "lost";
  const isAllowed = request.isKept && (attempt.kind === "not done" || isRepeatable(request));
  if (isAllowed && leftMs > 0) return { kind: "again" };
  return { kind: "fail", code: mayBeDone ? "owner_lost" : "no_owner", reason: attempt.reason };
}

/** Carrying it out twice changes nothing: messages are deduplicated by their ids, and other changes by their idempotency keys. */
function isRepeatable({ method, path, hasIdempotencyKey }: RequestFacts): boolean {
  if (method === "GET" || method === "HEAD" || method === "OPTIONS") return true;
  return hasIdempotencyKey || (method === "POST" && path.startsWith("/v1/"));
}
