export { type DamagedStretch, type RepairReport, repairStore } from "@sluice/event-log";
export type { FirstRun } from "./admin/first-run.js";
export {
  BackupFolder,
  type TakenBackup,
  type VerifiedBackup,
  type VerifiedFolder,
} from "./backups/backup-folder.js";
export { type BackupManifest, type DamagedManifest, damageText, UnusableBackup } from "./backups/manifest.js";
export { passedArchive } from "./backups/passed-archive.js";
export { type RestoreReport, restoreBackup } from "./backups/restore.js";
export { type MigrateOptions, type MigrationReport, migrate } from "./cluster/migrate.js";
export { CannotMigrate, type ComparedContent } from "./cluster/migration/cannot-migrate.js";
export { type Collector, startCollector } from "./collector.js";
export { type CollectorOptions, collectorOptions } from "./collector-options.js";
export { ConfigError, type ConfigInputs, loadConfig } from "./process/config.js";
export { runUntilSignal } from "./process/run-until-signal.js";
export { type CollectorConfig, SETTINGS, type Setting } from "./process/settings.js";
export { logOutput } from "./process/telemetry/log-output.js";
export { createLogger, type Logger, type LoggerOptions, type LogRecord } from "./process/telemetry/logger.js";
export type { FinishedSpan, Tracing } from "./process/telemetry/tracing.js";
export { type ConfiguredCollector, startConfigured } from "./start-configured.js";
