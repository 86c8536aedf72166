import { TUNING_DEFAULTS, type WorkerOptions } from "../../sqlite/calls/tuning.js";
import { type LoggedSettings, settingsOf } from "../../sqlite/replica/settings.js";
import type { ReplicaOptions } from "../replica.js";

export function workerOptions(options: ReplicaOptions, directory: string): WorkerOptions {
  const { dedupeWindowMs = 86_400_000, retention = {}, rejectionsKept = 10_000, tuning } = options;
  return {
    directory,
    dedupeWindowMs,
    rejectionsKept,
    retention,
    tuning: { ...TUNING_DEFAULTS, ...tuning },
    isReplica: true,
  };
}

export function loggedSettings(options: ReplicaOptions): LoggedSettings {
  return settingsOf(workerOptions(options, options.directory));
}
