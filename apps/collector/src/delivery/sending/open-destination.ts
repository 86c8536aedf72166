import type {
  Destination,
  Flow,
  OutgoingMessage,
  Round,
  RoundOutcome,
} from "../../destinations/destination.js";

/** A destination that was opened, with the rounds that it has under way: it is closed when it was replaced and has none. */
export class OpenDestination {
  readonly #destination: Destination;
  #rounds = 0;
  #retired = false;

  constructor(destination: Destination) {
    this.#destination = destination;
  }

  get flow(): Flow {
    return this.#destination.flow;
  }

  /** One round for one message; `onEnd` is called when it has ended, however it did. */
  deliver(message: OutgoingMessage, round: Round, onEnd: (outcome: RoundOutcome) => void): void {
    this.#rounds += 1;
    const ended = (outcome: RoundOutcome): void => {
      this.#rounds -= 1;
      onEnd(outcome);
      if (this.#retired && this.#rounds === 0) void this.close();
    };
    this.#destination.deliver(message, round).then(ended, (error: unknown) => ended(crashed(error)));
  }

  /** Another took its place: it is closed once its last round has ended. */
  retire(): void {
    this.#retired = true;
    if (this.#rounds === 0) void this.close();
  }

  /** Cuts off what is under way. */
  close(): Promise<void> {
    return this.#destination.close();
  }
}

/** A destination must not reject: one that does has a mistake, and its message is not lost for it. */
function crashed(error: unknown): RoundOutcome {
  const reason = `internal error: ${error instanceof Error ? error.name : typeof error}`;
  return { kind: "retry", reason, doneUrls: [], failedUrls: [], alive: false };
}
