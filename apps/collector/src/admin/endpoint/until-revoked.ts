import type { KnownToken, Tokens } from "../../tokens/tokens.js";

export interface UntilRevoked {
  /** Aborts when the request's own signal does, and when its token is revoked. */
  readonly signal: AbortSignal;
  readonly isRevoked: () => boolean;
  /** Must be called when the request has ended. */
  readonly stop: () => void;
}

/** Ends a long request with the token that it came with. */
export function untilRevoked(
  request: AbortSignal,
  tokens: Tokens,
  { id }: Pick<KnownToken, "id">,
): UntilRevoked {
  // Not `AbortSignal.any`: it may keep what depends on a signal for as long as that lives.
  const controller = new AbortController();
  let isRevoked = false;
  const abort = (): void => controller.abort();
  if (request.aborted) abort();
  request.addEventListener("abort", abort, { once: true });
  const unsubscribe = tokens.onRevoked(id, () => {
    isRevoked = true;
    abort();
  });
  return {
    signal: controller.signal,
    isRevoked: () => isRevoked,
    stop() {
      request.removeEventListener("abort", abort);
      unsubscribe();
    },
  };
}
