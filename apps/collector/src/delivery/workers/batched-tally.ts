import type { FinalState } from "@sluice/event-log";
import type { DeliveryTally } from "../settling/delivery-events.js";

/** What ended in one turn of the event loop, by destination. */
export type BatchedTally = readonly (readonly [destinationId: string, ended: EndedDeliveries])[];

interface EndedDeliveries {
  /** How many seconds each delivery took, by how it ended. */
  readonly states: ReadonlyMap<FinalState, number[]>;
  readonly retried: number;
}

/** Sends what is counted in one turn of the event loop at its end. */
export function batchedTally(send: (tally: BatchedTally) => void): DeliveryTally {
  let batch = new Map<string, { states: Map<FinalState, number[]>; retried: number }>();
  const of = (destinationId: string) => {
    if (batch.size === 0)
      setImmediate(() => {
        const sent = [...batch];
        batch = new Map();
        send(sent);
      });
    const known = batch.get(destinationId) ?? { states: new Map<FinalState, number[]>(), retried: 0 };
    batch.set(destinationId, known);
    return known;
  };
  return {
    // The main thread knows that by itself.
    added() {},
    ended(destinationId, state, seconds) {
      const { states } = of(destinationId);
      const ended = states.get(state);
      if (ended === undefined) states.set(state, [seconds]);
      else ended.push(seconds);
    },
    retried(destinationId) {
      of(destinationId).retried += 1;
    },
  };
}

/** Counts what another thread counted. */
export function takeTally(tally: DeliveryTally, batch: BatchedTally): void {
  for (const [destinationId, { states, retried }] of batch) {
    for (const [state, ended] of states)
      for (const seconds of ended) tally.ended(destinationId, state, seconds);
    for (let i = 0; i < retried; i++) tally.retried(destinationId);
  }
}
