import { cpSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openSqliteStore, type Store } from "@sluice/event-log";
import type { Clock } from "@sluice/resilience";
import type { SimulatedPort } from "./ports.js";
import { ThreadInThisThread } from "./thread-in-this-thread.js";

/** When messages are dropped. */
export interface RetentionLimits {
  readonly maxAgeMs?: number;
  readonly maxBytes?: number;
}

/** Small enough that a run fills several segments. A crash keeps what was written, so nothing has to be synced. */
export const TUNING = {
  segmentMessages: 6,
  segmentBytes: 65_536,
  rowBytes: 4_096,
  checkpointBytes: 262_144,
  syncLog: false,
} as const;
/** The store looks for work every ten seconds. In a run of many hours that would be most of the work. */
const TICKS_ARE_SLOWER_BY = 30;
const TICK_MS = 10_000;

/** A data folder with the embedded store, which runs in this thread. */
export class SqliteFolder {
  #directory = newFolder();
  #open: Store | undefined;
  #crashed = false;
  /** Another thread is about to call the store over a port of its own. */
  onJoin: (port: SimulatedPort) => void = () => {};
  /** The configuration of the next process. */
  limits: RetentionLimits;

  constructor(limits: RetentionLimits) {
    this.limits = limits;
  }

  /** Opens it for a process. After a crash, that one gets a copy of the files as they were. */
  async open(clock: Clock): Promise<Store> {
    const before = this.#directory;
    if (this.#crashed) {
      this.#directory = newFolder();
      cpSync(before, this.#directory, { recursive: true });
    }
    await this.#open?.close();
    if (this.#crashed) rmSync(before, { recursive: true, force: true });
    this.#crashed = false;
    this.#open = await openSqliteStore({
      directory: this.#directory,
      clock: withSlowTick(clock),
      retention: this.limits,
      tuning: TUNING,
      startThread: (options) => new ThreadInThisThread(options, (port) => this.onJoin(port)),
    });
    return this.#open;
  }

  crash(): void {
    this.#crashed = true;
  }

  async remove(): Promise<void> {
    await this.#open?.close();
    rmSync(this.#directory, { recursive: true, force: true });
  }
}

/** Its first timer of that length is the tick, and so is each that follows it. A change waits as long for a thread, and no longer. */
function withSlowTick(clock: Clock): Clock {
  let isTicking = false;
  return {
    ...clock,
    after(ms, run) {
      if (ms !== TICK_MS || isTicking) return clock.after(ms, run);
      isTicking = true;
      return clock.after(ms * TICKS_ARE_SLOWER_BY, () => {
        isTicking = false;
        run();
      });
    },
  };
}

/** In memory where the system has a folder for that: syncs of a disk would be most of the time of a run. */
const MEMORY_FOLDER = "/dev/shm";
/** The paths of all folders of stores begin with it. */
export const FOLDER_PREFIX = join(
  existsSync(MEMORY_FOLDER) ? MEMORY_FOLDER : tmpdir(),
  "sluice-simulated-store-",
);

export function newFolder(): string {
  return mkdtempSync(FOLDER_PREFIX);
}
