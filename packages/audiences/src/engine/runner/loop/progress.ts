import { BEFORE_FIRST, type EventLog, lastMessageIndex, offsetAt, type StoredBatch } from "@sluice/event-log";
import type { Clock } from "@sluice/resilience";
import type { EngineStatus } from "../../state/engine-state.js";

const NOTHING_COUNTED: EngineStatus = {
  cursor: BEFORE_FIRST,
  hasWork: false,
  leftOut: 0,
  setAside: 0,
};

/** How far the engine is in the log, by its last unit of work. */
export class Progress {
  readonly #log: Pick<EventLog, "head">;
  readonly #clock: Clock;
  #status = NOTHING_COUNTED;
  /** When the last message that is counted was received. */
  #countedUpToMs: number | undefined;
  #wasLost = false;

  constructor(log: Pick<EventLog, "head">, clock: Clock) {
    this.#log = log;
    this.#clock = clock;
  }

  get status(): EngineStatus {
    return this.#status;
  }

  /** Messages of the log that are not counted. */
  get behind(): number {
    return Math.max(0, this.#log.head() - this.#status.cursor);
  }

  /** How many messages are counted. */
  get counted(): number {
    return this.#status.cursor - BEFORE_FIRST;
  }

  /**
   * The time up to which the engine knows what happened. Windows are evaluated at this time: a window must not end for a user whose next
   * event is in the log already.
   */
  get knownUpToMs(): number {
    const nowMs = this.#clock.now();
    return this.behind === 0 ? nowMs : Math.min(this.#countedUpToMs ?? nowMs, nowMs);
  }

  get lagMs(): number {
    return this.#clock.now() - this.knownUpToMs;
  }

  report(status: EngineStatus): void {
    this.#status = status;
  }

  /** The engine was given these messages. It may have counted only the first of them. */
  countedIn(batches: readonly StoredBatch[]): void {
    const { cursor } = this.#status;
    const last = batches.findLast(({ first }) => first <= cursor);
    if (last === undefined) return;
    const isWhole = offsetAt(last.first, lastMessageIndex(last)) <= cursor;
    this.#countedUpToMs = isWhole ? last.receivedAtMs : last.receivedAtMs - 1;
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
