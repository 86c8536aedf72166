import type { CancelTimer, Clock } from "@sluice/resilience";
import type { Store } from "../ports/store.js";
import type { LogStats } from "./calls/operations.js";
import type { RetentionOptions } from "./calls/retention-options.js";
import { type StoreTuning, TUNING_DEFAULTS } from "./calls/tuning.js";
import { sqliteConfigStore } from "./client/config-store.js";
import { Connection } from "./client/connection.js";
import { sqliteConsumers } from "./client/consumers.js";
import { SqliteEventLog } from "./client/event-log.js";
import { sqlitePurging } from "./client/purging.js";
import { sqliteRejectionLog } from "./client/rejection-log.js";
import { firstTrustedTime, nextTrustedTime, type TrustedTime, trustedMs } from "./client/trusted-time.js";
import { checkNode } from "./database/check-node.js";

/** How often retention runs, in milliseconds. */
const RETAIN_EVERY_MS = 10_000;

/** Damaged places reported at most. */
const MAX_REPORTED_DAMAGE = 100;

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
  /** Called once for each damaged place, with a sentence that says where it is and what to do. Default: nothing. */
  readonly onDamage?: (what: string) => void;
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
  onDamage = () => {},
}: SqliteStoreOptions): Promise<Store> {
  checkNode();
  let time: TrustedTime | undefined;
  let lastTrustedMs: number | undefined;
  const trustedNow = (): number => {
    const reading = { wallMs: clock.now(), monotonicMs: clock.monotonic() };
    time = time === undefined ? firstTrustedTime(reading, lastTrustedMs) : nextTrustedTime(time, reading);
    return trustedMs(time, reading.monotonicMs);
  };
  const log = new SqliteEventLog(() => connection, trustedNow);
  let stats: LogStats = { head: -1, messages: 0, bytes: 0 };
  const reported = new Set<string>();
  const connection = await Connection.open(
    {
      directory,
      dedupeWindowMs,
      rejectionsKept,
      retention,
      tuning: { ...TUNING_DEFAULTS, ...tuning },
    },
    clock,
    {
      opened(snapshot) {
        stats = snapshot.stats;
        lastTrustedMs = snapshot.trustedMs;
        log.opened(snapshot);
      },
      stats(now) {
        stats = now;
        log.committed(now);
      },
      damaged(what) {
        if (reported.has(what) || reported.size >= MAX_REPORTED_DAMAGE) return;
        reported.add(what);
        onDamage(what);
      },
    },
  );
  connection.beforeSend((isLast) => log.send(isLast));
  const stopRetaining = retainFromTimeToTime(() => connection, clock, trustedNow);
  const open = (): Connection => connection;
  return {
    log,
    consumers: sqliteConsumers(open, clock),
    config: sqliteConfigStore(open),
    rejections: sqliteRejectionLog(open),
    usage: { days: async (sourceId) => open().ask("usageDays", { sourceId }) },
    health: () => connection.health(),
    stats: () => ({
      messages: stats.messages,
      bytes: stats.bytes,
      ...(stats.heldBack === undefined ? {} : { retentionHeldBack: stats.heldBack }),
    }),
    ...sqlitePurging(log, open),
    async clear() {
      await connection.ask("clear", {});
    },
    async close() {
      stopRetaining();
      await connection.close();
    },
  };
}

/** Runs retention and housekeeping every ten seconds. Returns a function that stops it. */
function retainFromTimeToTime(
  connection: () => Connection,
  clock: Clock,
  trustedNow: () => number,
): CancelTimer {
  let cancel: CancelTimer;
  const wait = (): void => {
    cancel = clock.after(RETAIN_EVERY_MS, () => {
      wait();
      const nowMs = trustedNow();
      // Separate calls: if one meets damaged data, the others go on.
      const asked = [
        connection().ask("expireRejections", { nowMs }),
        connection().ask("rest", { nowMs, monotonicMs: clock.monotonic() }),
        connection().ask("retain", { nowMs }),
      ];
      // While the store is unavailable nothing is dropped. The next run does it.
      for (const call of asked) call.catch(() => {});
    });
  };
  wait();
  return () => cancel();
}
