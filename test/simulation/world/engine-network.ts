import {
  type EngineHealth,
  EngineUnavailable,
  type LogAppend,
  type LogEntry,
  type ReplicatedLog,
  type ReplicationEngine,
} from "@sluice/event-log";
import type { Disk } from "./disk.js";
import type { Random } from "./random.js";
import { Spells } from "./spells.js";
import type { World } from "./world.js";

/**
 * How a process reaches the servers of the engine.
 *
 * - `silent`: the network swallows everything. What is sent meanwhile arrives when it is over, in any order, if it arrives at all.
 * - `cut`: the same, and the process knows it at once.
 */
export type Reach = "connected" | "silent" | "cut";

/** The faults of one exchange, each with its probability. */
export interface EngineWeather {
  readonly delayMs: readonly [least: number, most: number];
  readonly loseRequest: number;
  readonly loseAnswer: number;
  readonly duplicate: number;
}

export const GOOD_ENGINE: EngineWeather = { delayMs: [0, 2], loseRequest: 0, loseAnswer: 0, duplicate: 0 };

/** After this time without an answer, a call ends with nothing known. */
const TIMEOUT_MS = 2_000;
/** A process that knows that it is cut off fails its calls after this time. */
const CUT_MS = 200;
/** What was sent into silence arrives within this time after it, if it does. */
const LATE_MS = 2_000;
const ARRIVES_LATE = 0.9;
const ARRIVES_AT_ONCE = 0.8;
const AT_ONCE_MS = 2;
/** How long the engine cannot be reached counts for `health`; nobody reads it in a run. */
const SINCE_MS = 0;

/** The network between one machine of a cluster and the engine. */
export class EngineNetwork {
  readonly #world: World;
  readonly #random: Random;
  readonly #disk: Disk;
  readonly #listeners = new Set<() => void>();
  #waiting: (() => void)[] = [];
  /** Requests that were sent into silence. */
  #held: (() => void)[] = [];
  #reach: Reach = "connected";
  #weather: EngineWeather = GOOD_ENGINE;
  /** When the process could reach the engine at all. */
  readonly reachable = new Spells();
  /** When nothing got lost or late either. */
  readonly fair = new Spells();

  /** `disk`: that of the engine's servers. */
  constructor(world: World, name: string, disk: Disk) {
    this.#world = world;
    this.#random = world.random.fork(`engine of ${name}`);
    this.#disk = disk;
  }

  get reach(): Reach {
    return this.#reach;
  }

  set reach(reach: Reach) {
    this.#reach = reach;
    this.#noteSpells();
    if (reach === "connected") {
      for (const go of this.#waiting.splice(0)) go();
      this.#deliverHeld(1, LATE_MS);
    }
    for (const listener of [...this.#listeners]) listener();
  }

  get weather(): EngineWeather {
    return this.#weather;
  }

  set weather(weather: EngineWeather) {
    this.#weather = weather;
    this.#noteSpells();
  }

  #noteSpells(): void {
    const isReachable = this.#reach === "connected";
    this.reachable.note(this.#world.elapsedMs, isReachable);
    this.fair.note(this.#world.elapsedMs, isReachable && this.#weather === GOOD_ENGINE);
  }

  /** Another process has just taken over. Some of what was held back arrives before its first write: the worst moment for it. */
  deliverSomeHeld(): void {
    this.#deliverHeld(ARRIVES_AT_ONCE, AT_ONCE_MS);
  }

  #deliverHeld(share: number, withinMs: number): void {
    const held = this.#held.splice(0);
    for (const arrive of held) {
      if (!this.#random.chance(share)) this.#held.push(arrive);
      else this.#world.after(this.#random.integer(0, withinMs), arrive);
    }
  }

  /** The engine, as one process sees it. After the process has ended, none of its calls ends; what it sent may still arrive. */
  engineOf(inner: ReplicationEngine, isAlive: () => boolean, ended: AbortSignal): ReplicationEngine {
    const call = <T>(run: () => Promise<T>): Promise<T> =>
      new Promise((resolve, reject) => {
        this.#exchange(run, (end) => {
          if (!isAlive()) return;
          if (end.kind === "silence") reject(new EngineUnavailable("the engine did not answer"));
          else if (end.kind === "failed") reject(end.error);
          else resolve(end.answer);
        });
      });
    const { leases, snapshots } = inner;
    return {
      log: this.#log(inner.log, call, isAlive, ended),
      leases: {
        get: (key) => call(() => leases.get(key)),
        list: (prefix) => call(() => leases.list(prefix)),
        put: (key, value, expected) => call(() => leases.put(key, value, expected)),
        remove: (key, expected) => call(() => leases.remove(key, expected)),
        watch: (prefix, listener, signal) => this.#watch(inner, prefix, listener, [signal, ended]),
      },
      snapshots: {
        // Its parts come from the process.
        put: async (name, metadata, parts) => {
          const read: Uint8Array[] = [];
          for await (const part of parts) read.push(Uint8Array.from(part));
          return call(() => snapshots.put(name, metadata, each(read)));
        },
        get: (name) => call(() => snapshots.get(name)),
        list: () => call(() => snapshots.list()),
        remove: (name) => call(() => snapshots.remove(name)),
        removeUnfinished: () => call(() => snapshots.removeUnfinished()),
      },
      health: () => this.#health(),
      onHealth: (listener) => {
        this.#listeners.add(listener);
        ended.addEventListener("abort", () => this.#listeners.delete(listener));
        return () => this.#listeners.delete(listener);
      },
      close: async () => {},
    };
  }

  #health(): EngineHealth {
    return this.#reach === "cut"
      ? { kind: "disconnected", reason: "the simulated network is cut", sinceMs: SINCE_MS }
      : { kind: "connected" };
  }

  #log(
    log: ReplicatedLog,
    call: <T>(run: () => Promise<T>) => Promise<T>,
    isAlive: () => boolean,
    ended: AbortSignal,
  ): ReplicatedLog {
    return {
      maxEntryBytes: log.maxEntryBytes,
      append: (data, expectedLast) => {
        // As it is now: the caller may move the bytes to another thread.
        const copied = Uint8Array.from(data);
        return new Promise<LogAppend>((resolve) => {
          this.#exchange(
            () => log.append(copied, expectedLast),
            (end) => {
              if (!isAlive()) return;
              resolve(end.kind === "answered" ? end.answer : { kind: "unknown", reason: "no answer" });
            },
            this.#syncMs(),
          );
        });
      },
      bounds: () => call(() => log.bounds()),
      read: (after, signal) => this.#read(log, after, AbortSignal.any([signal, ended])),
      trim: (upTo) => call(() => log.trim(upTo)),
    };
  }

