import { EngineUnavailable } from "@sluice/event-log";
import type { Clock } from "@sluice/resilience";

export interface EngineWait<T> {
  /** Rejects with `EngineUnavailable` if the engine may answer later, and with another error if trying again is of no use. */
  readonly ask: () => Promise<T>;
  readonly clock: Clock;
  /** How long to try. 0: once. */
  readonly timeoutMs: number;
  /** Called after each attempt that is followed by another one. */
  readonly onAway: (reason: string) => void;
  /** Ends the waiting: it rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** Takes what an attempt brings after that. */
  readonly drop?: (late: T) => unknown;
}

const AGAIN_MS = 1_000;

/** Opens or asks the engine. While it cannot be reached, tries again until the time is over. Then it rejects with the last reason. */
export async function waitForEngine<T>(wait: EngineWait<T>): Promise<T> {
  const { clock, timeoutMs, onAway, signal } = wait;
  const deadlineMs = clock.monotonic() + timeoutMs;
  for (;;) {
    try {
      return await unlessEnded(wait);
    } catch (error) {
      if (!(error instanceof EngineUnavailable)) throw error;
      const leftMs = deadlineMs - clock.monotonic();
      if (leftMs <= 0) throw timeoutMs === 0 ? error : givenUp(error, timeoutMs);
      onAway(error.message);
      await clock.sleep(Math.min(AGAIN_MS, leftMs), signal);
    }
  }
}

/** One attempt. An engine may leave a question without an answer for long. */
async function unlessEnded<T>({ ask, signal, drop }: EngineWait<T>): Promise<T> {
  if (signal === undefined) return ask();
  signal.throwIfAborted();
  const asked = ask();
  const ended = Promise.withResolvers<never>();
  const end = (): void => ended.reject(signal.reason);
  signal.addEventListener("abort", end);
  try {
    return await Promise.race([asked, ended.promise]);
  } catch (error) {
    if (signal.aborted) asked.then(drop).catch(() => {});
    throw error;
  } finally {
    signal.removeEventListener("abort", end);
  }
}

function givenUp(error: EngineUnavailable, timeoutMs: number): Error {
  return new Error(`${error.message} The collector waited for ${timeoutMs / 1_000} s (clusterWaitMs)`, {
    cause: error,
  });
}
