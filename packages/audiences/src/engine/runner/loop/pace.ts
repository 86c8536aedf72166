import type { Clock } from "@sluice/resilience";
import { READ_LIMITS } from "./loop-state.js";
import type { Progress } from "./progress.js";

/**
 * How evaluation shares the machine with ingestion. While messages come in faster than the machine has room for, the engine works a small
 * part of the time and lags; its backlog is safe in the log. It catches up when fewer messages come in. While a call waits for
 * the engine, it works without pauses.
 */
export const PACE = {
  /** Below this rate ingestion leaves room enough, however busy the process is. */
  busyMessagesPerSecond: 2_000,
  /** The main thread's busy part, 0 to 1, up to which there is room for both even at a high rate. */
  easyUtilization: 0.3,
  /** From here on ingestion is busy. Between the two the engine's share falls linearly. */
  busyUtilization: 0.45,
  /** The part of the time that the engine works while ingestion is busy. */
  share: 0.1,
  /** A long burst must not starve evaluation: with a longer lag than this, in milliseconds, it gets `lateShare`. */
  longestLagMs: 5 * 60_000,
  lateShare: 0.5,
  /** The longest idle time. A call waits at most this long for the engine, and the engine notices the end of a burst this soon. */
  longestIdleMs: 500,
  /** How long ingestion is measured before it is judged, in milliseconds. */
  measuredMs: 100,
  /**
   * While there is no audience or computed trait, and no call waits, nobody needs a message at once: what arrives in so many
   * milliseconds is counted together. A round costs both threads more than its messages.
   */
  gatherMs: 100,
  /** With so many messages waiting, nothing is left to gather. */
  gatherBelow: READ_LIMITS.messages,
} as const;

/** The recent load of ingestion. */
export interface Pressure {
  /** Messages that came into the log, without those that the engine made. */
  readonly messagesPerSecond: number;
  /** The busy part of the main thread's time, 0 to 1. */
  readonly utilization: number;
}

/** The part of the time that the engine may work, 0 to 1. */
export function shareAt({ messagesPerSecond, utilization }: Pressure): number {
  if (messagesPerSecond <= PACE.busyMessagesPerSecond) return 1;
  const { easyUtilization, busyUtilization, share } = PACE;
  const room = (busyUtilization - utilization) / (busyUtilization - easyUtilization);
  return share + (1 - share) * Math.min(1, Math.max(0, room));
}

/** What decides how long the engine idles. */
export interface Round {
  readonly workedMs: number;
  readonly pressure: Pressure;
  /** The age of what it works on. */
  readonly lagMs: number;
  /** Messages that are not counted yet. */
  readonly behind: number;
  /** Whether an audience, a computed trait or an answer about many users needs the messages soon. */
  readonly isFollowed: boolean;
  /** Whether a call waits for the engine. */
  readonly isAwaited: boolean;
}

/** How long the engine idles after a round. */
export function idleMs({ workedMs, pressure, lagMs, behind, isFollowed, isAwaited }: Round): number {
  if (isAwaited) return 0;
  const share = Math.max(shareAt(pressure), lagMs > PACE.longestLagMs ? PACE.lateShare : 0);
  const restMs = Math.min(PACE.longestIdleMs, Math.ceil(workedMs * (1 / share - 1)));
  return isFollowed || behind >= PACE.gatherBelow ? restMs : Math.max(restMs, PACE.gatherMs);
}

interface Measurement {
  readonly nowMs: number;
  /** Messages that came into the logs so far, or a number that grows as they come. */
  readonly received: number;
  /** Messages that the engine made so far. */
  readonly ownMessages: number;
}

export interface PressureGauge {
  /** The last measured pressure. Measures it again if the last measurement is old enough. */
  read(now: Measurement): Pressure;
}

/** `utilization` returns the busy part of the main thread's time since the last call. */
export function pressureGauge(utilization: () => number): PressureGauge {
  let since: Measurement | undefined;
  let pressure: Pressure = { messagesPerSecond: 0, utilization: 0 };
  return {
    read(now) {
      if (since === undefined) {
        utilization();
        since = now;
      }
      const tookMs = now.nowMs - since.nowMs;
      if (tookMs < PACE.measuredMs) return pressure;
      const messages = now.received - since.received - (now.ownMessages - since.ownMessages);
      pressure = { messagesPerSecond: (messages * 1_000) / tookMs, utilization: utilization() };
      since = now;
      return pressure;
    },
  };
}

export interface PaceParts {
  readonly clock: Clock;
  readonly progress: Progress;
  /** Default: the utilization of this thread's event loop. */
  readonly utilization: (() => number) | undefined;
  /** How many messages came into the logs so far, about. */
  readonly received: () => number;
  readonly ownMessages: () => number;
  /** See `Round`. */
  readonly isFollowed: () => boolean;
  /** Whether a call waits for the engine. */
  readonly isAwaited: () => boolean;
}

/** Decides how long the loop idles, from what it measures. */
export class Pace {
  readonly #parts: PaceParts;
  readonly #gauge: PressureGauge;

  constructor(parts: PaceParts) {
    this.#parts = parts;
    this.#gauge = pressureGauge(parts.utilization ?? eventLoopUtilization());
  }

  /** Begins to measure. */
  begin(): void {
    this.#measure();
  }

  /** How long to idle after working for `workedMs`. */
  idleMs(workedMs: number): number {
    const { progress, isFollowed, isAwaited } = this.#parts;
    const { lagMs, behind } = progress;
    return idleMs({
      ...{ workedMs, lagMs, behind, pressure: this.#measure() },
      ...{ isFollowed: isFollowed(), isAwaited: isAwaited() },
    });
  }

  #measure(): Pressure {
    const { clock, received, ownMessages } = this.#parts;
    return this.#gauge.read({ nowMs: clock.monotonic(), received: received(), ownMessages: ownMessages() });
  }
}

/** Returns the busy part of this thread's time since the last call. */
function eventLoopUtilization(): () => number {
  let last = performance.eventLoopUtilization();
  return () => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, last);
    last = now;
    return utilization;
  };
}
