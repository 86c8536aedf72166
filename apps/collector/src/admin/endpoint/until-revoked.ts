import type { Clock } from "@sluice/resilience";
import type { KnownToken, Tokens } from "../../tokens/tokens.js";

/** Wakes one waiter. A call of `wake` while nobody waits is remembered, so nothing between two waits is missed. */
interface WakeSignal {
  wake(): void;
  /** Resolves at the next `wake`, after `ms`, or when `signal` aborts. */
  wait(ms: number, signal: AbortSignal): Promise<void>;
}

export function wakeSignal(clock: Clock): WakeSignal {
  let isWoken = false;
  let wakeWaiter: (() => void) | undefined;
  return {
    wake() {
      isWoken = true;
      wakeWaiter?.();
    },
    async wait(ms, signal) {
      if (!isWoken && !signal.aborted)
        await new Promise<void>((resolve) => {
          const done = (): void => {
            cancel();
            signal.removeEventListener("abort", done);
            wakeWaiter = undefined;
            resolve();
          };
          const cancel = clock.after(ms, done);
          signal.addEventListener("abort", done, { once: true });
          wakeWaiter = done;
        });
      isWoken = false;
    },
  };
}

interface UntilRevoked {
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
