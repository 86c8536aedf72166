import type { Offset } from "@sluice/event-log";

/**
 * How evaluation shares the machine with ingestion: while messages come in faster than the machine has room for, the engine works a
 * small part of the time and lags, its backlog safe in the log; it catches up when they come slower. Somebody who waits for an answer
 * that tells of what was just sent is worked for without rest.
 */
export const PACE = {
  /** Below it ingestion leaves room enough, whatever else the process does. */
  busyMessagesPerSecond: 2_000,
  /** The main thread's busy part, 0 to 1, up to which there is room for all though messages come in fast. */
  easyUtilization: 0.3,
  /** From here on ingestion is busy. Between the two the engine's share falls evenly. */
  busyUtilization: 0.45,
  /** The part of the time that the engine works while ingestion is busy. */
  share: 0.1,
  /** A rush that lasts must not starve evaluation for ever: with a longer lag than this, in milliseconds, it gets `lateShare`. */
  longestLagMs: 5 * 60_000,
  lateShare: 0.5,
  /** The longest rest: so long an answer waits at most before it is worked for, and the end of the rush is noticed so soon. */
  longestRestMs: 500,
  /** How long ingestion is measured before it is judged, in milliseconds. */
  measuredMs: 100,
} as const;

/** What ingestion did lately. */
export interface Pressure {
  /** Messages that came into the log, those that the engine made left out. */
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

/** How long the engine rests after it has worked for `workedMs`; `lagMs` is the age of what it is working on. */
export function restMs(workedMs: number, pressure: Pressure, lagMs: number, isAwaited: boolean): number {
  if (isAwaited) return 0;
  const share = Math.max(shareAt(pressure), lagMs > PACE.longestLagMs ? PACE.lateShare : 0);
  return Math.min(PACE.longestRestMs, Math.ceil(workedMs * (1 / share - 1)));
}

export interface PressureGauge {
  /** The pressure as it was measured last; measured anew where that is long enough ago. */
  read(now: { readonly nowMs: number; readonly head: Offset; readonly ownMessages: number }): Pressure;
}

/** `utilization` answers the busy part of the main thread's time since it was asked last. */
export function pressureGauge(utilization: () => number): PressureGauge {
  let since: { readonly nowMs: number; readonly head: Offset; readonly ownMessages: number } | undefined;
  let pressure: Pressure = { messagesPerSecond: 0, utilization: 0 };
  return {
    read(now) {
      if (since === undefined) {
        utilization();
        since = now;
      }
      const tookMs = now.nowMs - since.nowMs;
      if (tookMs < PACE.measuredMs) return pressure;
      const messages = now.head - since.head - (now.ownMessages - since.ownMessages);
      pressure = { messagesPerSecond: (messages * 1_000) / tookMs, utilization: utilization() };
      since = now;
      return pressure;
    },
  };
}
