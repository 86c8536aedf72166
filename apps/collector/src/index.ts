export { type DamagedStretch, type RepairReport, repairStore } from "@sluice/event-log";
export type { FirstRun } from "./admin/first-run.js";
export { type Collector, startCollector } from "./collector.js";
export { type CollectorOptions, collectorOptions } from "./collector-options.js";
export { ConfigError, type ConfigInputs, loadConfig } from "./process/config.js";
export { runUntilSignal } from "./process/run-until-signal.js";
export { type CollectorConfig, SETTINGS, type Setting } from "./process/settings.js";
export { createLogger, type Logger, type LoggerOptions } from "./process/telemetry/logger.js";
