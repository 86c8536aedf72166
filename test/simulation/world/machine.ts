import { type Clock, sleepWith } from "../../../packages/resilience/src/clock.js";
import type { Random } from "./random.js";
import type { World } from "./world.js";

/** A machine whose wall clock may be wrong. */
export class Machine {
  readonly world: World;
  readonly name: string;
  /** Wall time minus true time. */
  offsetMs = 0;

  constructor(world: World, name: string) {
    this.world = world;
    this.name = name;
  }

  get wallMs(): number {
    return this.world.nowMs + this.offsetMs;
  }

  /** Sets the wall clock forward or back. */
  jump(ms: number): void {
    this.offsetMs += ms;
    this.world.note(`${this.name} clock ${ms}`);
  }
}

/** The clock of one process. As on a real machine, monotonic time begins at the wall time of its start. */
export class ProcessClock implements Clock {
  readonly #machine: Machine;
  readonly #random: Random;
  readonly #timers = new Set<() => void>();
  readonly #startedAtMs: number;
  readonly #startWallMs: number;
  #isAlive = true;
  #peak = 0;

  /** `process`: it is that of a thread of this process. */
  constructor(machine: Machine, random: Random, process?: ProcessClock) {
    this.#machine = machine;
    this.#random = random;
    this.#startedAtMs = process === undefined ? machine.world.nowMs : process.#startedAtMs;
    this.#startWallMs = process === undefined ? machine.wallMs : process.#startWallMs;
  }

  /** The clock of another thread of the process. */
  thread(random: Random): ProcessClock {
    return new ProcessClock(this.#machine, random, this);
  }

  get isAlive(): boolean {
    return this.#isAlive;
  }

  /** Timers that have not fired. */
  get pending(): number {
    return this.#timers.size;
  }

  /** The most timers that were pending at once. */
  get peakPending(): number {
    return this.#peak;
  }

  readonly now = (): number => this.#machine.wallMs;

  readonly monotonic = (): number => this.#startWallMs + (this.#machine.world.nowMs - this.#startedAtMs);

  readonly random = (): number => this.#random.next();

  readonly after = (ms: number, callback: () => void): (() => void) => {
    if (!this.#isAlive || Number.isNaN(ms)) return () => {};
    const cancelEntry = this.#machine.world.after(ms, () => {
      this.#timers.delete(cancel);
      callback();
    });
    const cancel = (): void => {
      this.#timers.delete(cancel);
      cancelEntry();
    };
    this.#timers.add(cancel);
    this.#peak = Math.max(this.#peak, this.#timers.size);
    return cancel;
  };

  readonly sleep = (ms: number, signal?: AbortSignal): Promise<void> => sleepWith(this.after, ms, signal);

  /** The process ends: none of its timers fires any more. */
  stop(): void {
    this.#isAlive = false;
    for (const cancel of [...this.#timers]) cancel();
  }
}
