import type { Offset } from "@sluice/event-log";
import {
  isFlushDue,
  isRead,
  isResendDue,
  isScanned,
  nextWakeMs,
} from "../../definitions/definition-state.js";
import type { EngineState } from "./engine-state.js";

/** What there is to do, as far as the engine knows. */
export interface EngineStatus {
  /** Messages up to here are counted. */
  readonly cursor: Offset;
  /** History has to be read from here on, by `readHistory`. Absent: all of it is read. */
  readonly historyAfter?: Offset;
  /** Whether `work` has something to do now. */
  readonly hasWork: boolean;
  /** When `tick` or `work` has something to do. */
  readonly wakeAtMs?: number;
  /** Events that are not part of the computed traits they belong to, because a limit was reached. */
  readonly leftOut: number;
  /** How many messages are remembered that the engine does not count because it failed over them. */
  readonly setAside: number;
}

/** `nextDueMs`: when the next profile has to be looked at. */
export function statusOf(loaded: EngineState, nextDueMs: number | undefined, nowMs: number): EngineStatus {
  const states = [...loaded.states.values()];
  const historyAfter = earliest(
    Array.from(loaded.aggregates.values(), (progress) => (isRead(progress) ? undefined : progress.cursor)),
  );
  const wakeAtMs = earliest([nextDueMs, ...states.map((state) => nextWakeMs(state, nowMs))]);
  return {
    cursor: loaded.cursor,
    hasWork: states.some((state) => isScanned(state) || isFlushDue(state, nowMs) || isResendDue(state)),
    leftOut: states.reduce((sum, { leftOut }) => sum + leftOut.events, 0),
    setAside: loaded.setAside.length,
    ...(historyAfter === undefined ? {} : { historyAfter }),
    ...(wakeAtMs === undefined ? {} : { wakeAtMs }),
  };
}

function earliest<Value extends number>(values: readonly (Value | undefined)[]): Value | undefined {
  let least: Value | undefined;
  for (const value of values)
    if (value !== undefined && (least === undefined || value < least)) least = value;
  return least;
}
