export { type DamagedStretch, type RepairReport, repairStore } from "@sluice/event-log";
export type { FirstRun } from "./admin/first-run.js";
export { type Collector, type CollectorOptions, startCollector } from "./collector.js";
export { collectorOptions } from "./process/collector-options.js";
export {
  type CollectorConfig,
  ConfigError,
  type ConfigInputs,
  loadConfig,
  SETTINGS,
  type Setting,
} from "./process/config.js";
export { createLogger, type Logger, type LoggerOptions } from "./process/logger.js";
export { runUntilSignal } from "./process/run-until-signal.js";
