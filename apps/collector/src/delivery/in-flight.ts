/** The next round starts only while messages in flight take less than this: 50 ordinary messages of 32 KB take less. */
const MAX_BYTES = 3 * 1_024 * 1_024;

/** Counts a consumer's rounds in flight, and the memory of their messages. */
export class InFlight {
  #rounds = 0;
  #bytes = 0;
  #onIdle: (() => void) | undefined;

  /** Rounds in flight, and retries whose messages are being loaded. */
  get rounds(): number {
    return this.#rounds;
  }

  /** Whether one more round may start, however large. */
  hasRoom(concurrency: number, maxBytes = MAX_BYTES): boolean {
    return this.#rounds < concurrency && this.#bytes < maxBytes;
  }

  enter(bytes: number): void {
    this.#rounds += 1;
    this.#bytes += bytes;
  }

  leave(bytes: number): void {
    this.#rounds -= 1;
    this.#bytes -= bytes;
    if (this.#rounds === 0) this.#onIdle?.();
  }

  /** Resolves when nothing is in flight. */
  idle(): Promise<void> {
    if (this.#rounds === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#onIdle = resolve;
    });
  }
}
