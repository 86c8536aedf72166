import type { Clock } from "@sluice/resilience";
import type { LogFields, Logger } from "../process/logger.js";

/** Lines about failures in one period, at most. */
const MOST_LINES = 20;
const PERIOD_MS = 10_000;

/** Logs failures that clients may bring about as often as they like: in a flood most are only counted. */
export function failureLog(logger: Logger, clock: Clock): (event: string, fields: LogFields) => void {
  let lines = 0;
  let leftOut = 0;
  const endPeriod = (): void => {
    if (leftOut > 0) logger.error("more failures were not logged", { count: leftOut, withinMs: PERIOD_MS });
    lines = 0;
    leftOut = 0;
  };
  return (event, fields) => {
    if (lines === 0) clock.after(PERIOD_MS, endPeriod);
    if (lines < MOST_LINES) {
      lines++;
      logger.error(event, fields);
    } else leftOut++;
  };
}
