import { StorageUnavailable } from "@sluice/event-log";
import type { Clock } from "@sluice/resilience";
import { CollectorError } from "../errors.js";

/** Bounds how long a client waits for a log that does not answer. */
export interface AnswerDeadline {
  /** Throws `storage_unavailable` while an earlier write has waited for longer than the deadline: more of them would only fill the memory. */
  assertAnswering(): void;
  /** Settles as `write` does; rejects with `owner_lost` at the deadline. The write goes on, and may still be kept. */
  within<T>(write: Promise<T>): Promise<T>;
}

const NONE: AnswerDeadline = { assertAnswering() {}, within: (write) => write };

/** `withinMs`: undefined: no bound. */
export function answerDeadline(clock: Clock, withinMs: number | undefined): AnswerDeadline {
  if (withinMs === undefined) return NONE;
  const reason = `the log of the cluster has not answered for ${withinMs / 1_000} s`;
  let overdue = 0;
  return {
    assertAnswering() {
      if (overdue > 0) throw new StorageUnavailable(reason);
    },
    within<T>(write: Promise<T>): Promise<T> {
      return new Promise((resolve, reject) => {
        let isOverdue = false;
        const cancel = clock.after(withinMs, () => {
          isOverdue = true;
          overdue += 1;
          reject(new CollectorError("owner_lost", reason));
        });
        const settled = (): void => {
          cancel();
          if (isOverdue) overdue -= 1;
        };
        write.finally(settled).then(resolve, reject);
      });
    },
  };
}
