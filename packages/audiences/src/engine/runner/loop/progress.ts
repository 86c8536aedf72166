import { BEFORE_FIRST } from "@sluice/event-log";
import type { Clock } from "@sluice/resilience";
import { countedOffsets } from "../../../profiles/partition-offsets.js";
import type { EngineStatus } from "../../state/engine-status.js";
import type { PartitionLog, PartitionLogs } from "../partition-logs.js";

const NOTHING_COUNTED: EngineStatus = {
  cursors: [BEFORE_FIRST],
  historyAfter: [],
  hasWork: false,
  leftOut: 0,
  setAside: 0,
};

/** How far the engine is in the logs, by its last unit of work. */
export class Progress {
  readonly #logs: PartitionLogs;
  readonly #clock: Clock;
  readonly #startedMs: number;
  #status = NOTHING_COUNTED;
  /** When the last message that is counted was received, by partition. */
  readonly #countedUpToMs = new Map<number, number>();
  /** When everything of another partition was counted, as last known. */
  readonly #allCountedMs = new Map<number, number>();
  #wasLost = false;

  constructor(logs: PartitionLogs, clock: Clock) {
    this.#logs = logs;
    this.#clock = clock;
    this.#startedMs = clock.now();
  }

  get status(): EngineStatus {
    return this.#status;
  }

  /** Messages of the logs that are not counted. */
  get behind(): number {
    return this.#logs.all.reduce((sum, log) => sum + this.behindIn(log), 0);
  }

  behindIn(log: PartitionLog): number {
    return this.#logs.behind(log, this.#status.cursors);
  }

  /** How many messages are counted. */
  get counted(): number {
    return countedOffsets(this.#status.cursors);
  }

  /**
   * The time up to which the engine knows what happened. Windows are evaluated at this time: a window must not end for a user whose next
   * event is in a log already.
   */
  get knownUpToMs(): number {
    const nowMs = this.#clock.now();
    return this.#logs.all.reduce(
      (earliest, log) => Math.min(earliest, this.#knownOf(log, nowMs) ?? this.#startedMs),
      nowMs,
    );
  }

  /** False while nothing is known of a partition since the start: a window that ends by then may go on there. */
  get isTimeKnown(): boolean {
    const nowMs = this.#clock.now();
    return this.#logs.all.every((log) => this.#knownOf(log, nowMs) !== undefined);
  }

  /** Up to when it is known what happened in a partition. */
  #knownOf(log: PartitionLog, nowMs: number): number | undefined {
    const { partition, followed } = log;
    const countedMs = this.#countedUpToMs.get(partition);
    if (followed === undefined) return this.behindIn(log) === 0 ? nowMs : (countedMs ?? nowMs);
    if (followed.isReadable() && followed.isCurrent() && this.behindIn(log) === 0)
      this.#allCountedMs.set(partition, nowMs);
    const allMs = this.#allCountedMs.get(partition);
    return countedMs === undefined || allMs === undefined ? (countedMs ?? allMs) : Math.max(countedMs, allMs);
  }

  get lagMs(): number {
    return this.#clock.now() - this.knownUpToMs;
  }

  report(status: EngineStatus): void {
    this.#status = status;
  }

  countedUpTo(partition: number, receivedAtMs: number): void {
    this.#countedUpToMs.set(partition, receivedAtMs);
  }

  /** The engine has lost everything that it counted. */
  lost(): void {
    this.#status = NOTHING_COUNTED;
    this.#wasLost = true;
  }

  /** Whether the engine has lost everything since the start. */
  get wasLost(): boolean {
    return this.#wasLost;
  }
}
