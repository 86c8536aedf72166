export { type Collector, type CollectorOptions, startCollector } from "./collector.js";
export { collectorOptions } from "./collector-options.js";
export {
  type CollectorConfig,
  ConfigError,
  type ConfigInputs,
  loadConfig,
  SETTINGS,
  type Setting,
} from "./config.js";
export type { FirstRun } from "./first-run.js";
export { createLogger, type Logger, type LoggerOptions } from "./logger.js";
export { runUntilSignal } from "./run-until-signal.js";
export { type DamagedStretch, type RepairReport, repairStore } from "./store/sqlite/repair-store.js";
