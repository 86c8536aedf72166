import type { Clock } from "@sluice/resilience";
import type { LogFields, Logger } from "../process/telemetry/logger.js";

/** Log lines about failures in one period. */
const MAX_LINES = 20;
const PERIOD_MS = 10_000;

/** Logs failures that clients can cause at any rate: beyond a number of lines it only counts them. */
export function failureLog(logger: Logger, clock: Clock): (event: string, fields: LogFields) => void {
  let lines = 0;
  let suppressed = 0;
  const endPeriod = (): void => {
    if (suppressed > 0)
      logger.error("suppressed further failure logs", { count: suppressed, withinMs: PERIOD_MS });
    lines = 0;
    suppressed = 0;
  };
  return (event, fields) => {
    if (lines === 0) clock.after(PERIOD_MS, endPeriod);
    if (lines < MAX_LINES) {
      lines++;
      logger.error(event, fields);
    } else suppressed++;
  };
}
