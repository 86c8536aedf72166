import type { Batch } from "../message/batch.js";

/**
 * Sends batches. Senders wrap one another, from the outside in: enriching ▷ spooling ▷ splitting ▷ retrying ▷ HTTP.
 *
 * `Outcome` lists how a send can end. Each wrapper handles some outcomes of the sender inside it, so fewer are left outside:
 *
 * | sender    | does                             | removes                  | adds                       |
 * | --------- | -------------------------------- | ------------------------ | -------------------------- |
 * | HTTP      | makes one request                |                          | `AttemptOutcome`           |
 * | retrying  | repeats it                       | `retryable`              | `exhausted`, `abandoned`   |
 * | splitting | sends halves                     | `too_large`              | `split`                    |
 * | spooling  | keeps what failed, sends it later | `exhausted`, `abandoned` | `spooled`, `spool_failed`  |
 * | enriching | waits for `beforeSend`           |                          | `dropped`, `hook_refused`  |
 */
export interface Sender<Outcome> {
  /**
   * Never throws or rejects. Ends soon after `signal` aborts.
   *
   * `attempt` counts the requests for this batch, from 1. Default: 1. Only the retrying sender passes another.
   */
  send(batch: Batch, signal: AbortSignal, attempt?: number): Promise<Outcome>;
}
