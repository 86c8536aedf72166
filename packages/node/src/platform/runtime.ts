import type { Platform } from "@sluice/core";
import type { NodeAnalyticsOptions } from "../options.js";
import type { EndingClient } from "../process-end.js";
import type { SpoolDirectoryOptions, SyncSpool } from "../spool/spool-directory.js";

/** What a client needs from its runtime. There is one implementation for each build of the package. */
export interface Runtime {
  platform(environment: Readonly<Record<string, string | undefined>>): Platform;
  /** Throws `ConfigError` for options that the runtime cannot fulfil. */
  checkOptions(options: NodeAnalyticsOptions): void;
  /** Opens a spool. Absent on runtimes without files. */
  openSpool?(options: SpoolDirectoryOptions): SyncSpool;
  /** Flushes the client when the process ends, until the returned function is called. */
  watchEnd(client: EndingClient): () => void;
}
