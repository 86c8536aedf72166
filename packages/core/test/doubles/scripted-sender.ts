import { setImmediate as turnOfTheEventLoop } from "node:timers/promises";
import type { Batch } from "../../src/index.js";
import type { Sender } from "../../src/sending/sender.js";

export interface ScriptedSender<Outcome> extends Sender<Outcome> {
  /** Every send, in order: the ids of its messages, and the attempt. */
  readonly sends: readonly { readonly messageIds: readonly string[]; readonly attempt: number }[];
}

/**
 * A sender that returns the outcomes of `script`, one after another, each a turn of the event loop later, as an answer from a network. The
 * last one is used for all later sends. `turn`: takes the turn, by a clock that lets no time pass meanwhile.
 */
export function scriptedSender<Outcome>(
  script: readonly (Outcome | ((signal: AbortSignal) => Outcome))[],
  turn: () => Promise<unknown> = turnOfTheEventLoop,
): ScriptedSender<Outcome> {
  const sends: { messageIds: readonly string[]; attempt: number }[] = [];
  return {
    sends,
    async send(batch, signal, attempt = 1) {
      const outcome = script[Math.min(sends.length, script.length - 1)];
      sends.push({ messageIds: batch.map(({ messageId }) => messageId), attempt });
      await turn();
      return typeof outcome === "function"
        ? (outcome as (signal: AbortSignal) => Outcome)(signal)
        : (outcome as Outcome);
    },
  };
}

/** A batch of track messages with these ids. */
export function batchOf(...messageIds: string[]): Batch {
  return messageIds.map((messageId, index) => {
    const json = JSON.stringify({ type: "track", userId: "u", event: "E", messageId });
    return { sequence: index + 1, messageId, json, bytes: json.length };
  });
}