  /** Entries arrive in order. */
  async *#read(log: ReplicatedLog, after: number, signal: AbortSignal): AsyncGenerator<LogEntry> {
    for await (const entry of log.read(after, signal)) {
      await this.#pass(this.#delay());
      await this.#reached();
      if (signal.aborted) return;
      yield entry;
    }
  }

  /** Changes that are missed during a silence are seen after it. */
  async #watch(
    { leases }: ReplicationEngine,
    prefix: string,
    listener: Parameters<ReplicationEngine["leases"]["watch"]>[1],
    signals: readonly AbortSignal[],
  ): Promise<void> {
    const signal = AbortSignal.any([...signals]);
    let last = Promise.resolve();
    const told: typeof listener = (key, record) => {
      last = last
        .then(() => this.#pass(this.#delay()))
        .then(() => this.#reached())
        .then(() => {
          if (!signal.aborted) listener(key, record);
        });
    };
    await leases.watch(prefix, told, signal);
  }

  #syncMs(): number | undefined {
    const { fails, syncMs } = this.#disk.health;
    return fails ? undefined : this.#random.integer(...syncMs);
  }

  #delay(): number {
    return this.#random.integer(...this.weather.delayMs);
  }

  #pass(ms: number): Promise<void> {
    return new Promise((resolve) => this.#world.after(ms, resolve));
  }

  /** Resolves when the engine can be reached. */
  #reached(): Promise<void> {
    if (this.#reach === "connected") return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** `serverMs`: what the servers take; undefined: they do not answer. `onEnd` is called once. */
  #exchange<T>(run: () => Promise<T>, onEnd: (end: End<T>) => void, serverMs: number | undefined = 0): void {
    const { loseRequest, loseAnswer, duplicate } = this.weather;
    const fate = {
      isLost: this.#random.chance(loseRequest) || serverMs === undefined,
      isAnswerLost: this.#random.chance(loseAnswer),
      isTwice: this.#random.chance(duplicate),
    };
    let isOver = false;
    const end = (result: End<T>): void => {
      if (isOver) return;
      isOver = true;
      cancel();
      onEnd(result);
    };
    const cancel = this.#world.after(this.#reach === "cut" ? CUT_MS : TIMEOUT_MS, () =>
      end({ kind: "silence" }),
    );
    const serve = (): void => {
      run().then(
        (answer) => this.#answer(fate.isAnswerLost, () => end({ kind: "answered", answer })),
        (error: unknown) => this.#answer(fate.isAnswerLost, () => end({ kind: "failed", error })),
      );
    };
    for (let copies = fate.isTwice ? 2 : 1; copies > 0 && !fate.isLost; copies--)
      this.#send(this.#delay() + (serverMs ?? 0), serve);
  }

  /** A request that is sent into silence stays in the network. */
  #send(ms: number, arrive: () => void): void {
    if (this.#reach === "connected") this.#world.after(ms, arrive);
    else if (this.#random.chance(ARRIVES_LATE)) this.#held.push(arrive);
  }

  #answer(isLost: boolean, arrive: () => void): void {
    this.#world.after(this.#delay(), () => {
      if (!isLost && this.#reach === "connected") arrive();
    });
  }
}

type End<T> =
  | { readonly kind: "answered"; readonly answer: T }
  | { readonly kind: "failed"; readonly error: unknown }
  | { readonly kind: "silence" };

async function* each(parts: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* parts;
}
