import type { KnownToken, Tokens } from "../../tokens/tokens.js";

export interface UntilRevoked {
  /** Aborts when the request's own signal does, or when its token is revoked. */
  readonly signal: AbortSignal;
  readonly isRevoked: () => boolean;
  /** Call it when the request has ended. */
  readonly stop: () => void;
}

/** Ends a long request when its token is revoked. */
export function untilRevoked(
  request: AbortSignal,
  tokens: Tokens,
  { id }: Pick<KnownToken, "id">,
): UntilRevoked {
  // Not `AbortSignal.any`, which can retain dependent signals as long as the source lives.
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
