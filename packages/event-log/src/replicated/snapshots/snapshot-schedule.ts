import type { Clock } from "@sluice/resilience";
import type { ReplicationEngine } from "../engine.js";
import { type CopySnapshot, listSnapshots } from "./snapshot-record.js";

/** The owner makes one itself when no follower did for so many times the bytes. */
const OWNER_WAITS = 3;
/** How long after a failure the next try begins, in milliseconds. */
const AGAIN_AFTER_MS = 60_000;
/** How often the newest snapshot is looked at, in milliseconds. */
const LOOK_EVERY_MS = 60_000;

export interface SnapshotScheduleOptions {
  readonly engine: ReplicationEngine;
  readonly clock: Clock;
  readonly everyBytes: number;
  isLeading(): boolean;
  make(): Promise<unknown>;
  onProblem(what: string): void;
}

/** What is known of the newest snapshot. */
export interface SnapshotAge {
  /** When it was made; undefined if there is none. */
  readonly madeAtMs: number | undefined;
  /** About how many bytes of entries this process has applied since. */
  readonly bytesSince: number;
}

/** Decides when this process makes a snapshot: when the log has grown by `everyBytes`, and nobody else has made one. */
export class SnapshotSchedule {
  readonly #options: SnapshotScheduleOptions;
  #newest: CopySnapshot | undefined;
  #bytes = 0;
  #applied = 0;
  /** The log's entry from which on the bytes are counted. */
  #since: number | undefined;
  #isBusy = false;
  #notBeforeMs = Number.NEGATIVE_INFINITY;

  constructor(options: SnapshotScheduleOptions) {
    this.#options = options;
  }

  get age(): SnapshotAge {
    return { madeAtMs: this.#newest?.madeAtMs, bytesSince: this.#bytes };
  }

  /** Looks at the newest snapshot from time to time, until `signal` aborts. */
  async keepLooking(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.look().catch(() => {});
      await this.#options.clock.sleep(LOOK_EVERY_MS, signal).catch(() => {});
    }
  }

  /** Resolves with whether the newest snapshot is one that replaces what was counted. Rejects as the engine does. */
  async look(): Promise<boolean> {
    const [newest] = await listSnapshots(this.#options.engine.snapshots);
    if (newest === undefined || newest.name === this.#newest?.name) return false;
    this.#newest = newest;
    if (newest.sequence < (this.#since ?? 0)) return false;
    this.#bytes = 0;
    this.#since = Math.max(this.#applied, newest.sequence);
    return true;
  }

  /** An entry was applied. */
  applied(sequence: number, bytes: number): void {
    const { everyBytes, isLeading, clock } = this.#options;
    this.#applied = sequence;
    this.#since ??= sequence;
    this.#bytes += bytes;
    const most = isLeading() ? everyBytes * OWNER_WAITS : everyBytes;
    if (this.#bytes < most || this.#isBusy || clock.monotonic() < this.#notBeforeMs) return;
    this.#isBusy = true;
    void this.#makeUnlessMade();
  }

  async #makeUnlessMade(): Promise<void> {
    const { clock, make, onProblem } = this.#options;
    try {
      // Another process may have made one meanwhile.
      if (await this.look()) return;
      await make();
      await this.look().catch(() => {});
    } catch (error) {
      onProblem(`no snapshot could be made: ${error instanceof Error ? error.message : String(error)}`);
      this.#notBeforeMs = clock.monotonic() + AGAIN_AFTER_MS;
    } finally {
      this.#isBusy = false;
    }
  }
}
