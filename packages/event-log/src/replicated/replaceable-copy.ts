import type { Clock } from "@sluice/resilience";
import type { LogStats } from "../sqlite/calls/operations.js";
import type { WorkerOptions } from "../sqlite/calls/tuning.js";
import type { StartStoreThread } from "../sqlite/client/start-worker.js";
import { Copy } from "./copy.js";
import type { ReplicationEngine } from "./engine.js";
import { loadSnapshot, setCopyAside } from "./snapshots/load-snapshot.js";

export interface ReplaceableCopyOptions {
  /** `directory` is the copy's folder. */
  readonly worker: WorkerOptions;
  readonly engine: ReplicationEngine;
  readonly clock: Clock;
  readonly startThread: StartStoreThread | undefined;
  moved(): void;
  stats(stats: LogStats): void;
  /** A sentence for people, once for each damaged place. */
  onDamage(what: string): void;
  /** The copy has to be replaced, by `rebuild`. Called when that becomes known. */
  onBroken(): void;
}

/** The copy, and how it comes into being: from disk, from a snapshot, or from the log's first entry. */
export class ReplaceableCopy {
  readonly #options: ReplaceableCopyOptions;
  #copy: Copy | undefined;
  #isOpen = false;
  #isBroken = false;

  private constructor(options: ReplaceableCopyOptions) {
    this.#options = options;
  }

  /** Rejects if the folder cannot be opened, other than because of damage. */
  static async open(options: ReplaceableCopyOptions): Promise<ReplaceableCopy> {
    const copy = new ReplaceableCopy(options);
    await copy.#open().catch(async (error: unknown) => {
      if (!copy.#isBroken) throw error;
      await copy.rebuild();
    });
    return copy;
  }

  async #open(): Promise<void> {
    const { worker, clock, startThread, moved, stats, onDamage, onBroken } = this.#options;
    this.#isBroken = false;
    const damaged = (what: string, isCertain: boolean): void => {
      onDamage(what);
      if (!isCertain || this.#isBroken) return;
      this.#isBroken = true;
      if (this.#isOpen) onBroken();
    };
    this.#copy = await Copy.open(worker, clock, { moved, stats, damaged }, startThread);
    this.#isOpen = true;
    moved();
  }

  async #close(): Promise<void> {
    this.#isOpen = false;
    await this.#copy?.close();
  }

  /** The copy that is open, or was last. */
  get now(): Copy {
    if (this.#copy === undefined) throw new Error("the copy is not open yet");
    return this.#copy;
  }

  get isBroken(): boolean {
    return this.#isBroken;
  }

  /** Sets a damaged copy aside and begins an empty one. If only the beginning failed before, the damaged one stays where it is. */
  async rebuild(): Promise<void> {
    const { worker, onDamage } = this.#options;
    await this.#close();
    const kept = this.#isBroken ? setCopyAside(worker.directory) : undefined;
    if (kept !== undefined)
      onDamage(`the damaged copy was moved to ${kept}, and is built again from the log`);
    await this.#open();
  }

  /** Replaces a copy that lacks entries which the log no longer has. `signal` ends the download. */
  async load(signal?: AbortSignal): Promise<void> {
    const { worker, engine } = this.#options;
    await this.#close();
    await loadSnapshot(engine, worker.directory, signal);
    await this.#open();
  }
}
