import type {
  BatchControl,
  Destination,
  Flow,
  OutgoingMessage,
  Round,
  RoundOutcome,
} from "../../destinations/destination.js";

/** An open destination with its rounds in flight. After `retire` it closes when the last of them has ended. */
export class OpenDestination {
  readonly #destination: Destination;
  readonly #onClose: () => void;
  #rounds = 0;
  #retired = false;
  #closing: Promise<void> | undefined;

  /** `onClose` is called when it begins to close. */
  constructor(destination: Destination, onClose: () => void) {
    this.#destination = destination;
    this.#onClose = onClose;
  }

  get flow(): Flow {
    return this.#destination.flow;
  }

  get batches(): BatchControl | undefined {
    return this.#destination.batches;
  }

  /** Starts a round. `onEnd` is called once, however it ends. */
  deliver(message: OutgoingMessage, round: Round, onEnd: (outcome: RoundOutcome) => void): void {
    this.#rounds += 1;
    const ended = (outcome: RoundOutcome): void => {
      this.#rounds -= 1;
      onEnd(outcome);
      if (this.#retired && this.#rounds === 0) void this.close();
    };
    this.#destination.deliver(message, round).then(ended, (error: unknown) => ended(crashed(error)));
  }

  /** Another destination replaces it: closes it once its last round has ended. */
  retire(): void {
    this.#retired = true;
    this.batches?.drain();
    if (this.#rounds === 0) void this.close();
  }

  /** Aborts the rounds in flight. */
  close(): Promise<void> {
    if (this.#closing === undefined) {
      this.#closing = this.#destination.close();
      this.#onClose();
    }
    return this.#closing;
  }
}

/** `deliver` must not reject. If it does, that is a bug in the destination type, and the message is retried. */
function crashed(error: unknown): RoundOutcome {
  const reason = `internal error: ${error instanceof Error ? error.name : typeof error}`;
  return { kind: "retry", reason, doneUrls: [], failedUrls: [], alive: false };
}
