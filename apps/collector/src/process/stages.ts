import { type Clock, systemClock } from "@sluice/resilience";
import type { Logger } from "./telemetry/logger.js";

/** The started stages of a collector, to be closed in reverse order. */
export interface Stages {
  /** Registers a started stage and how to close it. `leftMs` is the rest of the allowed time. */
  keep<T>(stage: T, close: (stage: T, leftMs: number) => Promise<void> | void): T;
  /** Closes all stages, the last one first, in at most `allowedMs` altogether. Closes the others even if one fails, and throws the first error at the end. */
  close(allowedMs: number): Promise<void>;
}

/** `now`: a monotonic reading in milliseconds. */
export function stagesToClose(now: () => number = systemClock.monotonic): Stages {
  const closers: ((leftMs: number) => Promise<void> | void)[] = [];
  return {
    keep(stage, close) {
      closers.push((leftMs) => close(stage, leftMs));
      return stage;
    },
    async close(allowedMs) {
      const deadline = now() + allowedMs;
      const failures: unknown[] = [];
      for (let close = closers.pop(); close !== undefined; close = closers.pop()) {
        try {
          await close(Math.max(0, deadline - now()));
        } catch (error) {
          failures.push(error);
        }
      }
      if (failures.length > 0) throw failures[0];
    },
  };
}

/** Runs `start` with new stages. If it rejects, closes those that it started, and rejects too. */
export async function startWithStages<T>(
  { clock = systemClock, logger }: { readonly clock?: Clock; readonly logger: Logger },
  start: (stages: Stages) => Promise<T>,
): Promise<T> {
  const stages = stagesToClose(clock.monotonic);
  try {
    return await start(stages);
  } catch (error) {
    await stages.close(0).catch((closing: unknown) => {
      logger.error("failed to close a stage", { error: closing });
    });
    throw error;
  }
}
