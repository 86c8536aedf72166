import type { Clock } from "@sluice/resilience";
import type { StoreHealth } from "../ports/store.js";
import { type Applied, NOTHING_APPLIED } from "../sqlite/calls/applied.js";
import type { AppliedEntry, LogStats, OperationName, Operations } from "../sqlite/calls/operations.js";
import { TUNING_DEFAULTS, type WorkerOptions } from "../sqlite/calls/tuning.js";
import { Connection } from "../sqlite/client/connection.js";
import { type StartStoreThread, startWorker } from "../sqlite/client/start-worker.js";
import { type LoggedSettings, settingsOf } from "../sqlite/replica/applied-mark.js";
import type { ReplicaOptions } from "./replica.js";

interface CopyEvents {
  /** The copy contains another entry, or was opened again. */
  moved(): void;
  stats(stats: LogStats): void;
  /** Stored data cannot be read. If that is certain to be damage, the copy has to be replaced. */
  damaged(what: string, isCertain: boolean): void;
}

interface CopyState {
  applied: Applied;
}

/** The local copy: a store of its own, in a thread of its own, that only changes by entries of the log. */
export class Copy {
  readonly #connection: Connection;
  readonly #state: CopyState;
  readonly #events: CopyEvents;

  private constructor(connection: Connection, state: CopyState, events: CopyEvents) {
    this.#connection = connection;
    this.#state = state;
    this.#events = events;
  }

  static async open(
    options: WorkerOptions,
    clock: Clock,
    events: CopyEvents,
    startThread: StartStoreThread = startWorker,
  ): Promise<Copy> {
    const state: CopyState = { applied: NOTHING_APPLIED };
    const connection = await Connection.open({ ...options, isReplica: true }, startThread, clock, {
      opened(snapshot) {
        state.applied = snapshot.applied ?? NOTHING_APPLIED;
        events.moved();
      },
      stats: (stats) => events.stats(stats),
      damaged: (what, isCertain) => events.damaged(what, isCertain),
    });
    return new Copy(connection, state, events);
  }

  get applied(): Applied {
    return this.#state.applied;
  }

  health(): StoreHealth {
    return this.#connection.health();
  }

  /** Entries are given in the order of their sequences, without waiting for the one before. */
  async apply(sequence: number, data: Uint8Array<ArrayBuffer>, isAnswered: boolean): Promise<AppliedEntry> {
    // Only a buffer of its own can be moved to the copy's thread. A Node.js `Buffer` has a `slice` that does not copy.
    const own = data.byteLength === data.buffer.byteLength ? data : new Uint8Array(data);
    const entry = await this.#connection.ask("apply", { sequence, data: own, isAnswered }, [own.buffer]);
    this.#state.applied = entry.applied;
    this.#events.moved();
    return entry;
  }

  ask<Name extends OperationName>(
    operation: Name,
    request: Operations[Name]["request"],
    transfer: readonly ArrayBuffer[] = [],
  ): Promise<Operations[Name]["answer"]> {
    return this.#connection.ask(operation, request, transfer);
  }

  close(): Promise<void> {
    return this.#connection.close();
  }
}

export function workerOptions(options: ReplicaOptions, directory: string): WorkerOptions {
  const { dedupeWindowMs = 86_400_000, retention = {}, rejectionsKept = 10_000, tuning } = options;
  return {
    directory,
    dedupeWindowMs,
    rejectionsKept,
    retention,
    tuning: { ...TUNING_DEFAULTS, ...tuning },
    isReplica: true,
  };
}

export function loggedSettings(options: ReplicaOptions): LoggedSettings {
  return settingsOf(workerOptions(options, options.directory));
}
