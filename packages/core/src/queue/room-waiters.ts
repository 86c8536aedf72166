export interface RoomOptions {
  /** How many further messages of the largest size fit now. */
  readonly room: () => number;
  /** Runs a task in a later turn of the event loop. */
  readonly defer: (task: () => void) => void;
  /** Keeps the process alive until the returned function is called. */
  readonly hold: () => () => void;
}

const READY = Promise.resolve();

/**
 * The callers of `ready()` that wait for room, first come, first served. Each one that goes on has a place reserved until it makes its
 * call, or until the present turn of the event loop ends. Without reservations, several loops would share the last free place.
 */
export class RoomWaiters {
  readonly #options: RoomOptions;
  #waiting: (() => void)[] = [];
  /** Places of callers that went on and have not made their call. */
  #reserved = 0;
  #expires = false;
  /** Set while somebody waits: the sends that make room do not keep the process alive by themselves. */
  #release: (() => void) | undefined;

  constructor(options: RoomOptions) {
    this.#options = options;
  }

  /** Whether nobody waits. */
  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  /** Resolves when a message of any size fits. */
  ready(): Promise<void> {
    if (this.#waiting.length === 0 && this.#options.room() > this.#reserved) {
      this.#reserve(1);
      return READY;
    }
    this.#release ??= this.#options.hold();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** A call was made, so its place is no longer reserved. */
  used(): void {
    if (this.#reserved > 0) this.#reserved -= 1;
  }

  /** Lets as many callers go on as there is room for. Call it when there may be more room. */
  wake(): void {
    // Mostly nobody waits.
    if (this.#waiting.length === 0) return;
    const count = Math.min(this.#waiting.length, this.#options.room() - this.#reserved);
    if (count <= 0) return;
    this.#reserve(count);
    this.#resolve(count);
  }

  /** Lets all callers go on, whether there is room or not. */
  wakeAll(): void {
    this.#resolve(this.#waiting.length);
  }

  #reserve(count: number): void {
    this.#reserved += count;
    if (this.#expires) return;
    this.#expires = true;
    this.#options.defer(() => {
      this.#expires = false;
      this.#reserved = 0;
      this.wake();
    });
  }

  #resolve(count: number): void {
    for (const resolve of this.#waiting.splice(0, count)) resolve();
    if (this.#waiting.length > 0) return;
    this.#release?.();
    this.#release = undefined;
  }
}
