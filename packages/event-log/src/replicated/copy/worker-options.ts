import { TUNING_DEFAULTS, type WorkerOptions } from "../../sqlite/calls/tuning.js";
import type { LoggedSettings } from "../../sqlite/replica/settings.js";
import type { ReplicaOptions } from "../open-replica.js";

export function workerOptions(options: ReplicaOptions, directory: string): WorkerOptions {
  const { dedupeWindowMs = 86_400_000, retention = {}, rejectionsKept = 10_000, tuning } = options;
  return {
    directory,
    dedupeWindowMs,
    rejectionsKept,
    retention,
    // The log is synced. A power cut may cost the copy its newest entries, which it then reads again.
    tuning: { ...TUNING_DEFAULTS, synchronous: "NORMAL", ...tuning },
    isReplica: true,
  };
}

export function loggedSettings(options: ReplicaOptions): LoggedSettings {
  const { dedupeWindowMs, rejectionsKept, retention, tuning } = workerOptions(options, options.directory);
  const { segmentMessages, segmentBytes } = tuning;
  return { dedupeWindowMs, rejectionsKept, retention, tuning: { segmentMessages, segmentBytes } };
}
