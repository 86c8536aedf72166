import { Agenda } from "./agenda.js";
import type { EventLoop } from "./determinism.js";
import type { Random } from "./random.js";
import { Trace } from "./trace.js";

/** When the world begins. */
const BEGIN_MS = Date.UTC(2026, 0, 1);

/** More than this at one moment is a loop that waits for nothing. */
const MOST_AT_ONCE = 10_000;

/** A world with one true time. Everything that happens in it is on its agenda. */
export class World {
  readonly random: Random;
  readonly trace: Trace;
  readonly #loop: EventLoop;
  readonly #agenda = new Agenda();
  #nowMs = BEGIN_MS;
  #happened = 0;
  /** The time of the latest entry, and how many entries there were at it. */
  #latestMs = 0;
  #atOnce = 0;

  constructor(random: Random, loop: EventLoop, print?: (line: string) => void) {
    this.random = random;
    this.#loop = loop;
    this.trace = new Trace(print);
  }

  /** The true time in whole milliseconds. No process can read it. */
  get nowMs(): number {
    return this.#nowMs;
  }

  /** Milliseconds since the world began. */
  get elapsedMs(): number {
    return this.#nowMs - BEGIN_MS;
  }

  /** How many entries of the agenda ran. */
  get happened(): number {
    return this.#happened;
  }

  /** Notes what happens now. */
  note(line: string): void {
    this.trace.add(this.elapsedMs, line);
  }

  /** Runs something after `ms`. Returns a function that cancels it. */
  after(ms: number, run: () => void): () => void {
    if (ms === Number.POSITIVE_INFINITY) return () => {};
    return this.#agenda.add(this.#nowMs + Math.max(0, Math.ceil(ms)), run);
  }

  /** Lets `ms` pass. After each entry of the agenda, the event loop runs until nothing is left to run. */
  async pass(ms: number): Promise<void> {
    const untilMs = this.#nowMs + ms;
    await this.#loop.settle();
    for (;;) {
      const { nextMs } = this.#agenda;
      if (nextMs === undefined || nextMs > untilMs) break;
      this.#nowMs = Math.max(this.#nowMs, nextMs);
      this.#happened += 1;
      this.#atOnce = nextMs > this.#latestMs ? 1 : this.#atOnce + 1;
      this.#latestMs = Math.max(this.#latestMs, nextMs);
      if (this.#atOnce > MOST_AT_ONCE)
        throw new Error(`${MOST_AT_ONCE} things happened without any time passing`);
      this.#agenda.take()();
      await this.#loop.settle();
    }
    this.#nowMs = untilMs;
  }

  /** Lets time pass until `work` has ended; rejects if that takes longer than `mostMs`. */
  async until<T>(work: Promise<T>, mostMs: number, what: string): Promise<T> {
    let ended: { readonly value: T } | { readonly error: unknown } | undefined;
    work.then(
      (value) => {
        ended = { value };
      },
      (error: unknown) => {
        ended = { error };
      },
    );
    const untilMs = this.#nowMs + mostMs;
    await this.#loop.settle();
    while (ended === undefined) {
      const { nextMs } = this.#agenda;
      if (nextMs === undefined) throw new Error(`${what} waits for something that never happens`);
      if (nextMs > untilMs) throw new Error(`${what} did not end within ${mostMs} ms of simulated time`);
      await this.pass(nextMs - this.#nowMs);
      await this.#loop.settle();
    }
    if ("error" in ended) throw ended.error;
    return ended.value;
  }
}
