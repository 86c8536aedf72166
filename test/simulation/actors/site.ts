import type { Store } from "@sluice/event-log";
import type { Machine } from "../world/machine.js";
import type { ServedAnswer, ServedRequest } from "./memory-server.js";

/** What takes requests: one collector, or a cluster of them. */
export interface Site {
  /** Its wall clock. */
  readonly machine: Machine;
  /** How often a collector has started on the data. */
  readonly runs: number;
  /** The timers of the process that owns the data. */
  readonly timers: number;
  /** What is stored, for invariants. */
  readonly store: Store;
  /** Starts what is down, as a supervisor does: if it cannot start, it tries again. Resolves when it takes requests. */
  start(): Promise<void>;
  /** The process that owns the data ends at once, wherever it is. */
  crash(): void;
  /** It stops as on SIGTERM. */
  stop(graceMs: number): Promise<void>;
  /** Notes what the processes that run have held so far. */
  notePeak(): void;
  /** Serves a request. `refused`: nothing listens. `cut`: the process ended before it answered. */
  serve(request: ServedRequest): Promise<ServedAnswer | "refused" | "cut">;
  /** Calls the control API. Rejects unless the answer is 2xx. */
  api(method: string, path: string, body?: object): Promise<unknown>;
  /** What `/metrics` shows, by name and labels. */
  metrics(): Promise<Map<string, number>>;
}
