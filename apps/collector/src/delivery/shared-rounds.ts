/** Part of a destination's concurrency, for the consumer of one partition. */
export interface RoundShare {
  /** Whether one more round may start now. If not, `onRoom` of the consumer is called when it is its turn. */
  hasRoom(concurrency: number): boolean;
  enter(): void;
  /** A round ended. Calls those that wait for room, before it returns. */
  leave(): void;
  /** The consumer starts nothing more. Its rounds in flight count until they leave. */
  close(): void;
}

/** Of a consumer whose process delivers no other partition. */
export const ALONE_IN_PROCESS: RoundShare = {
  hasRoom: () => true,
  enter() {},
  leave() {},
  close() {},
};

interface Destination {
  underWay: number;
  /** How many consumers send to it. */
  shares: number;
  /** In the order in which they were refused. */
  readonly waiting: Set<() => void>;
}

/**
 * The rounds in flight of a process that owns several partitions, by destination: all of them together keep to the destination's
 * concurrency. Where the partitions want more than that, they take turns, a round each.
 */
export class SharedRounds {
  readonly #destinations = new Map<string, Destination>();

  /** `onRoom` starts what there is room for. */
  join(destinationId: string, onRoom: () => void): RoundShare {
    const destination = this.#destinations.get(destinationId) ?? {
      underWay: 0,
      shares: 0,
      waiting: new Set(),
    };
    this.#destinations.set(destinationId, destination);
    destination.shares += 1;
    const forget = (): void => {
      if (destination.shares === 0 && destination.underWay === 0) this.#destinations.delete(destinationId);
    };
    return {
      hasRoom(concurrency) {
        if (destination.underWay < concurrency) return true;
        destination.waiting.add(onRoom);
        return false;
      },
      enter() {
        destination.underWay += 1;
      },
      leave() {
        destination.underWay -= 1;
        callWaiting(destination);
        forget();
      },
      close() {
        destination.shares -= 1;
        destination.waiting.delete(onRoom);
        forget();
      },
    };
  }

  /** Destinations with a share or a round in flight. */
  get size(): number {
    return this.#destinations.size;
  }
}

/** Calls each that waits now until one of them has taken the room and waits for more. */
function callWaiting({ waiting }: Destination): void {
  for (const onRoom of [...waiting]) {
    if (!waiting.delete(onRoom)) continue;
    onRoom();
    // It has started what it could, and was refused more.
    if (waiting.has(onRoom)) return;
  }
}
