import type { Clock } from "@sluice/resilience";
import type { Store } from "../ports/store.js";
import type { RetentionOptions } from "./calls/tuning.js";
import { type StoreTuning, TUNING_DEFAULTS } from "./calls/tuning.js";
import { Connection } from "./client/connection.js";
import { type StartStoreThread, startWorker } from "./client/start-worker.js";
import { reportedOnce, StoreClient } from "./client/store-client.js";
import { checkNode } from "./database/check-node.js";

export interface SqliteStoreOptions {
  /** The data folder; created if missing. Only one process at a time can use it. */
  readonly directory: string;
  readonly clock: Clock;
  /** How long dedupe remembers a (source, messageId) at least, in milliseconds. Default: 86_400_000 (24 h). */
  readonly dedupeWindowMs?: number;
  /** How long messages are kept. Default: unlimited. */
  readonly retention?: RetentionOptions;
  /** How many refused messages are kept. Default: 10_000. */
  readonly rejectionsKept?: number;
  readonly tuning?: Partial<StoreTuning>;
  /** Starts the thread that uses the database. Default: a worker thread. Only the simulation replaces it. */
  readonly startThread?: StartStoreThread;
  /** Called once for each damaged place, with a sentence that says where it is and what to do. Default: nothing. */
  readonly onDamage?: (what: string) => void;
  /** Called with a sentence about what opening the folder found that is not wrong. Default: nothing. */
  readonly onNote?: (what: string) => void;
}

/**
 * Opens the embedded store: SQLite in a worker thread. Rejects with `StorageUnavailable` if another process uses the folder, if a newer
 * version wrote it, or if it is damaged.
 */
export async function openSqliteStore({
  directory,
  clock,
  dedupeWindowMs = 86_400_000,
  retention = {},
  rejectionsKept = 10_000,
  tuning = {},
  startThread = startWorker,
  onDamage = () => {},
  onNote = () => {},
}: SqliteStoreOptions): Promise<Store> {
  checkNode();
  const main = new StoreClient(clock);
  const connection = await Connection.open(
    {
      directory,
      dedupeWindowMs,
      rejectionsKept,
      retention,
      tuning: { ...TUNING_DEFAULTS, ...tuning },
    },
    startThread,
    clock,
    { ...main.events, damaged: reportedOnce(onDamage), noted: onNote },
  );
  return main.storeOver(connection);
}
