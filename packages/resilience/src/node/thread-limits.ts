import { setFlagsFromString } from "node:v8";
import type { ResourceLimits } from "node:worker_threads";

/** The room that a thread of ours has for its objects, in MB. One that needs more ends by itself, and is started again. */
export interface ThreadRoom {
  /** For short-lived objects: what V8 keeps of it stays taken. */
  readonly youngMb: number;
  /** For all others. */
  readonly oldMb: number;
}

/**
 * Limits for a new thread. The process may have been started with a `--max-semi-space-size` for its main thread (`sluice` does so):
 * V8 gives that to every thread and then does not look at their limits. It reads the flag only when a thread begins, so that taking
 * it back leaves the main thread as it is.
 */
export function threadLimits({ youngMb, oldMb }: ThreadRoom): ResourceLimits {
  setFlagsFromString("--max-semi-space-size=0");
  return { maxYoungGenerationSizeMb: youngMb, maxOldGenerationSizeMb: oldMb };
}
